// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup
@testable import Contract
@testable import SenderDecisions

/// Events in, actions out: the way of a push without a socket, a clock or Kafka.
@Suite struct DispatcherTests {
  static let address = PeerAddress(bytes: [10, 0, 0, 1], port: 443)!
  static let wall: Int64 = 1_760_000_000_000
  static let first = ConnectionID(pool: 0, index: 0)

  /// A dispatcher with one partition of a lane, a provider token for `app`, and a connection that takes pushes.
  func connected(_ settings: DispatchSettings = DispatchSettings()) -> Dispatcher {
    var dispatcher = Dispatcher(settings, now: 1_000, wall: Self.wall, seed: 1)
    _ = dispatcher.granted(
      GrantedPartition(topicKind: .lane(.first), resume: ResumePoint(next: 0)))
    dispatcher.updateTokens(
      [
        .token(
          .init(
            credential: "key", teamID: "t", keyID: "k", scope: .any, apps: ["app", "other"],
            stamp: .init(issuedAt: Self.wall / 1_000, generation: 1), token: [1]))
      ], isComplete: true)
    dispatcher.applyTokens()
    return dispatcher
  }

  func facts(
    _ number: UInt64, app: String = "app", expiresAt: Int64 = .max
  ) -> PushFacts {
    PushFacts(
      dedupKey: NotificationID(high: 0, low: number), app: AppHash.of(app.utf8.span),
      device: number, lane: .first, created: Self.wall, expiresAt: expiresAt)
  }

  func take(
    _ facts: PushFacts, _ offset: Int64, _ dispatcher: inout Dispatcher, from partition: Int = 0,
    written: Int64 = wall
  ) -> UInt32 {
    let admission = dispatcher.admit(offset, from: partition)
    #expect(admission == .new)
    return dispatcher.accept(facts, offset: offset, from: partition, written: written)
  }

  func actions(_ dispatcher: inout Dispatcher) -> [Action] {
    var all: [Action] = []
    while let action = dispatcher.nextAction() { all.append(action) }
    return all
  }

  /// What the receipt of a push says of it.
  func ending(_ slot: UInt32, _ dispatcher: borrowing Dispatcher) -> PushEnding {
    dispatcher.work.pushes.ending(slot)
  }

  /// Expects these actions and no others.
  func expect(
    _ expected: [Action], of dispatcher: inout Dispatcher,
    at location: SourceLocation = #_sourceLocation
  ) {
    let all = actions(&dispatcher)
    #expect(all == expected, sourceLocation: location)
  }

  /// Opens the connection that the first push asks for.
  func connect(_ dispatcher: inout Dispatcher) {
    _ = dispatcher.upkeep()
    _ = actions(&dispatcher)
    dispatcher.lookedUp(0, [Self.address])
    expect([.open(Self.first)], of: &dispatcher)
    dispatcher.handle(.connected, of: Self.first)
    dispatcher.handle(.settings(limit: 10), of: Self.first)
  }

  private func token(_ credential: String, _ apps: [String], _ generation: UInt64)
    -> ProviderTokenBook.Update
  {
    .token(
      .init(
        credential: credential, teamID: "t", keyID: "k", scope: .any, apps: apps,
        stamp: .init(issuedAt: Self.wall / 1_000, generation: generation), token: [1]))
  }

  /// In either order of the two records, and with all of them told at once.
  @Test(arguments: [false, true])
  func `a push in line goes to the credential that its app was moved to`(isReversed: Bool) {
    var dispatcher = connected()
    let stays = take(facts(1, app: "other"), 0, &dispatcher)
    let moves = take(facts(2), 1, &dispatcher)
    _ = actions(&dispatcher)
    let updates = [token("key", ["other"], 2), token("key2", ["app"], 1)]
    dispatcher.updateTokens(isReversed ? updates.reversed() : updates, isComplete: true)
    dispatcher.applyTokens()
    #expect(actions(&dispatcher).contains(.openPool(1)))
    for (pool, slot) in [(0, stays), (1, moves)] as [(Int32, UInt32)] {
      let connection = ConnectionID(pool: pool, index: 0)
      _ = dispatcher.upkeep()
      _ = actions(&dispatcher)
      dispatcher.lookedUp(pool, [Self.address])
      expect([.open(connection)], of: &dispatcher)
      dispatcher.handle(.connected, of: connection)
      dispatcher.handle(.settings(limit: 10), of: connection)
      dispatcher.dispatch()
      let sent = actions(&dispatcher)
      #expect(sent.contains(.send(slot: slot, connection)))
    }
  }

