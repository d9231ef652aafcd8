// SPDX-License-Identifier: Apache-2.0
import Contract
import Telemetry
import Testing

@testable import Sender

/// Outcomes by app, whose number is bounded.
@Suite struct AppCountsTests {
  private func count(_ counts: AppCounts, _ app: String, _ outcome: String) -> MetricValue? {
    counts.samples.first { $0.labels == [app, outcome] }?.value
  }

  @Test func `named apps have series of their own, and all others share one`() {
    let counts = AppCounts()
    counts.name(["com.example.a", "*", "com.example.b", "com.example.a"])
    for app in ["com.example.a", "com.example.b", "com.example.a", "com.example.unknown"] {
      counts.recorder.add(AppHash.of(app.utf8.span), .delivered)
    }
    #expect(count(counts, "com.example.a", "delivered") == .integer(2))
    #expect(count(counts, "com.example.b", "delivered") == .integer(1))
    #expect(count(counts, "com.example.b", "rejected") == .integer(0))
    #expect(count(counts, "other", "delivered") == .integer(1))
    #expect(counts.samples.count == 3 * Outcome.ofPushes.count)
  }

  @Test func `apps over the limit are counted with the others`() {
    let counts = AppCounts()
    let apps = (0..<AppCounts.namedApps + 20).map { "com.example.app\($0)" }
    counts.name(apps)
    for app in apps { counts.recorder.add(AppHash.of(app.utf8.span), .expired) }
    #expect(counts.samples.count == (AppCounts.namedApps + 1) * Outcome.ofPushes.count)
    #expect(count(counts, "other", "expired") == .integer(20))
    #expect(count(counts, apps[AppCounts.namedApps - 1], "expired") == .integer(1))
  }
}
