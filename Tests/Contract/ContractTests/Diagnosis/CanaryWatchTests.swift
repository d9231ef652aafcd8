// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract

@Suite struct CanaryWatchTests {
  private var watch = CanaryWatch(interval: 60_000, timeout: 10_000, now: 1_000)

  @Test mutating func `a push is due at once, and again an interval after it was sent`() {
    #expect(watch.isDue(now: 1_000))
    watch.sent("a", now: 1_200, wall: 5_000)
    #expect(!watch.isDue(now: 1_200))
    #expect(watch.nextMoment == 11_200)
    let result = watch.receipt("a", .delivered, created: 5_010, at: 5_050, now: 1_300, wall: 5_099)
    #expect(result == .success(CanaryWatch.Stages(ingest: 10, sender: 40, receipt: 49, total: 100)))
    #expect(watch.nextMoment == 61_200)
    #expect(!watch.isDue(now: 61_199))
    #expect(watch.isDue(now: 61_200))
  }

  @Test mutating func `its time ends a push once, and says how far it came`() {
    watch.sent("a", now: 1_000, wall: 0)
    #expect(watch.timePassed(now: 10_999) == nil)
    #expect(watch.timePassed(now: 11_000) == .failure(.notAcknowledged))
    #expect(watch.timePassed(now: 12_000) == nil)
    watch.sent("b", now: 61_000, wall: 0)
    watch.acknowledged()
    #expect(watch.timePassed(now: 71_000) == .failure(.noReceipt))
  }

  @Test mutating func `a receipt of another push, or one that comes late, changes nothing`() {
    watch.sent("a", now: 1_000, wall: 0)
    #expect(watch.receipt("other", .delivered, created: nil, at: 0, now: 1_001, wall: 0) == nil)
    #expect(watch.pendingID == "a")
    #expect(watch.timePassed(now: 11_000) != nil)
    #expect(watch.receipt("a", .delivered, created: nil, at: 0, now: 11_001, wall: 0) == nil)
  }

  @Test(arguments: Outcome.allCases)
  func `every outcome of the push itself but delivered is a failure`(outcome: Outcome) {
    var watch = watch
    watch.sent("a", now: 1_000, wall: 0)
    let result = watch.receipt("a", outcome, created: nil, at: 0, now: 1_001, wall: 0)
    if [.addressed, .deduplicated].contains(outcome) {
      #expect(result == nil && watch.pendingID == "a")
    } else if outcome == .delivered {
      #expect(result == .success(CanaryWatch.Stages(ingest: 0, sender: 0, receipt: 0, total: 1)))
    } else if case .failure(let failure) = result {
      #expect(failure.rawValue == "\(outcome.name)")
    } else {
      Issue.record("\(outcome) is no failure")
    }
  }

  @Test func `no push lasts longer than its interval`() {
    var watch = CanaryWatch(interval: 5_000, timeout: 10_000, now: 0)
    watch.sent("a", now: 0, wall: 0)
    #expect(watch.nextMoment == 5_000)
    #expect(watch.timePassed(now: 5_000) != nil)
    #expect(watch.isDue(now: 5_000))
  }
}
