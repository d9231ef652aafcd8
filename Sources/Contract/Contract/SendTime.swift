// SPDX-License-Identifier: Apache-2.0

/// Decides when a request with a `send_at` is sent. All times are milliseconds since the epoch.
public enum SendTime {
  /// How much the clocks of ingest and of a record's writer may differ.
  public static let tolerance: Int64 = 1_000
  /// The longest time for which the scheduler keeps a request handed back by ingest.
  public static let longestHold: Int64 = 300_000

  /// Whether a request goes to the schedule: until it is due by two clocks, ingest's and that of its record's writer (a
  /// producer, or the scheduler that released it). One wrong clock sends nothing early.
  ///
  /// A writer whose clock is ahead may have written it early, before it was cancelled, and ingest may read it late. So
  /// it is handed back once. The scheduler then keeps it until it is due by ingest's clock, and releases it in time.
  ///
  /// - Parameters:
  ///   - written: when its record was written, by the writer's clock; negative if unknown.
  ///   - requeuedAt: ingest's clock when it last handed the request back; nil if it never did.
  ///   - now: ingest's clock.
  public static func waits(
    _ sendAt: Int64, written: Int64, requeuedAt: Int64?, now: Int64
  ) -> Bool {
    let written = written < 0 ? now : written
    if written < sendAt || now < sendAt - tolerance { return true }
    let wasKept = requeuedAt.map { $0 >= sendAt - longestHold } ?? false
    return written > now + tolerance && !wasKept
  }

  /// The time that ingest records when it hands a request back: its clock, but later than the previous time, which may
  /// be from another clock. So the last record is recognizable.
  ///
  /// - Parameter last: the previous time; nil for the first.
  public static func requeue(now: Int64, after last: Int64?) -> Int64 {
    last.map { max(now, $0 + 1) } ?? now
  }
}