  /// Retention may have removed them: the next owner goes on behind them, and does not know.
  @Test func `offsets that did not come are told of when partitions are given back at once`() {
    var dispatcher = connected()
    for offset in [0, 1, 7] as [Int64] { _ = dispatcher.admit(offset, from: 0) }
    for offset in [0, 1, 7] as [Int64] {
      dispatcher.acknowledged(Origin(partition: 0, epoch: 0, offset: offset))
    }
    dispatcher.drain(until: 5_000)
    let given = dispatcher.handOver()
    #expect(given?.first?.jump == 2..<7 && given?.first?.done.committable == 8)
  }

  @Test
  func
    `a push is sent, accepted, receipted, and its offset is complete when Kafka has the receipt`()
  {
    var dispatcher = connected()
    let slot = take(facts(1), 0, &dispatcher)
    expect([.openPool(0), .authorize(pool: 0)], of: &dispatcher)
    connect(&dispatcher)
    dispatcher.dispatch()
    expect([.changeToken(Self.first), .send(slot: slot, Self.first)], of: &dispatcher)
    dispatcher.accepted(slot)
    expect([.delivered(slot: slot, ending(slot, dispatcher))], of: &dispatcher)
    let origin = dispatcher.push(slot).origin
    var committable = dispatcher.standing(of: 0).committable
    #expect(committable == 0, "nothing is committed before its outcome")
    dispatcher.acknowledged(origin)
    committable = dispatcher.standing(of: 0).committable
    #expect(committable == 1)
    let (held, unacknowledged) = (dispatcher.pushCount, dispatcher.unacknowledged)
    #expect(held == 0 && unacknowledged == 0)
  }

  @Test func `a push that has expired is not sent`() {
    var dispatcher = connected()
    let slot = take(facts(1, expiresAt: Self.wall + 500), 0, &dispatcher)
    connect(&dispatcher)
    dispatcher.beginTurn(now: 1_500, wall: Self.wall + 500)
    dispatcher.dispatch()
    expect(
      [
        .changeToken(Self.first),
        .receipt(slot: slot, .expired, .expiration, nil, ending(slot, dispatcher)),
      ], of: &dispatcher)
  }

  @Test func `a throttled device waits on a retry topic, and others do not`() {
    var dispatcher = connected()
    let slot = take(facts(1), 0, &dispatcher)
    connect(&dispatcher)
    dispatcher.dispatch()
    _ = actions(&dispatcher)
    let answer = GatewayResponse(status: 429, reason: .tooManyRequests)
    dispatcher.refused(slot, answer, retryAfter: 0)
    expect([.park(slot: slot, .seconds5, .failure(answer))], of: &dispatcher)
    let next = take(facts(1), 1, &dispatcher)
    expect(
      [.receipt(slot: next, .deduplicated, .repeatedID, nil, ending(next, dispatcher))],
      of: &dispatcher)
    var same = facts(2)
    same.device = 1
    let held = take(same, 2, &dispatcher)
    expect([.park(slot: held, .seconds5, .device)], of: &dispatcher)
    let other = take(facts(3), 3, &dispatcher)
    dispatcher.dispatch()
    expect([.send(slot: other, Self.first)], of: &dispatcher)
  }

  @Test func `what was queued for a dead token is not sent in vain, what was requested later is`() {
    var dispatcher = connected()
    let slot = take(facts(1), 0, &dispatcher)
    connect(&dispatcher)
    func queued(_ number: UInt64, createdAgo age: Int64) -> PushFacts {
      var facts = facts(number)
      (facts.device, facts.created) = (1, Self.wall - age)
      return facts
    }
    // Already in line when the answer comes, behind the one that is sent.
    dispatcher.dispatch()
    let inLine = take(queued(2, createdAgo: 5_000), 1, &dispatcher)
    _ = actions(&dispatcher)
    let answer = GatewayResponse(status: 410, reason: .unregistered, timestamp: Self.wall)
    dispatcher.refused(slot, answer, retryAfter: 0)
    expect([.feedback(slot: slot, answer)], of: &dispatcher)
    dispatcher.dispatch()
    let suppressed = Action.receipt(
      slot: inLine, .suppressed, .recentlyInvalid, nil, ending(inLine, dispatcher))
    expect([suppressed], of: &dispatcher)
    let old = take(queued(3, createdAgo: 60_000), 2, &dispatcher)
    expect(
      [.receipt(slot: old, .suppressed, .recentlyInvalid, nil, ending(old, dispatcher))],
      of: &dispatcher)
    #expect(dispatcher.counts[.suppressed] == 2 && dispatcher.counts[.rejected] == 1)
    // Requested after the dead push was sent, as after a registration: it goes, and when APNs takes it, so do all.
    let later = take(queued(4, createdAgo: 0), 3, &dispatcher)
    var elsewhere = queued(5, createdAgo: 60_000)
    elsewhere.app = AppHash.of("other".utf8.span)
    let other = take(elsewhere, 4, &dispatcher)
    dispatcher.dispatch()
    // One push at a time until the connection has accepted one.
    expect([.send(slot: later, Self.first)], of: &dispatcher)
    dispatcher.accepted(later)
    _ = actions(&dispatcher)
    let last = take(queued(6, createdAgo: 60_000), 5, &dispatcher)
    dispatcher.dispatch()
    expect(
      [.send(slot: other, Self.first), .send(slot: last, Self.first)], of: &dispatcher)
  }

