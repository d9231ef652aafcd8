// SPDX-License-Identifier: Apache-2.0

/// The time of a header field such as `date` or `retry-after` (RFC 9110 §5.6.7). A recipient has to accept three forms:
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` (RFC 850), and `Sun Nov  6 08:49:37 1994` (asctime).
public enum HTTPDate {
  /// The first form, the only one that is still to be sent, has so many bytes.
  public static let length = 29
  /// The longest form has fewer.
  static let longest = 40

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Seconds since the epoch; nil for anything else than these forms. The day of the week is not looked at.
  public static func seconds(_ text: String) -> Int64? {
    guard text.utf8.count < longest else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    switch words.count {
    case 6 where words[5] == "GMT" && text.utf8.count == length:
      return seconds(number(words[3], 4), words[2], number(words[1], 2), words[4])
    case 4 where words[3] == "GMT" && words[0].hasSuffix("day,"):
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard date.count == 3, let year = number(date[2], 2) else { return nil }
      // A year of two digits is not before the epoch.
      return seconds(year + (year < 70 ? 2_000 : 1_900), date[1], number(date[0], 2), words[2])
    case 5: return seconds(number(words[4], 4), words[1], number(words[2], 2), words[3])
    // A day of one digit has a blank before it.
    case 6 where words[2].isEmpty:
      return seconds(number(words[5], 4), words[1], number(words[3], 1), words[4])
    default: return nil
    }
  }

  private static func seconds(
    _ year: Int64?, _ name: Substring, _ day: Int64?, _ clock: Substring
  ) -> Int64? {
    guard let year, let day, (1...31).contains(day), let month = months.firstIndex(of: String(name))
    else { return nil }
    let time = clock.split(separator: ":", omittingEmptySubsequences: false)
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
