// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// Partitions that are asked back, in a rebalance and for good, and what is committed. (`Partitions`, `Progress`)
@Suite struct DrainTests {
  /// A loop with open pushes and others that wait.
  private func busy(_ reply: ScriptedReply = .accepted(after: 1_000)) -> ScriptedLoop {
    let loop = ScriptedLoop()
    loop.gateways[0].streams = 10
    loop.answer { $0.stream == 1 ? .accepted : reply }
    loop.produce(0..<50)
    #expect(loop.run { loop.requests.count == 11 })
    return loop
  }

  private func done(_ loop: ScriptedLoop) -> PartitionDone? {
    loop.given?.first { $0.partition == 0 }?.done
  }

  private func underWay(_ loop: ScriptedLoop) -> Int? {
    loop.given?.reduce(0) { $0 + $1.underWay }
  }

  @Test func `what is open is awaited, what waits is handed back, nothing more is taken`() {
    let loop = busy()
    let unread = loop.unread()
    loop.drain(within: 3_000)
    #expect(loop.given == nil)
    #expect(loop.handedBack.count == 50 - 11 - unread)
    #expect(loop.run(within: 2_000) { loop.given != nil })
    #expect(loop.delivered(0..<11) && loop.endings.count == 11)
    #expect(loop.requests.count == 11)
    #expect(done(loop)?.committable == 11 && done(loop)?.completedAbove == [])
    #expect(underWay(loop) == 0 && loop.counted(.leftUnderWay) == 0)
  }

  @Test
  func `time is up: partitions are given back with what is done, later answers change nothing`() {
    let loop = busy()
    loop.drain(within: 500)
    #expect(loop.run(within: 600) { loop.given != nil })
    #expect(done(loop)?.committable == 1)
    #expect(loop.held == 10)
    #expect(underWay(loop) == 10 && loop.counted(.leftUnderWay) == 10)
    loop.run(milliseconds: 2_000)
    #expect(loop.endings.count == 11, "they are reported, and never committed")
    #expect(loop.held == 0 && loop.unacknowledged == 0)
  }

  @Test func `a drain can be shortened while it goes on`() {
    let loop = busy()
    loop.drain(within: 60_000)
    loop.shortenDrain(to: 200)
    #expect(loop.run(within: 300) { loop.given != nil })
    #expect(loop.held == 10)
  }

  @Test func `outcomes that Kafka has not acknowledged are awaited, too`() {
    let loop = busy()
    loop.isAcknowledged = false
    loop.drain(within: 5_000)
    loop.run(milliseconds: 3_000)
    #expect(loop.endings.count == 11 && loop.given == nil)
    loop.isAcknowledged = true
    #expect(loop.run(within: 100) { loop.given != nil })
    #expect(done(loop)?.committable == 11)
  }

  @Test func `outcomes that Kafka does not acknowledge in time are under way for the next owner`() {
    let loop = busy(.accepted)
    #expect(loop.run { loop.endings.count == 50 })
    loop.isAcknowledged = false
    loop.produce(50..<53)
    #expect(loop.run { loop.endings.count == 53 })
    loop.drain(within: 500)
    #expect(loop.run(within: 600) { loop.given != nil })
    #expect(underWay(loop) == 3 && done(loop)?.committable == 50)
  }

  @Test func `a push that fails while its partition is asked back is left to the next owner`() {
    let loop = busy()
    loop.answer { _ in .accepted }
    loop.drain(within: 3_000)
    let before = loop.handedBack.count
    loop.tell(.broken)
    #expect(loop.run(within: 3_000) { loop.given != nil })
    #expect(loop.handedBack.count == before + 10 && loop.requests.count == 11)
    #expect(done(loop)?.committable == 1 && loop.moves.isEmpty)
  }

  @Test func `an answer that is final is no less final while the partition is asked back`() {
    let loop = busy(.reason(.badDeviceToken, after: 1_000))
    loop.drain(within: 3_000)
    #expect(loop.run(within: 3_000) { loop.given != nil })
    #expect(loop.count(.rejected) == 10 && done(loop)?.committable == 11)
  }

  @Test func `after a stop no partition is begun, and no connection is opened`() {
    let loop = ScriptedLoop()
    loop.produce(0..<5)
    loop.run(milliseconds: 10)
    loop.stop(within: 1_000)
    #expect(loop.run(within: 2_000) { loop.given != nil })
    #expect(loop.isStopping)
    loop.run(milliseconds: 5_000)
    #expect(loop.connects.isEmpty && loop.requests.isEmpty)
    #expect(loop.handedBack.count + loop.unread() == 5)
  }

  @Test func `after a stop no name is looked up for a connection that is lost`() {
    let loop = ScriptedLoop()
    loop.publishToken("other", apps: ["other"])
    loop.answer { $0.app == "other" ? .hold : .accepted }
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    loop.produce(5, app: "other")
    #expect(loop.run { loop.requests.count == 6 })
    // A younger one would not be replaced at once.
    loop.run(milliseconds: ConnectBackoff.shortLife)
    loop.stop(within: 20_000)
    loop.tell(.broken, on: 1)
    loop.run(milliseconds: 5_000)
    #expect(loop.lookUpCount == 2 && loop.open == 1 && loop.given == nil)
  }

  @Test func `pushes behind another one of their device are handed back, too`() {
    let loop = ScriptedLoop { $0.isOrdered = true }
    loop.answer { _ in .accepted(after: 1_000) }
    loop.produce(0..<20) { $0.device = 7 }
    #expect(loop.run { loop.requests.count == 1 })
    loop.drain(within: 3_000)
    #expect(loop.run(within: 2_000) { loop.given != nil })
    #expect(loop.requests.count == 1 && loop.endings.count == 1)
    #expect(loop.handedBack.count + loop.unread() == 19)
    #expect(loop.held == 0)
  }

  @Test func `completed records above an open one are known to the next owner`() {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 5 ? .hold : .accepted }
    loop.produce(0..<20)
    #expect(loop.runToEnd(of: 19))
    loop.drain(within: 100)
    #expect(loop.run(within: 1_000) { loop.given != nil })
    #expect(done(loop)?.committable == 5 && done(loop)?.completedAbove == [6..<20])
  }

  @Test func `nothing is committed past a push without an outcome, whatever came after it`() {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 5 ? .hold : .accepted }
    loop.produce(0..<20)
    #expect(loop.runToEnd(of: 19))
    loop.run(milliseconds: 5_000)
    #expect(loop.committable[0] == 5)
    loop.answerHeld()
    loop.run(milliseconds: 1_000)
    #expect(loop.committable[0] == 20)
  }
}
