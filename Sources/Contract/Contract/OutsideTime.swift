// SPDX-License-Identifier: Apache-2.0

/// Times from outside, in milliseconds since the epoch: checked where they are read, so that no later calculation
/// overflows and no time in the far future holds for ever.
public enum OutsideTime {
  /// The last millisecond of the year 9999.
  public static let last: Int64 = 253_402_300_799_999
  /// How far the clock of a time's author may be ahead of ours, in milliseconds.
  public static let skew: Int64 = 300_000
  /// How far a registration or a removal may be ahead of its record's timestamp, in milliseconds.
  public static let mostAhead: Int64 = 24 * 3_600_000

  /// The reason why a number is not a valid time; nil if it is.
  ///
  /// A time in January 1970 that would be after 2001 in seconds is a wrong unit: taken as milliseconds, a registration
  /// would be older than every answer of APNs.
  public static func problem(_ time: Int64) -> String? {
    switch time {
    case 1_000_000_000..<100_000_000_000:
      "is in seconds (\(time)); milliseconds since 1970 are expected"
    case 0...last: nil
    default: "is not a time in milliseconds since 1970 (\(time))"
    }
  }

  /// The earliest plausible timestamp of a record: Kafka did not exist before 2001. A smaller number is in another
  /// unit, such as seconds; 0 and below mean no time.
  public static let firstRecordTime = RequestRules.earliestTime * 1_000

  /// True if a record has a timestamp that is not in milliseconds since 1970.
  public static func isOfOtherUnit(recordTime: Int64) -> Bool {
    recordTime > 0 && recordTime < firstRecordTime
  }

  /// A record's timestamp; −1 if that is missing or in another unit, in which it would be of 1970.
  public static func known(recordTime: Int64) -> Int64 {
    recordTime < firstRecordTime ? -1 : recordTime
  }

  /// When a record was received: its timestamp, unless that is missing, in another unit or in the future. The record's
  /// writer chose its timestamp.
  public static func received(recordTime: Int64, now: Int64) -> Int64 {
    recordTime >= firstRecordTime && recordTime <= now ? recordTime : now
  }

  /// A time capped at `received`, plus the tolerance between two clocks.
  public static func bounded(_ time: Int64, received: Int64) -> Int64 { min(time, received + skew) }
}
