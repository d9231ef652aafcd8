// SPDX-License-Identifier: Apache-2.0

public import EventLoop

extension JSONValue {
  /// Appends the value as JSON text without white space.
  public func write(into buffer: inout ByteBuffer) {
    switch self {
    case .null: buffer.append("null")
    case .bool(let value): buffer.append(value ? "true" as StaticString : "false")
    case .integer(let value): buffer.append(decimal: value)
    // JSON has neither infinity nor NaN.
    case .double(let value): buffer.append(value.isFinite ? "\(value)" : "null")
    case .digits(let text): buffer.append(text)
    case .string(let value): buffer.append(jsonString: value)
    case .array(let values):
      buffer.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        value.write(into: &buffer)
      }
      buffer.append(UInt8(ascii: "]"))
    case .object(let object):
      buffer.append(UInt8(ascii: "{"))
      for (index, member) in object.members.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        buffer.append(jsonString: member.key)
        buffer.append(UInt8(ascii: ":"))
        member.value.write(into: &buffer)
      }
      buffer.append(UInt8(ascii: "}"))
    }
  }

  /// The value as JSON text without white space.
  public var text: [UInt8] {
    var buffer = ByteBuffer()
    write(into: &buffer)
    return Array(buffer.bytes)
  }
}

extension ByteBuffer {
  /// Appends a string with its quotes, escaped.
  public mutating func append(jsonString text: String) {
    append(UInt8(ascii: "\""))
    var copy = text
    copy.withUTF8 { append(jsonEscaped: UnsafeRawBufferPointer($0)) }
    append(UInt8(ascii: "\""))
  }
}
