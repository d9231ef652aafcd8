// SPDX-License-Identifier: Apache-2.0

/// The rule for when a request with a `send_at` is sent. All times are milliseconds since the epoch.
public enum SendTime {
  /// By how much the clocks of ingest and of whoever wrote the record may differ.
  public static let tolerance: Int64 = 1_000
  /// The longest time for which the scheduler keeps what ingest has handed back.
  public static let longestHold: Int64 = 300_000

  /// Whether a request goes to the schedule: until two clocks say that its time has come, that of whoever wrote its
  /// record (a producer, or the scheduler that released it) and ingest's. One wrong clock sends nothing early.
  ///
  /// A writer whose clock is ahead may have written it early, before it was cancelled, and ingest may read it late. So
  /// it is handed back once. What the scheduler then keeps until ingest's clock says that it is due is released in time.
  ///
  /// - Parameters:
  ///   - written: when its record was written, by the writer's clock; below 0 if it does not say.
  ///   - requeuedAt: ingest's clock when it handed the request back last; nil if it never did.
  ///   - now: ingest's clock.
  public static func waits(
    _ sendAt: Int64, written: Int64, requeuedAt: Int64?, now: Int64
  ) -> Bool {
    let written = written < 0 ? now : written
    if written < sendAt || now < sendAt - tolerance { return true }
    let wasKept = requeuedAt.map { $0 >= sendAt - longestHold } ?? false
    return written > now + tolerance && !wasKept
  }

  /// The time that ingest notes when it hands a request back: its clock, but later than the time before, which may be
  /// another clock's. So the last record of it is known as that.
  ///
  /// - Parameter last: what was noted before; nil for the first time.
  public static func requeue(now: Int64, after last: Int64?) -> Int64 {
    last.map { max(now, $0 + 1) } ?? now
  }
}
