// SPDX-License-Identifier: Apache-2.0

internal import EventLoop

extension ByteBuffer {
  /// Appends a member of a JSON object.
  ///
  /// - Parameter beginning: everything before its value.
  @inline(__always)
  mutating func append(_ beginning: StaticString, _ number: Int64) {
    append(beginning)
    append(decimal: number)
  }

  /// The same with a text, including its quotes.
  mutating func append(_ beginning: StaticString, text: String) {
    append(beginning)
    append(jsonString: text)
  }
}
