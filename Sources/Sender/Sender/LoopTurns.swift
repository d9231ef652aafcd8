// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import SenderDecisions

/// When a loop's turns begin, and what they find ready.
struct LoopTurns: ~Copyable {
  /// Sockets that one turn hears of: the more of them do, the more pushes share each one's write.
  private static let socketsATurn = 1_024

  let poller: Poller
  private(set) var ready: [ReadyEvent] = []
  var pace = TurnPace()

  init() throws { poller = try Poller(capacity: Self.socketsATurn) }

  /// - Returns: the time (monotonic milliseconds).
  mutating func begin(timeoutMilliseconds: Int32) -> UInt64 {
    poller.wait(timeoutMilliseconds: timeoutMilliseconds, into: &ready)
    let now = MonotonicClock.nanoseconds() / 1_000
    pace.beginTurn(now: now)
    return now / 1_000
  }

  mutating func end(isExpecting: Bool) {
    let pause = pace.endTurn(
      now: MonotonicClock.nanoseconds() / 1_000, isExpecting: isExpecting)
    if pause > 0 { usleep(UInt32(pause)) }
  }
}
