// SPDX-License-Identifier: Apache-2.0
public import Records

/// The `iat` claim of a provider token: its issue time.
public enum IssueTime {
  /// Returns seconds since the epoch; nil if the claim is not a time.
  ///
  /// Apple documents a whole number. Some clients send a string or a fraction, and APNs accepts it ("lenient"): the
  /// fraction is dropped.
  public static func seconds(_ claim: JSONValue, isLenient: Bool) -> Int64? {
    if let whole = claim.int { return whole }
    guard isLenient else { return nil }
    if let number = claim.anyNumber { return Int64(exactly: number.rounded(.down)) }
    return claim.string.flatMap(seconds)
  }

  /// Reads decimal digits with an optional fraction.
  private static func seconds(_ text: String) -> Int64? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy(isDigits) else { return nil }
    return Int64(parts[0])
  }

  private static func isDigits(_ text: Substring) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return !text.isEmpty && text.utf8.allSatisfy { digits.contains($0) }
  }
}
