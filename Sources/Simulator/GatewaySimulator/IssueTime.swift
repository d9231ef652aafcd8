// SPDX-License-Identifier: Apache-2.0
public import JSON

/// The `iat` of a provider token: when it was issued.
public enum IssueTime {
  /// Seconds since the epoch; nil for what is no time.
  ///
  /// Apple documents a whole number. Clients in use send a text or a fraction, and APNs takes it
  /// ("lenient"): the fraction is dropped.
  public static func seconds(_ claim: JSONValue, isLenient: Bool) -> Int64? {
    if let whole = claim.int { return whole }
    guard isLenient else { return nil }
    if let number = claim.anyNumber { return Int64(exactly: number.rounded(.down)) }
    return claim.string.flatMap(seconds)
  }

  /// Decimal digits, and a fraction of such if there is a point.
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
