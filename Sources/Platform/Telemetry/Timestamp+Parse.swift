// SPDX-License-Identifier: Apache-2.0

extension Timestamp {
  /// Milliseconds since the UNIX epoch of a time of RFC 3339 with its offset (`2027-01-31T12:00:00+01:00`,
  /// `2027-01-31T11:00:00.5Z`); nil if it is none, or outside of the years 1 to 9999. What is below a millisecond is cut off.
  public static func moment(_ text: String) -> Int64? {
    let parts = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let days = days(parts[0]) else { return nil }
    var clock = parts[1]
    var offset: Int64 = 0
    if clock.hasSuffix("Z") {
      clock = clock.dropLast()
    } else {
      guard let sign = clock.lastIndex(where: { $0 == "+" || $0 == "-" }),
        let zone = numbers(clock[clock.index(after: sign)...], ":", [2, 2]), zone[0] < 24,
        zone[1] < 60
      else { return nil }
      offset = (zone[0] * 60 + zone[1]) * (clock[sign] == "+" ? 60_000 : -60_000)
      clock = clock[..<sign]
    }
    let halves = clock.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let seconds = time(halves[0]) else { return nil }
    guard halves.count == 2 else { return days * 86_400_000 + seconds - offset }
    guard (1...9).contains(halves[1].utf8.count),
      let fraction = numbers(halves[1], ".", [halves[1].utf8.count])
    else { return nil }
    let scale = (halves[1].utf8.count..<9).reduce(fraction[0]) { value, _ in value * 10 }
    return days * 86_400_000 + seconds + scale / 1_000_000 - offset
  }

  /// Milliseconds since the UNIX epoch of a date (`2027-01-31`, its beginning) or a time (`2027-01-31T12:00:00Z`, as
  /// RFC 3339 has it in UTC); nil if it is neither.
  public static func milliseconds(_ text: String) -> Int64? {
    let parts = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
    guard let days = days(parts[0]) else { return nil }
    guard parts.count > 1 else { return days * 86_400_000 }
    guard parts[1].hasSuffix("Z"), let time = time(parts[1].dropLast()) else { return nil }
    return days * 86_400_000 + time
  }

  /// Days since the UNIX epoch of a date; nil if it is none, or of an earlier year than the first one.
  public static func days(_ text: Substring, firstYear: Int64 = 1) -> Int64? {
    guard let date = numbers(text, "-", [4, 2, 2]), (1...12).contains(date[1]),
      (1...31).contains(date[2])
    else { return nil }
    // Counted from 1 March, in eras of 400 years.
    let year = date[1] <= 2 ? date[0] - 1 : date[0]
    let (era, yearOfEra) = year.dividedFloor(by: 400)
    let dayOfYear = (153 * ((date[1] + 9) % 12) + 2) / 5 + date[2] - 1
    let daysOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + daysOfEra - 719_468
    // 31 February is no day.
    guard date[0] >= firstYear, civil(daysSinceEpoch: days) == (date[0], date[1], date[2]) else {
      return nil
    }
    return days
  }

  private static func time(_ text: Substring) -> Int64? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let time = numbers(parts[0], ":", [2, 2, 2]), time[0] < 24, time[1] < 60, time[2] < 60
    else { return nil }
    let seconds = (time[0] * 60 + time[1]) * 60 + time[2]
    guard parts.count > 1 else { return seconds * 1_000 }
    guard let fraction = numbers(parts[1], ".", [3]) else { return nil }
    return seconds * 1_000 + fraction[0]
  }

  /// Numbers of these widths with a separator between them.
  private static func numbers(
    _ text: Substring, _ separator: Character, _ widths: [Int]
  ) -> [Int64]? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == widths,
      parts.allSatisfy({ $0.utf8.allSatisfy { $0 &- 0x30 < 10 } })
    else { return nil }
    return parts.compactMap { Int64($0) }
  }
}
