// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import Feedback

/// The count of device tokens by state.
@Suite struct DeviceCensusTests {
  @Test func `a count costs the database 2 % of its time, and its silence nothing`() {
    func pause(_ took: UInt64, isCounted: Bool) -> UInt64 {
      DeviceCountReporter.pause(after: took, isCounted: isCounted, atLeast: 60_000)
    }
    #expect(pause(10, isCounted: true) == 60_000)
    #expect(pause(2_000, isCounted: true) == 100_000)
    #expect(pause(65_000, isCounted: false) == 60_000)
  }

  @Test func `the census follows the database`() throws {
    let folder = TemporaryFolder()
    let database = folder.file("tokens.db")
    let store = try TokenStore(database, now: 1)
    let context = ServiceContext(try FeedbackSettings.table.values(["--database", database]))
    try DeviceCountReporter.start(database, context, intervalMilliseconds: 10)
    defer { context.signals.requestStop() }
    func counts() -> [String: MetricValue] {
      let own = context.counters.samples.filter { $0.metric == FeedbackMetrics.deviceRows.metric }
      return Dictionary(uniqueKeysWithValues: own.map { ($0.labels[0], $0.value) })
    }
    #expect(eventually { counts()["valid"] == .integer(0) })
    try store.put(FeedbackFixture.device(1), DeviceState(presence: .registered(at: 3)))
    try store.put(FeedbackFixture.device(2), DeviceState(presence: .removed(at: 3)))
    let expected: [String: MetricValue] = [
      "valid": .integer(1), "removed": .integer(1), "invalid": .integer(0),
      "suspected": .integer(0),
    ]
    #expect(eventually { counts() == expected })
  }
}
