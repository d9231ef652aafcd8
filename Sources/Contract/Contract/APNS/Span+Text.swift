// SPDX-License-Identifier: Apache-2.0

extension Span<UInt8> {
  /// True if the span holds exactly these UTF-8 bytes.
  public func spells(_ text: String) -> Bool {
    let other = text.utf8.span
    guard count == other.count else { return false }
    for index in 0..<count where self[index] != other[index] { return false }
    return true
  }

  /// True if these are 1 … `most` of a-z, 0-9 and hyphen: the names of push types and lanes.
  public func isPlainName(most: Int) -> Bool {
    guard count > 0, count <= most else { return false }
    for index in 0..<count {
      let byte = self[index]
      guard byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D else { return false }
    }
    return true
  }

  /// The bytes as text, for messages; invalid UTF-8 becomes replacement characters.
  public var text: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for index in 0..<count { bytes.append(self[index]) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
