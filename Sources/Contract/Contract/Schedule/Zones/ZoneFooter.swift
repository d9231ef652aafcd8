// SPDX-License-Identifier: Apache-2.0

/// The rule for the years after the last change listed in a file: POSIX's `TZ` variable, as extended by RFC 8536
/// (3.3.1). Times are seconds.
struct ZoneFooter: Equatable, Sendable {
  enum Day: Equatable, Sendable {
    /// The day of the year, 1 to 365, without counting 29 February.
    case ofCommonYear(Int64)
    /// The day of the year, 0 to 365.
    case ofYear(Int64)
    /// The first to fourth or last (5) given day of the week (0 is Sunday) in a month (1 to 12).
    case ofWeek(month: Int64, week: Int64, day: Int64)
  }

  struct Moment: Equatable, Sendable {
    let day: Day
    /// The time after midnight by the clock that ends then; may be negative or more than a day.
    let time: Int64
  }

  struct Summer: Equatable, Sendable {
    let offset: Int64
    let start: Moment
    let end: Moment
  }

  /// The offset ahead of UTC.
  let offset: Int64
  let summer: Summer?

  func offset(at time: Int64) -> Int64 {
    changes(around: time).last { $0.at <= time }?.offset ?? offset
  }

  /// All changes from the year before to the year after a time, in order; none if the offset never changes.
  func changes(around time: Int64) -> [ZoneRules.Change] {
    guard let summer else { return [] }
    // By the mean length of a year: near its ends, the true year is an adjacent one.
    let year = 1970 + (Double(time) / 31_556_952).rounded(.down)
    let years = (Int64(year) - 2)...(Int64(year) + 2)
    let starts = years.map { year in
      ZoneRules.Change(at: summer.start.instant(year, offset), offset: summer.offset)
    }
    let ends = years.map { year in
      ZoneRules.Change(at: summer.end.instant(year, summer.offset), offset: offset)
    }
    // Summer time that ends as it begins continues.
    let last = ends.filter { end in !starts.contains { $0.at == end.at } }
    return (starts + last).sorted { $0.at < $1.at }
  }
}

extension ZoneFooter.Moment {
  /// - Parameter offset: the offset of the clock that ends then.
  fileprivate func instant(_ year: Int64, _ offset: Int64) -> Int64 {
    day.number(in: year) * 86_400 + time - offset
  }
}

extension ZoneFooter.Day {
  /// The day as days since the epoch.
  fileprivate func number(in year: Int64) -> Int64 {
    switch self {
    case .ofCommonYear(let day):
      let isLater = day >= 60 && Self.first(year, 3) - Self.first(year, 2) == 29
      return Self.first(year, 1) + day - (isLater ? 0 : 1)
    case .ofYear(let day): return Self.first(year, 1) + day
    case .ofWeek(let month, let week, let day):
      let first = Self.first(year, month)
      let next = month == 12 ? Self.first(year + 1, 1) : Self.first(year, month + 1)
      // 1970 began on a Thursday.
      let ahead = ((day - first - 4) % 7 + 7) % 7 + (week - 1) * 7
      return first + (first + ahead < next ? ahead : ahead - 7)
    }
  }

  /// The first day of a month, in days since the epoch, for years after 0.
  private static func first(_ year: Int64, _ month: Int64) -> Int64 {
    // Years that start on 1 March have their leap day at the end.
    let shifted = month <= 2 ? year - 1 : year
    let days = (153 * ((month + 9) % 12) + 2) / 5
    return shifted * 365 + floor(shifted, 4) - floor(shifted, 100) + floor(shifted, 400) + days
      - 719_468
  }

  private static func floor(_ number: Int64, _ divisor: Int64) -> Int64 {
    let quotient = number / divisor
    return number % divisor < 0 ? quotient - 1 : quotient
  }
}
