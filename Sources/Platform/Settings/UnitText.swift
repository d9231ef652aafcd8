// SPDX-License-Identifier: Apache-2.0

/// Time spans as operators write them: a whole number and one of `ms`, `s`, `m`, `h`, `d`, or several of them, the
/// largest unit first: `90m`, `1h30m`.
public enum DurationText {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// Milliseconds, or nil when the text is not a time span. A bare `0` is one.
  public static func milliseconds(of text: String) -> Int64? {
    if text == "0" { return 0 }
    var sum: Int64 = 0
    var rest = text
    var larger = units.count
    repeat {
      guard let (number, tail) = splitNumber(rest) else { return nil }
      let suffix = String(Substring(tail.utf8.prefix { !digits.contains($0) }))
      guard let unit = units.firstIndex(where: { $0.suffix == suffix }), unit < larger
      else { return nil }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: units[unit].milliseconds)
      let (total, isOverflow) = sum.addingReportingOverflow(product)
      guard !isTooLarge, !isOverflow else { return nil }
      (sum, larger) = (total, unit)
      rest = String(Substring(tail.utf8.dropFirst(suffix.utf8.count)))
    } while !rest.isEmpty
    return sum
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

private let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

/// A text's leading digits as a number, and what follows them.
private func splitNumber(_ text: String) -> (Int64, String)? {
  let leading = text.utf8.prefix { digits.contains($0) }
  guard let number = Int64(String(Substring(leading))) else { return nil }
  // By bytes: a mark that combines with the last digit would take it along.
  return (number, String(Substring(text.utf8.dropFirst(leading.count))))
}
