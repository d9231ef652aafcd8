// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Telemetry
import Testing

@testable import Sender

/// How long a destination has been blocked.
@Suite struct BlockedDestinationTests {
  private func status(
    at: UInt64, _ trouble: DestinationHealth.Trouble?, accepted: Int = 7, index: Int = 3
  ) -> LoopStatus {
    var status = LoopStatus()
    status.at = at
    status.destinations = [
      LoopStatus.Destination(
        index: index, credential: "T/K/any", environment: .production, hasToken: true,
        trouble: trouble, waiting: 0, held: 0, open: 0, accepted: accepted, refused: 0,
        retriesLeft: 10, refusals: [])
    ]
    return status
  }

  /// What the last of these looks says, in milliseconds.
  private func blocked(_ looks: [LoopStatus]) -> UInt64 {
    var last = LoopStatus()
    for look in looks {
      let before = last
      last = look
      last.noteBlocked(since: before)
    }
    return last.destinations[0].blocked
  }

  @Test func `the time counts from the first look at the state`() {
    #expect(blocked([status(at: 1_000, .gateway)]) == 0)
    let looks = (1...31).map { status(at: UInt64($0) * 1_000, .gateway) }
    #expect(blocked([status(at: 500, nil)] + looks) == 30_000)
  }

  @Test func `many short outages are not one long one`() {
    // Seen failing at every look: only the accepted pushes tell that it worked in between.
    let looks = (1...31).map { status(at: UInt64($0) * 1_000, .gateway, accepted: $0) }
    #expect(blocked(looks) == 0)
  }

  @Test func `another state of a destination, or another destination, starts again`() {
    #expect(blocked([status(at: 1_000, .gateway), status(at: 9_000, .connects)]) == 0)
    #expect(blocked([status(at: 1_000, .gateway), status(at: 9_000, .gateway, index: 4)]) == 0)
  }

  @Test func `the time since an accepted push goes on over closed destinations`() {
    func quiet(_ looks: [LoopStatus]) -> UInt64 {
      var last = LoopStatus()
      for look in looks {
        let before = last
        last = look
        last.noteBlocked(since: before)
      }
      return last.quiet
    }
    let first = status(at: 1_000, nil, accepted: 7)
    #expect(quiet([first]) == 0)
    #expect(quiet([first, status(at: 4_000, nil, accepted: 7)]) == 3_000)
    #expect(quiet([first, status(at: 4_000, nil, accepted: 8)]) == 0)
    var closed = status(at: 5_000, nil)
    closed.destinations = []
    #expect(quiet([first, status(at: 4_000, .gateway, accepted: 7), closed]) == 4_000)
  }

  @Test func `the page has the longest of each state, and working is none of them`() {
    var status = status(at: 9_000, .gateway)
    status.destinations[0].blocked = 8_000
    let samples = status.samples.filter { $0.metric == SenderMetrics.blocked.metric }
    #expect(samples.count == 5)
    #expect(samples.first { $0.labels == ["gateway"] }?.value == .thousandths(8_000))
    #expect(samples.first { $0.labels == ["connects"] }?.value == .thousandths(0))
  }
}
