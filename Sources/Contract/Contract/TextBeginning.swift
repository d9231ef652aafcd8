// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The leading Unicode scalars that fit into this many bytes. A text from outside may have any length, and so may a
  /// single `Character` of it.
  public func beginning(bytes: Int) -> String {
    guard utf8.count > bytes else { return self }
    var end = utf8.index(startIndex, offsetBy: bytes)
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(unicodeScalars[..<end])
  }
}
