// SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
  /// True if the span holds exactly these UTF-8 bytes.
  public func spells(_ text: String) -> Bool {
    let other = text.utf8.span
    guard count == other.count else { return false }
    for index in 0..<count where self[index] != other[index] { return false }
    return true
  }

  /// The bytes as text; broken UTF-8 shows as replacement characters. For messages.
  public var text: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for index in 0..<count { bytes.append(self[index]) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