  @Test(arguments: [wall / 1_000, 0, -1])
  func `records whose timestamps are no time in milliseconds say nothing of the clock`(
    written: Int64
  ) {
    var dispatcher = connected()
    let slot = take(facts(1), 0, &dispatcher, written: written)
    connect(&dispatcher)
    dispatcher.dispatch()
    _ = actions(&dispatcher)
    let answer = GatewayResponse(status: 410, reason: .unregistered, timestamp: Self.wall)
    dispatcher.refused(slot, answer, retryAfter: 0)
    _ = actions(&dispatcher)
    var queued = facts(2)
    (queued.device, queued.created) = (1, Self.wall - 60_000)
    let old = take(queued, 1, &dispatcher, written: written)
    expect(
      [.receipt(slot: old, .suppressed, .recentlyInvalid, nil, ending(old, dispatcher))],
      of: &dispatcher)
  }

  @Test(
    arguments: [
      (.seconds5, .minute1), (.minute1, .minutes15), (.minutes15, .minutes15),
    ] as [(RetryTier, RetryTier)], [UInt16(429), 503])
  func
    `a first 429 or 503 after lost connections is the next step after the retry topic that the push came from`(
      tiers: (from: RetryTier, to: RetryTier), status: UInt16
    )
  {
    var dispatcher = connected()
    let partition = dispatcher.granted(
      GrantedPartition(topicKind: .retries(tiers.from), resume: ResumePoint(next: 0)))
    var push = facts(1)
    push.attempt = 5
    let slot = take(push, 0, &dispatcher, from: partition, written: Self.wall - 1_000_000)
    connect(&dispatcher)
    dispatcher.dispatch()
    _ = actions(&dispatcher)
    let reason: Reason = status == 429 ? .tooManyRequests : .serviceUnavailable
    let answer = GatewayResponse(status: status, reason: reason)
    dispatcher.refused(slot, answer, retryAfter: 0)
    expect([.park(slot: slot, tiers.to, .failure(answer))], of: &dispatcher)
  }

  @Test func `what waits for its app is out of the line: a dispatch does not look at it again`() {
    var dispatcher = connected()
    var other = facts(0)
    other.app = AppHash.of("other".utf8.span)
    let first = take(other, 0, &dispatcher)
    connect(&dispatcher)
    dispatcher.dispatch()
    dispatcher.accepted(first)
    for number in 1...1_000 as ClosedRange<UInt64> {
      _ = take(facts(number), Int64(number), &dispatcher)
    }
    _ = actions(&dispatcher)
    dispatcher.dispatch()
    for action in actions(&dispatcher) {
      guard case .send(let slot, _) = action else { continue }
      dispatcher.refused(
        slot, GatewayResponse(status: 403, reason: .invalidProviderToken), retryAfter: 0)
    }
    _ = actions(&dispatcher)
    dispatcher.dispatch()
    expect([], of: &dispatcher)
    expectLine(0, beside: 1_000, &dispatcher)
    _ = take(facts(1_001), 1_001, &dispatcher)
    dispatcher.beginTurn(now: 1_100, wall: Self.wall + 100)
    dispatcher.dispatch()
    expect([], of: &dispatcher)
    expectLine(0, beside: 1_001, &dispatcher)
    // The app's time is over: one push finds out for the others.
    dispatcher.beginTurn(now: 2_100, wall: Self.wall + 1_100)
    _ = dispatcher.upkeep()
    guard case .send(let probe, _) = actions(&dispatcher).first else {
      return #expect(Bool(false), "nothing is sent")
    }
    expectLine(1_000, beside: 0, &dispatcher)
    dispatcher.accepted(probe)
    dispatcher.handle(.touched(limit: 10), of: Self.first)
    dispatcher.dispatch()
    #expect(actions(&dispatcher).count == 11, "a receipt, and as many sends as there are streams")
  }

