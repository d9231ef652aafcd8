// SPDX-License-Identifier: Apache-2.0

/// The time of a `date` header (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
  /// Its only form that is still sent has so many bytes.
  public static let length = 29

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Seconds since the epoch; nil for anything else than that form. The day of the week is not looked at.
  public static func seconds(_ text: String) -> Int64? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard text.utf8.count == length, words.count == 6, words[5] == "GMT",
      let day = number(words[1], 2), let month = months.firstIndex(of: String(words[2])),
      let year = number(words[3], 4), (1...31).contains(day)
    else { return nil }
    let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard time.count == 3, let hour = number(time[0], 2), let minute = number(time[1], 2),
      let second = number(time[2], 2), hour < 24, minute < 60, second <= 60
    else { return nil }
    return days(year, Int64(month) + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  private static func number(_ digits: Substring, _ count: Int) -> Int64? {
    guard digits.utf8.count == count, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(digits)
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let marchYear = month > 2 ? year : year - 1
    let marchMonth = month > 2 ? month - 3 : month + 9
    let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
    return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 + day - 719_469
  }
}
