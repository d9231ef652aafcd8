// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup
@testable import Contract
@testable import SenderDecisions

extension DispatcherTests {
  @Test
  func `a paused app's pushes are moved aside unsent, also those in line, until it is resumed`() {
    var dispatcher = connected()
    let inLine = take(facts(1), 0, &dispatcher)
    _ = actions(&dispatcher)
    connect(&dispatcher)
    var pauses = Pauses(.standard)
    pauses.set(.app("app", .production), isPaused: true)
    dispatcher.update(.pauses(pauses))
    dispatcher.dispatch()
    #expect(actions(&dispatcher).last == .park(slot: inLine, .seconds5, .paused))
    let next = take(facts(2), 1, &dispatcher)
    expect([.park(slot: next, .seconds5, .paused)], of: &dispatcher)
    let old = take(facts(3, expiresAt: Self.wall - 1), 2, &dispatcher)
    expect(
      [.receipt(slot: old, .expired, .expiration, nil, ending(old, dispatcher))], of: &dispatcher)
    #expect(dispatcher.counts[.diverted] == 2)
    dispatcher.update(.pauses(Pauses(.standard)))
    let resumed = take(facts(4), 3, &dispatcher)
    dispatcher.dispatch()
    #expect(
      actions(&dispatcher).contains { $0 == .send(slot: resumed, Self.first) })
  }

  @Test(arguments: [61_000, 3_599_000])
  func
    `a paused app's push is looked at every minute at least, however old it is and however often it was moved`(
      age: Int64
    )
  {
    var dispatcher = connected()
    var pauses = Pauses(.standard)
    pauses.set(.app("app", .production), isPaused: true)
    dispatcher.update(.pauses(pauses))
    var old = facts(1)
    old.created = Self.wall - age
    let slot = take(old, 0, &dispatcher)
    expect([.park(slot: slot, .minute1, .paused)], of: &dispatcher)
  }

  @Test func `of a paused lane the head alone is taken and kept, and the other lane goes on`() {
    var dispatcher = connected()
    let bulk = dispatcher.granted(
      GrantedPartition(topicKind: .lane(.bulk), resume: ResumePoint(next: 0)))
    var pauses = Pauses(.standard)
    pauses.set(.lane("bulk"), isPaused: true)
    dispatcher.update(.pauses(pauses))
    let head = head(of: bulk, &dispatcher)
    expect([], of: &dispatcher)
    #expect(taken(&dispatcher) == [0: Dispatcher.takeAtOnce], "no second record of it")
    pauses.set(.lane("transactional"), isPaused: true)
    dispatcher.update(.pauses(pauses))
    #expect(taken(&dispatcher) == [0: 1])
    _ = self.head(of: 0, &dispatcher)
    dispatcher.signalledAll()
    let isIdle = !dispatcher.canTake(isProducerOpen: true)
    #expect(isIdle, "a loop that has nothing to take sleeps")
    #expect(dispatcher.work.pushes[head].life.state == .held)
    dispatcher.update(.pauses(Pauses(.standard)))
    expect([.openPool(0), .authorize(pool: 0)], of: &dispatcher)
    #expect(dispatcher.pools[0].queue.count == 2, "both go on")
    #expect(taken(&dispatcher).keys.sorted() == [0, bulk])
  }

  @Test func `the kept head of a paused lane is no stuck offset, and is handed back unsent`() {
    var dispatcher = connected()
    var pauses = Pauses(.standard)
    pauses.set(.lane("transactional"), isPaused: true)
    dispatcher.update(.pauses(pauses))
    let head = head(of: 0, &dispatcher)
    dispatcher.beginTurn(now: 2_000_000, wall: Self.wall + 2_000_000)
    _ = dispatcher.report()
    #expect(dispatcher.counts[.oldestOpenMilliseconds] == 0)
    #expect(dispatcher.standing(of: 0).open == 1)
    dispatcher.drain(until: 2_000_100)
    expect([.handBack(slot: head)], of: &dispatcher)
    let given = dispatcher.handOver()
    #expect(given?.map(\.done.committable) == [0], "its next owner takes it again")
  }

  /// How many records are asked for, by partition; nothing is there.
  private func taken(_ dispatcher: inout Dispatcher) -> [Int: Int] {
    var counts: [Int: Int] = [:]
    dispatcher.signalledAll()
    dispatcher.beginIntake()
    while let take = dispatcher.nextReadRequest(isProducerOpen: true) {
      counts[take.partition] = take.count
      dispatcher.took(0)
    }
    return counts
  }

  /// Takes what is asked for of a partition: one record.
  private func head(of partition: Int, _ dispatcher: inout Dispatcher) -> UInt32 {
    var slot: UInt32 = .max
    dispatcher.signalledAll()
    dispatcher.beginIntake()
    while let next = dispatcher.nextReadRequest(isProducerOpen: true) {
      guard next.partition == partition else {
        dispatcher.took(0)
        continue
      }
      #expect(next.count == 1)
      slot = take(facts(77 + UInt64(partition)), 0, &dispatcher, from: partition)
      dispatcher.took(1)
    }
    return slot
  }
}
