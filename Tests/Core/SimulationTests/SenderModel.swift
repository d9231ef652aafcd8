// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Pipeline
import TestSupport

/// One loop of a sender with a partition and its retry tiers, driven by Core's decisions alone.
struct SenderModel {
  private struct Push {
    let id: NotificationID
    let expiresAt: Int64?
    var attempts = 0
    /// Attempts whose fate nobody knows: each may have been accepted once.
    var ambiguous = 0
    var outcome: String?
  }

  private struct Connection {
    var machine = ConnectionStateMachine(authentication: .providerToken)
    var gateway: SimulatedGateway
    /// Open streams: id, push, deadline slot.
    var streams: [(id: Int, push: Int, slot: UInt32)] = []
    var nextStream = 1
    var lastHeard: UInt64
    var pingedAt: UInt64?
    /// The limit that SETTINGS announced last.
    var announced = 1
  }

  /// A topic: which push each record is of, and when it may be taken.
  private struct Log {
    var ledger = OffsetLedger(nextOffset: 0)
    var records: [(push: Int, due: UInt64)] = []
    var open: Set<Int64> = []
  }

  private var random: SeededGenerator
  private var now: UInt64 = 1_000_000
  private var pushes: [Push] = []
  /// The partition, then the retry tiers.
  private var logs = Array(repeating: Log(), count: 1 + RetryTier.allCases.count)
  private var window = DedupWindow(capacity: 4_096)
  private var policy = ConnectionPoolPolicy()
  private var health = DestinationHealth()
  private let retries = RetryPolicy()
  private var deadlines = RequestDeadlines(capacity: 2_048, timeout: 20_000)
  private var freeSlots: [UInt32]
  private var connections: [Connection] = []
  /// Pushes that wait for credit, with the record each came in.
  private var waiting: [(push: Int, log: Int, offset: Int64)] = []
  private var waitingStart = 0
  private var newest: ProviderTokenStamp
  private(set) var broken: String?
  private var takenIn: [(log: Int, offset: Int64)] = []
  private var accepted: [Int: Int] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    freeSlots = (0..<2_048).reversed()
    newest = .init(issuedAt: 1_000, generation: 1)
  }

  private var waitingCount: Int { waiting.count - waitingStart }

  // MARK: - One step

  /// A turn of the loop. A `kind` gateway answers everything and refuses nothing.
  mutating func step(kind: Bool) {
    now += UInt64(random.oneIn(200) ? random.below(20_000) : random.below(30))
    if !kind { write() }
    renewToken()
    for index in connections.indices {
      if kind { connections[index].gateway.recover(now: now, random: &random) }
      connections[index].gateway.turn(now: now, kind: kind, random: &random)
      hear(index)
    }
    collectAccepted()
    expire()
    watch()
    maintain()
    takeIn()
    dispatch()
    judge()
  }

  /// An application writes records; some twice.
  private mutating func write() {
    guard pushes.count < 1 << 20, random.oneIn(2) else { return }
    for _ in 0..<random.below(6) {
      var id = NotificationID(high: random.next(), low: random.next())
      if let last = pushes.last, random.oneIn(50) { id = last.id }
      let expires = random.oneIn(10) ? Int64(now) + Int64(random.below(100_000)) : nil
      logs[0].records.append((pushes.count, 0))
      pushes.append(Push(id: id, expiresAt: expires))
    }
  }

  private mutating func renewToken() {
    let seconds = Int64(now / 1_000)
    if seconds - newest.issuedAt >= 45 * 60 {
      newest = .init(issuedAt: seconds - 5, generation: newest.generation + 1)
    }
  }

  /// Takes records in as far as there is something to do with them.
  private mutating func takeIn() {
    for index in logs.indices {
      while waitingCount < 64, logs[index].ledger.holes < 500,
        logs[index].ledger.nextOffset < logs[index].records.count
      {
        let offset = logs[index].ledger.nextOffset
        let record = logs[index].records[Int(offset)]
        // A retry topic is first in, first out, every record due equally long after it was written.
        guard record.due <= now else { break }
        guard logs[index].ledger.received(offset) == .new else {
          return fail("a new record is called an old one")
        }
        logs[index].open.insert(offset)
        if index == 0 && !window.insert(pushes[record.push].id) {
          finish(record.push, "deduplicated", (index, offset))
        } else {
          waiting.append((record.push, index, offset))
        }
      }
    }
  }

  private mutating func dispatch() {
    while waitingCount > 0 {
      guard
        let index = connections.indices.max(by: {
          connections[$0].machine.credit < connections[$1].machine.credit
        }), connections[index].machine.credit > 0
      else { break }
      let choice = connections[index].machine.chooseToken(newest: newest, now: Int64(now))
      guard choice != .none, let token = connections[index].machine.token else {
        if connections[index].machine.credit == 0 { continue }
        break
      }
      guard let slot = freeSlots.popLast() else { return fail("no slot is free") }
      let next = waiting[waitingStart]
      waitingStart += 1
      send(next, index, slot, token)
    }
    if waitingStart > 1_000 {
      waiting.removeFirst(waitingStart)
      waitingStart = 0
    }
  }

  private mutating func send(
    _ next: (push: Int, log: Int, offset: Int64), _ index: Int, _ slot: UInt32,
    _ token: ProviderTokenStamp
  ) {
    let stream = connections[index].nextStream
    connections[index].nextStream += 2
    let limit =
      connections[index].machine.hasAccepted
      ? connections[index].announced : min(1, connections[index].announced)
    if connections[index].streams.count >= limit { return fail("a stream above the limit") }
    connections[index].machine.opened()
    connections[index].streams.append((stream, next.push, slot))
    deadlines.insert(slot, now: now)
    while Int(slot) >= takenIn.count { takenIn.append((0, 0)) }
    takenIn[Int(slot)] = (next.log, next.offset)
    if let rule = connections[index].gateway.request(
      next.push, stream: stream, token: token, now: now, random: &random)
    {
      fail(rule)
    }
  }

  // MARK: - The gateway speaks

  private mutating func hear(_ index: Int) {
    while let message = connections[index].gateway.receive(now: now) {
      guard connections[index].machine.state != .closed else { continue }
      connections[index].lastHeard = now
      var action = ConnectionStateMachine.Action.nothing
      switch message {
      case .connected: connections[index].machine.connected()
      case .settings(let limit):
        connections[index].announced = limit
        connections[index].machine.settings(limit: limit)
      case .answer(let stream, let response):
        guard let found = end(stream, index) else { continue }
        if response.status == 200 {
          if !connections[index].machine.hasAccepted { health.connectionAccepted(app: 1) }
          action = connections[index].machine.accepted()
          health.served(sentAt: Int64(now))
          if health.hasRefusedApps { health.served(app: 1) }
        } else {
          let reaction = health.answered(
            response, app: 1,
            on: .init(
              hasAccepted: connections[index].machine.hasAccepted, startedAt: 0,
              hasNewestToken: connections[index].machine.token == newest),
            sentAt: Int64(now), retryAfter: 0, now: now, random: random.next())
          action = connections[index].machine.answered(
            status: response.status, connection: reaction.connection)
        }
        settle(found, .answered(response.verdict), status: response.status)
      case .refused(let stream):
        guard let found = end(stream, index) else { continue }
        action = connections[index].machine.refused()
        settle(found, .unprocessed)
      case .reset(let stream):
        guard let found = end(stream, index) else { continue }
        action = connections[index].machine.reset()
        settle(found, .ambiguous)
      case .goAway(let last):
        action = connections[index].machine.goAway()
        for stream in connections[index].streams.map(\.id) where stream > last {
          guard let found = end(stream, index) else { continue }
          let next = connections[index].machine.refused()
          if next != .nothing { action = next }
          settle(found, .unprocessed)
        }
      case .pong:
        connections[index].pingedAt = nil
        action = connections[index].machine.ponged()
      case .lost: lose(index)
      }
      perform(action, index)
    }
  }

  private mutating func perform(_ action: ConnectionStateMachine.Action, _ index: Int) {
    switch action {
    case .nothing: break
    case .ping:
      connections[index].pingedAt = connections[index].pingedAt ?? now
      connections[index].gateway.ping(now: now, random: &random)
    case .close: lose(index)
    }
  }

  /// The connection is gone; its open streams end with it.
  private mutating func lose(_ index: Int) {
    let wasServing = connections[index].machine.hasAccepted
    connections[index].machine.closed()
    for stream in connections[index].streams.map(\.id) {
      guard let found = end(stream, index) else { continue }
      _ = connections[index].machine.reset()
      settle(found, .ambiguous)
    }
    if !wasServing { health.connectFailed(now: now, random: random.next()) }
  }

  private mutating func end(_ stream: Int, _ index: Int) -> (push: Int, slot: UInt32)? {
    guard let place = connections[index].streams.firstIndex(where: { $0.id == stream }) else {
      return nil
    }
    let found = connections[index].streams.remove(at: place)
    deadlines.remove(found.slot)
    freeSlots.append(found.slot)
    return (found.push, found.slot)
  }

  private mutating func collectAccepted() {
    for index in connections.indices {
      for push in connections[index].gateway.accepted { accepted[push, default: 0] += 1 }
      connections[index].gateway.accepted.removeAll(keepingCapacity: true)
    }
    connections.removeAll { $0.machine.state == .closed }
  }

  // MARK: - Time

  private mutating func expire() {
    while let slot = deadlines.expire(now: now) {
      for index in connections.indices {
        guard let place = connections[index].streams.firstIndex(where: { $0.slot == slot }) else {
          continue
        }
        let stream = connections[index].streams[place].id
        connections[index].gateway.cancel(stream: stream)
        guard let found = end(stream, index) else { break }
        let action = connections[index].machine.timedOut()
        settle(found, .ambiguous)
        perform(action, index)
        break
      }
    }
  }

  private mutating func watch() {
    for index in connections.indices {
      if let pinged = connections[index].pingedAt {
        guard now - pinged >= 10_000 else { continue }
        connections[index].pingedAt = nil
        perform(connections[index].machine.pingTimedOut(), index)
      } else if connections[index].machine.owesSignOfLife,
        now - connections[index].lastHeard >= 10_000
      {
        perform(connections[index].machine.silent(), index)
      } else if connections[index].machine.state == .connecting,
        now - connections[index].lastHeard > 5_000
      {
        lose(index)
      }
    }
    connections.removeAll { $0.machine.state == .closed }
  }

  private mutating func maintain() {
    var load = ConnectionPoolPolicy.Load(
      connecting: 0, serving: 0, credit: 0, openStreams: 0, capacity: 0,
      isWaiting: waitingCount > 0)
    for connection in connections {
      switch connection.machine.state {
      case .connecting: load.connecting += 1
      case .priming, .ready, .suspect:
        load.serving += 1
        if !connection.machine.hasAccepted { load.unproven += 1 }
        load.credit += connection.machine.credit
        load.openStreams += connection.machine.openStreams
        load.capacity += connection.machine.limit
      case .draining, .closed: break
      }
    }
    switch policy.decide(load, health, now: now) {
    case .nothing: break
    case .awaitRoom: fail("there is room")
    case .open:
      if load.connecting + load.serving >= policy.limits.maximum { fail("too many connections") }
      connections.append(
        Connection(gateway: SimulatedGateway(now: now, random: &random), lastHeard: now))
    case .closeOne:
      guard
        let index = connections.indices.min(by: {
          connections[$0].machine.openStreams < connections[$1].machine.openStreams
        })
      else { return fail("nothing there to close") }
      perform(connections[index].machine.retire(), index)
    }
    if random.oneIn(500) { health.renewed() }
  }

  // MARK: - Outcomes

  private mutating func settle(
    _ found: (push: Int, slot: UInt32), _ cause: RetryPolicy.Cause, status: UInt16 = 0
  ) {
    let record = takenIn[Int(found.slot)]
    if cause != .unprocessed { pushes[found.push].attempts += 1 }
    if cause == .ambiguous { pushes[found.push].ambiguous += 1 }
    let push = pushes[found.push]
    switch retries.decide(
      cause, attempts: push.attempts, now: Int64(now), expiresAt: push.expiresAt)
    {
    case .now(let counts):
      if counts == (cause == .unprocessed) { fail("an attempt is counted wrongly") }
      waiting.append((found.push, record.log, record.offset))
    case .tier(let tier):
      logs[1 + Int(tier.rawValue)].records.append((found.push, now + UInt64(tier.delay)))
      complete(record)
    case .deadLetter: finish(found.push, "dead letter", record)
    case .expired: finish(found.push, "expired", record)
    case .final: finish(found.push, status == 200 ? "delivered" : "rejected", record)
    }
  }

  private mutating func finish(_ push: Int, _ outcome: String, _ record: (log: Int, offset: Int64))
  {
    if let before = pushes[push].outcome { fail("\(outcome) after \(before)") }
    pushes[push].outcome = outcome
    complete(record)
  }

  private mutating func complete(_ record: (log: Int, offset: Int64)) {
    if !logs[record.log].ledger.completed(record.offset) { fail("a record completed twice") }
    logs[record.log].open.remove(record.offset)
    if let oldest = logs[record.log].open.min(), logs[record.log].ledger.committable > oldest {
      fail("the commit would pass an open record")
    }
  }

  private mutating func fail(_ text: String) { broken = broken ?? text }

  // MARK: - What must hold

  private mutating func judge() {
    for connection in connections where connection.machine.openStreams != connection.streams.count {
      fail("streams are miscounted")
    }
    for log in logs where log.ledger.holes != log.open.count { fail("holes are miscounted") }
    if waitingCount > 2_048 { fail("the line is not bounded") }
  }

  /// Every push has its outcome.
  var isDone: Bool {
    waitingCount == 0 && logs.allSatisfy { $0.ledger.committable == $0.records.count }
  }

  /// The connections, for a report.
  private var places: String {
    connections.map { "\($0.machine.state) \($0.machine.openStreams)/\($0.machine.limit)" }.joined(
      separator: ", ") + ", connects \(health.mayConnect(now: now)), at \(now)"
  }

  /// What is wrong at the end, or nil.
  var verdict: String? {
    if !isDone { return "it never comes to its end: \(waitingCount) wait, \(places)" }
    for (number, push) in pushes.enumerated() {
      guard let outcome = push.outcome else { return "push \(number) is lost" }
      let times = accepted[number, default: 0]
      if outcome == "delivered" && times == 0 { return "push \(number) was never accepted" }
      // Only an attempt of unknown fate may be a second delivery.
      if times > push.ambiguous + (outcome == "delivered" ? 1 : 0) {
        return "push \(number) was accepted \(times) times with \(push.ambiguous) ambiguous"
      }
    }
    return nil
  }
}
