// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// When an operator is told that a certificate ends.
@Suite struct ExpiryReminderTests {
  private static let day: Int64 = 86_400

  /// What is said in `seconds` from `start` on, a minute apart, of something that ends at 100 days.
  private func notices(from start: Int64, _ seconds: Int64) -> [(
    at: Int64, notice: ExpiryReminder.Notice
  )] {
    var reminder = ExpiryReminder()
    return stride(from: start, to: start + seconds, by: 60).compactMap { wall in
      reminder.step(expiresAt: 100 * Self.day, wall: wall, now: UInt64(wall) * 1_000)
        .map { (wall, $0) }
    }
  }

  @Test func `nothing is said long before, then a warning a day`() {
    let said = notices(from: 60 * Self.day, 13 * Self.day)
    #expect(said.map(\.at) == [70 * Self.day + 60, 71 * Self.day + 60, 72 * Self.day + 60])
    #expect(said.first?.notice == .expiresSoon(days: 29))
  }

  @Test func `the end is said at once, however short ago the last warning was`() {
    let said = notices(from: 100 * Self.day - 60, 3 * 3_600)
    #expect(said.map(\.at) == [-60, 0, 3_600, 7_200].map { 100 * Self.day + $0 })
    #expect(said.map(\.notice) == [.expiresSoon(days: 0), .expired, .expired, .expired])
  }
}