  private func expectLine(
    _ inLine: Int, beside: Int, _ dispatcher: inout Dispatcher,
    at location: SourceLocation = #_sourceLocation
  ) {
    let found = (
      dispatcher.pools[0].queue.inLine, dispatcher.pools[0].queue.held
    )
    #expect(found == (inLine, beside), sourceLocation: location)
  }

  @Test func `partitions are given back when nothing is open any more`() {
    var dispatcher = connected()
    let slot = take(facts(1), 0, &dispatcher)
    connect(&dispatcher)
    dispatcher.dispatch()
    let waiting = take(facts(2), 1, &dispatcher)
    _ = actions(&dispatcher)
    dispatcher.drain(until: 5_000)
    expect([.handBack(slot: waiting)], of: &dispatcher)
    var given = dispatcher.handOver()
    #expect(given == nil, "an answer is awaited")
    dispatcher.accepted(slot)
    _ = actions(&dispatcher)
    dispatcher.acknowledged(Origin(partition: 0, epoch: 0, offset: 0))
    given = dispatcher.handOver()
    #expect(given?.map(\.done.committable) == [1])
  }

  @Test
  func `a certificate that stays keeps its one pool when another goes and leaves its pushes to it`()
  {
    func entry(_ apps: [String], days: Int64) -> CertificateBook.Entry {
      .init(apps: apps, scope: .any, expiresAt: Self.wall / 1_000 + days * 86_400)
    }
    var dispatcher = connected()
    let stays = entry(["app", "other"], days: 30)
    dispatcher.updateCertificates([entry(["app"], days: 300), stays], places: [])
    let slot = take(facts(1), 0, &dispatcher)
    var ofOther = facts(2)
    ofOther.app = AppHash.of("other".utf8.span)
    _ = take(ofOther, 1, &dispatcher)
    expect([.openPool(0), .openPool(1)], of: &dispatcher)
    dispatcher.updateCertificates([stays], places: [nil, 0])
    expect([.retirePool(0)], of: &dispatcher)
    let destination = dispatcher.work.pushes[slot].destination
    #expect(destination == Pool.destination(1))
  }

  @Test func `a pool that is removed keeps nothing of its credential`() {
    var dispatcher = connected()
    let slot = take(facts(1), 0, &dispatcher)
    connect(&dispatcher)
    dispatcher.dispatch()
    expect([.changeToken(Self.first), .send(slot: slot, Self.first)], of: &dispatcher)
    dispatcher.accepted(slot)
    #expect(dispatcher.token(ofPool: 0) == [1])
    let before = dispatcher.pools[0].connectionSet.connections.reserved
    #expect(before == 1)
    dispatcher.updateTokens([.removed(credential: "key")], isComplete: true)
    dispatcher.applyTokens()
    #expect(actions(&dispatcher).contains(.retirePool(0)))
    dispatcher.handle(.closed(isFailure: false), of: Self.first)
    dispatcher.beginTurn(now: 3_000, wall: Self.wall + 2_000)
    _ = dispatcher.upkeep()
    #expect(actions(&dispatcher).contains(.removePool(0)))
    #expect(dispatcher.token(ofPool: 0) == nil && dispatcher.standing(ofPool: 0) == nil)
    let after = dispatcher.pools[0].connectionSet.connections.reserved
    #expect(after == 0)
  }

  @Test func `what a crowd of pushes took is given back a minute later`() {
    var dispatcher = connected()
    var left: Set<UInt32> = []
    for number in 0..<100 as Range<UInt64> {
      left.insert(take(facts(number + 1), Int64(number), &dispatcher))
    }
    connect(&dispatcher)
    for _ in 0..<100 where !left.isEmpty {
      dispatcher.dispatch()
      for case .send(let slot, _) in actions(&dispatcher) {
        dispatcher.accepted(slot)
        left.remove(slot)
      }
      dispatcher.handle(.touched(limit: 10), of: Self.first)
    }
    #expect(left.isEmpty)
    for (now, isKept) in [(30_000, true), (62_000, false)] as [(UInt64, Bool)] {
      dispatcher.beginTurn(now: now, wall: Self.wall + Int64(now) - 1_000)
      _ = dispatcher.upkeep()
      let reserved = dispatcher.pools[0].queue.reserved
      #expect((reserved >= 100) == isKept, "\(reserved)")
    }
    let late = take(facts(200), 100, &dispatcher)
    dispatcher.dispatch()
    #expect(actions(&dispatcher).contains(.send(slot: late, Self.first)))
  }
}
