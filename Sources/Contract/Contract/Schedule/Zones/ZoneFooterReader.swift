// SPDX-License-Identifier: Apache-2.0

/// Reads a `ZoneFooter`: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneFooterReader {
  private var rest: ArraySlice<UInt8>

  /// nil if the text is malformed, or names summer time without its dates.
  static func read(_ text: ArraySlice<UInt8>) -> ZoneFooter? {
    var reader = ZoneFooterReader(rest: text)
    guard let footer = reader.footer(), reader.rest.isEmpty else { return nil }
    return footer
  }

  private mutating func footer() -> ZoneFooter? {
    guard skipName(), let west = duration(hours: 24), let offset = Self.offset(-west) else {
      return nil
    }
    if rest.isEmpty { return ZoneFooter(offset: offset, summer: nil) }
    guard skipName() else { return nil }
    let isNamed = rest.first != UInt8(ascii: ",")
    guard let west = isNamed ? duration(hours: 24) : west - 3_600,
      let summer = Self.offset(-west), take(","), let start = moment(), take(","),
      let end = moment()
    else { return nil }
    return ZoneFooter(offset: offset, summer: .init(offset: summer, start: start, end: end))
  }

  private static func offset(_ seconds: Int64) -> Int64? {
    ZoneRules.offsets.contains(seconds) ? seconds : nil
  }

  private mutating func moment() -> ZoneFooter.Moment? {
    guard let day = day() else { return nil }
    guard take("/") else { return .init(day: day, time: 7_200) }
    return duration(hours: 167).map { .init(day: day, time: $0) }
  }

  private mutating func day() -> ZoneFooter.Day? {
    if take("J") { return number(1...365).map { .ofCommonYear($0) } }
    guard take("M") else { return number(0...365).map { .ofYear($0) } }
    guard let month = number(1...12), take("."), let week = number(1...5), take("."),
      let day = number(0...6)
    else { return nil }
    return .ofWeek(month: month, week: week, day: day)
  }

  /// `[+-]hh[:mm[:ss]]`.
  private mutating func duration(hours most: Int64) -> Int64? {
    let isNegative = take("-")
    if !isNegative { _ = take("+") }
    guard let hours = number(0...most) else { return nil }
    var seconds = hours * 3_600
    if take(":") {
      guard let minutes = number(0...59) else { return nil }
      seconds += minutes * 60
      if take(":") {
        guard let more = number(0...59) else { return nil }
        seconds += more
      }
    }
    return isNegative ? -seconds : seconds
  }

  private mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
    let digits = rest.prefix { (0x30...0x39).contains($0) }
    guard (1...3).contains(digits.count) else { return nil }
    rest = rest.dropFirst(digits.count)
    let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
    return range.contains(number) ? number : nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// Skips at least three letters, or anything between `<` and `>`.
  private mutating func skipName() -> Bool {
    let isQuoted = take("<")
    let name = rest.prefix {
      isQuoted ? $0 != UInt8(ascii: ">") : (0x41...0x5A).contains($0 & 0xDF)
    }
    rest = rest.dropFirst(name.count)
    return name.count >= 3 && (!isQuoted || take(">"))
  }
}
