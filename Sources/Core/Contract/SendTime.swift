// SPDX-License-Identifier: Apache-2.0

/// The rule for when a request with a `send_at` is sent. All times are milliseconds since the epoch.
public enum SendTime {
  /// By how much ingest's clock may be behind that of whoever wrote the record.
  public static let tolerance: Int64 = 1_000

  /// Whether a request goes to the schedule: until two clocks say that its time has come, that of whoever wrote its
  /// record (a producer, or the scheduler that released it) and ingest's. One wrong clock sends nothing early.
  ///
  /// - Parameters:
  ///   - written: when its record was written.
  ///   - now: ingest's clock.
  public static func waits(_ sendAt: Int64, written: Int64, now: Int64) -> Bool {
    written < sendAt || now < sendAt - tolerance
  }
}
