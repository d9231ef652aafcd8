// SPDX-License-Identifier: Apache-2.0

/// Times that come from outside, in milliseconds since the epoch: bounded where they are read, so that nothing behind a
/// parser overflows and no time of a far future holds for ever.
public enum OutsideTime {
  /// The last millisecond of the year 9999.
  public static let last: Int64 = 253_402_300_799_999
  /// By how much the clock of whoever named a time may be ahead of ours, in milliseconds.
  public static let skew: Int64 = 300_000

  /// Why a number is no such time; nil for one that is.
  ///
  /// One of January 1970 that would be a time since 2001 in seconds is a mistake of the unit: taken for milliseconds, a
  /// registration would be older than every answer of APNs.
  public static func problem(_ time: Int64) -> String? {
    switch time {
    case 1_000_000_000..<100_000_000_000:
      "is in seconds (\(time)); milliseconds since 1970 are expected"
    case 0...last: nil
    default: "is not a time in milliseconds since 1970 (\(time))"
    }
  }

  /// The first time of a record that can be one: there was no Kafka before 2001. A smaller number counts something else,
  /// as seconds; 0 and below are no time.
  public static let firstRecordTime = RequestRules.earliestTime * 1_000

  /// True if a record has a time, and it counts something else than milliseconds since 1970.
  public static func isOfOtherUnit(recordTime: Int64) -> Bool {
    recordTime > 0 && recordTime < firstRecordTime
  }

  /// When a record was received: when it was written, unless its timestamp is missing, in another unit or still to come.
  /// Whoever wrote the record chose its timestamp.
  public static func received(recordTime: Int64, now: Int64) -> Int64 {
    recordTime >= firstRecordTime && recordTime <= now ? recordTime : now
  }

  /// A time that cannot lie after `received`, except for the difference of two clocks.
  public static func bounded(_ time: Int64, received: Int64) -> Int64 {
    min(time, received + skew)
  }
}
