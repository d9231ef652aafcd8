// SPDX-License-Identifier: Apache-2.0

/// Time spans as operators write them: a whole number and one of `ms`, `s`, `m`, `h`, `d`.
public enum DurationText {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// Milliseconds, or nil when the text is not a time span. A bare `0` is one.
  public static func milliseconds(of text: String) -> Int64? {
    guard let (number, suffix) = splitNumber(text) else { return nil }
    if suffix.isEmpty { return number == 0 ? 0 : nil }
    guard let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow ? nil : product
  }

  /// The shortest whole-number form: 90,000 is `90s`, 60,000 is `1m`.
  public static func text(milliseconds: Int64) -> String {
    let unit = units.last { milliseconds % $0.milliseconds == 0 && milliseconds != 0 }
    guard let unit else { return "0s" }
    return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
  }
}

/// Sizes as operators write them: a whole number and nothing, `B`, `KiB`, `MiB` or `GiB`.
public enum ByteCountText {
  private static let units: [(suffix: String, bytes: Int64)] = [
    ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
  ]

  /// Bytes, or nil when the text is not a size.
  public static func bytes(of text: String) -> Int? {
    guard let (number, suffix) = splitNumber(text) else { return nil }
    if suffix.isEmpty { return Int(number) }
    guard let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
    return overflow ? nil : Int(product)
  }

  /// The shortest whole-number form: 65,536 is `64KiB`.
  public static func text(bytes: Int) -> String {
    let unit = units.last { Int64(bytes) % $0.bytes == 0 && bytes != 0 }
    guard let unit, unit.bytes > 1 else { return "\(bytes)B" }
    return "\(Int64(bytes) / unit.bytes)\(unit.suffix)"
  }
}

/// A text's leading digits as a number, and what follows them.
private func splitNumber(_ text: String) -> (Int64, String)? {
  let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  guard let number = Int64(String(Substring(digits))) else { return nil }
  // By bytes: a mark that combines with the last digit would take it along.
  return (number, String(Substring(text.utf8.dropFirst(digits.count))))
}
