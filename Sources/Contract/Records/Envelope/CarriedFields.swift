// SPDX-License-Identifier: Apache-2.0

public import Contract
public import EventLoop
internal import Glibc

/// The keyed fields of an envelope, `key=value` separated by tabs, in a record that `Envelope.parse` accepted: views of
/// its memory.
public struct CarriedFields {
  /// The bytes of all of them; empty if there are none.
  public let bytes: UnsafeRawBufferPointer

  private static let tab: Int32 = 0x09
  private static let equals = Int32(UInt8(ascii: "="))

  public init(_ bytes: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
    self.bytes = bytes
  }

  public var isEmpty: Bool { bytes.isEmpty }

  /// The value of a field; empty if it is absent.
  public subscript(_ field: CarriedField) -> UnsafeRawBufferPointer {
    var found = UnsafeRawBufferPointer(start: nil, count: 0)
    let wanted = field.row.key
    forEachField { key, value in
      if key.elementsEqual(wanted.utf8) { found = value }
    }
    return found
  }

  /// Calls `body` with each key and value, in order.
  public func forEachField(
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
  ) {
    guard var start = bytes.baseAddress else { return }
    let end = start + bytes.count
    while start < end {
      let stop = memchr(start, Self.tab, end - start).map { UnsafeRawPointer($0) } ?? end
      if let equals = memchr(start, Self.equals, stop - start).map({ UnsafeRawPointer($0) }) {
        body(
          UnsafeRawBufferPointer(start: start, count: equals - start),
          UnsafeRawBufferPointer(start: equals + 1, count: stop - equals - 1))
      }
      start = stop + 1
    }
  }

  /// Calls `body` with the name and value of each header field, and whether it is the collapse id.
  public func forEachHeader(
    _ body: (
      _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ isCollapseID: Bool
    ) -> Void
  ) {
    let collapseID = CarriedField.collapseID.row.key
    forEachField { key, value in
      guard key.starts(with: CarriedHeaders.prefix.utf8) else { return }
      body(key, value, key.elementsEqual(collapseID.utf8))
    }
  }
}

extension CarriedFields {
  /// Appends one field to a line or a list of fields, with a tab before it.
  public static func append(
    _ field: CarriedField, _ value: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
  ) {
    appendKey(field.row.key, to: &buffer)
    buffer.append(value)
  }

  static func appendKey(_ key: String, to buffer: inout ByteBuffer) {
    buffer.append(UInt8(truncatingIfNeeded: tab))
    buffer.append(key)
    buffer.append(UInt8(ascii: "="))
  }
}
