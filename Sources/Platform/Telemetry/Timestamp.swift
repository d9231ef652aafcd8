// SPDX-License-Identifier: Apache-2.0

/// A moment as people and machines both read it: `2026-11-21T01:09:44.123Z`, always UTC.
public enum Timestamp {
  /// - Parameter milliseconds: Since the UNIX epoch; years 0000 to 9999.
  public static func text(milliseconds: Int64) -> String {
    let (days, time) = milliseconds.dividedFloor(by: 86_400_000)
    let (year, month, day) = civil(daysSinceEpoch: days)
    let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    let clock = [time / 3_600_000, time / 60_000 % 60, time / 1_000 % 60]
    let clockText = clock.map { padded($0, 2) }.joined(separator: ":")
    return "\(date)T\(clockText).\(padded(time % 1_000, 3))Z"
  }

  /// The proleptic Gregorian date, counted in eras of 400 years that begin on 1 March.
  static func civil(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let daysPerEra: Int64 = 146_097
    let (era, dayOfEra) = (daysSinceEpoch + 719_468).dividedFloor(by: daysPerEra)
    let leapDays = dayOfEra / 1_460 - dayOfEra / 36_524 + dayOfEra / 146_096
    let yearOfEra = (dayOfEra - leapDays) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension Int64 {
  /// Quotient rounded down and the remainder, which is never negative.
  func dividedFloor(by divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
