// SPDX-License-Identifier: Apache-2.0

import APNS
import Random

@testable import Delivery

/// What a gateway does to a connection or a push.
enum GatewayDeed: Sendable, Equatable {
  /// An answer.
  case answer(GatewayResponse)
  /// RST_STREAM with REFUSED_STREAM, or with another code.
  case refusedStream, reset
  /// Nothing, until the request times out.
  case silence
  /// GOAWAY with a reason; the push is among those that it does not cover.
  case goAway(Reason?)
  /// The socket breaks.
  case broken

  static func reason(_ reason: Reason) -> GatewayDeed {
    .answer(GatewayResponse(status: reason.rule.status, reason: reason))
  }
  static let accepted = GatewayDeed.answer(GatewayResponse(status: 200))
}

/// What becomes of a connect.
enum ConnectDeed: Sendable, Equatable {
  case served
  /// Refused by TCP or TLS at once.
  case refused
  /// No SETTINGS come.
  case silence
  /// GOAWAY with the first frames.
  case goAway(Reason?)
}

/// One destination in virtual time, with an endless backlog of several apps: the decisions of a sender about
/// connections and pushes, and a gateway that does what a test says. Nothing of Kafka.
struct DestinationModel {
  struct Push {
    var life = PushLife()
    var app: UInt64
    var number: Int
    var failingSince: Int64 = 0
    var sentAt: Int64 = 0
  }

  struct Connection {
    var machine: ConnectionStateMachine
    var startedAt: UInt64
    var number: Int
    var hasLeft = false
    var forsakenAt: UInt64?
    var open: [(slot: UInt32, at: UInt64)] = []
    var isUp = false
  }

  /// What happens to the nth connection, from 1, at a time.
  var connect: (_ connection: Int, _ now: UInt64) -> ConnectDeed = { _, _ in .served }
  /// What happens to a push of an app on the nth connection.
  var push: (_ app: UInt64, _ connection: Int, _ push: Int) -> GatewayDeed = { _, _, _ in .accepted
  }
  /// The app of the nth push.
  var app: (Int) -> UInt64 = { _ in 1 }

  let authentication: ConnectionStateMachine.Authentication
  private(set) var now: UInt64 = 1_000
  private(set) var queue = SendQueue(shares: LaneShares(reserved: 0))
  private var policy = ConnectionPoolPolicy()
  private let retries = RetryPolicy()
  private(set) var connections: [Connection] = []
  private var pushes: [Push] = []
  private var free: [UInt32] = []
  private var random: SeededGenerator

  /// When each connect began.
  private(set) var connects: [UInt64] = []
  private(set) var sends: [UInt64: Int] = [:]
  private(set) var delivered: [UInt64: Int] = [:]
  private(set) var rejected: [UInt64: Int] = [:]
  private(set) var parked: [UInt64: Int] = [:]
  private(set) var deadLettered = 0
  private(set) var sentAgain = 0
  private(set) var mostCounted = 0
  private var numbers = 0

  static let step: UInt64 = 100
  static let requestTimeout: UInt64 = 10_000
  static let connectTimeout: UInt64 = 10_000

  init(seed: UInt64 = 1, authentication: ConnectionStateMachine.Authentication = .providerToken) {
    random = SeededGenerator(seed: seed)
    self.authentication = authentication
  }

  /// The most connects within so many milliseconds, not counting the first ones.
  func mostConnects(within span: UInt64, from begin: Int = 0) -> Int {
    var most = 0
    var first = begin
    for (index, at) in connects.enumerated().dropFirst(begin) {
      while at - connects[first] >= span { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }

  mutating func run(milliseconds: UInt64) {
    let end = now + milliseconds
    while now < end {
      now += Self.step
      for index in connections.indices { turn(index) }
      maintain()
      connections.removeAll { $0.machine.state == .closed && $0.open.isEmpty }
      fill()
      dispatch()
    }
  }

  /// The credential was replaced.
  mutating func renew() { queue.health.renewed() }

  // MARK: Pushes

  private mutating func fill() {
    while queue.count < 24 {
      numbers += 1
      let slot = free.popLast() ?? UInt32(pushes.count)
      if slot == pushes.count { pushes.append(Push(app: 0, number: 0)) }
      pushes[Int(slot)] = Push(app: app(numbers), number: numbers)
      pushes[Int(slot)].life.begin(.transactional, earlier: 0)
      pushes[Int(slot)].life.wait()
      queue.append(slot, .transactional)
    }
  }

  private mutating func end(_ slot: UInt32) {
    pushes[Int(slot)].life.end()
    free.append(slot)
  }

  private mutating func dispatch() {
    let capacity = connections.reduce(0) { $0 + $1.machine.capacity }
    let line = queue.count
    var passed = 0
    while let index = connections.indices.max(by: {
      connections[$0].machine.credit < connections[$1].machine.credit
    }), connections[index].machine.credit > 0, passed < line,
      let slot = queue.next(capacity: capacity, now: now)
    {
      let app = pushes[Int(slot)].app
      let wait = queue.health.hasRefusedApps ? queue.health.wait(app: app, now: now) : 0
      if wait > 0 {
        passed += 1
        queue.ended(.transactional)
        if wait >= 5_000, queue.health.servesOther(than: app) {
          parked[app, default: 0] += 1
          end(slot)
        } else {
          queue.append(slot, .transactional)
        }
        continue
      }
      sends[app, default: 0] += 1
      if pushes[Int(slot)].life.sends > 0 { sentAgain += 1 }
      pushes[Int(slot)].life.send()
      pushes[Int(slot)].sentAt = Int64(now)
      connections[index].machine.opened()
      connections[index].open.append((slot, now))
    }
  }

  // MARK: Connections

  private mutating func turn(_ index: Int) {
    if !connections[index].isUp { return establish(index) }
    for (slot, at) in connections[index].open {
      guard connections[index].open.contains(where: { $0.slot == slot }) else { continue }
      let push = pushes[Int(slot)]
      switch self.push(push.app, connections[index].number, push.number) {
      case .answer(let response): answered(slot, response, index)
      case .refusedStream:
        close(slot, index, .unprocessed) { $0.refused() }
      case .reset: close(slot, index, .ambiguous) { $0.reset() }
      case .silence where now - at >= Self.requestTimeout:
        pushes[Int(slot)].life.timeOut()
        close(slot, index, .ambiguous, isSilent: true) { $0.timedOut() }
      case .silence: break
      case .goAway(let reason):
        goAway(reason, index)
        close(slot, index, .unprocessed) { $0.refused() }
      case .broken: return lose(index)
      }
    }
    if connections[index].machine.isForsaken, connections[index].machine.state == .draining {
      let since = connections[index].forsakenAt ?? now
      connections[index].forsakenAt = since
      if now - since >= ConnectionStateMachine.grace {
        perform(connections[index].machine.graceOver(), index)
      }
    }
  }

  private mutating func establish(_ index: Int) {
    switch connect(connections[index].number, now) {
    case .served:
      connections[index].isUp = true
      connections[index].machine.settings(limit: 10)
      connections[index].machine.connected()
      queue.health.connected()
    case .refused: lose(index)
    case .silence where now - connections[index].startedAt >= Self.connectTimeout: lose(index)
    case .silence: break
    case .goAway(let reason): goAway(reason, index)
    }
  }

  private mutating func goAway(_ reason: Reason?, _ index: Int) {
    if reason?.rule.credential == .stop {
      _ = queue.health.refusedByGoAway(now: now, random: random.next())
    }
    perform(connections[index].machine.goAway(), index)
  }

  private mutating func perform(_ action: ConnectionStateMachine.Action, _ index: Int) {
    switch action {
    case .nothing: break
    case .ping: perform(connections[index].machine.ponged(), index)
    case .close:
      let open = connections[index].open
      connections[index].machine.closed()
      for (slot, _) in open { close(slot, index, .ambiguous) { $0.reset() } }
    }
  }

  private mutating func lose(_ index: Int) {
    connections[index].machine.closed()
    for (slot, _) in connections[index].open {
      close(slot, index, .ambiguous, isNoted: false) { $0.reset() }
    }
    let serving = connections.count { [.priming, .ready, .suspect].contains($0.machine.state) }
    queue.health.lost(isLast: serving == 0, now: now, random: random.next())
  }

  private mutating func maintain() {
    for index in connections.indices { noteLeaving(index) }
    while policy.decide(load, queue.health, now: now) == .open {
      connects.append(now)
      connections.append(
        Connection(
          machine: ConnectionStateMachine(authentication: authentication), startedAt: now,
          number: connects.count))
    }
  }

  private mutating func noteLeaving(_ index: Int) {
    let machine = connections[index].machine
    guard machine.state == .draining || machine.state == .closed, !connections[index].hasLeft else {
      return
    }
    connections[index].hasLeft = true
    guard !machine.isRetired else { return }
    queue.health.connectionEnded(
      hasAccepted: machine.hasAccepted, lived: now - connections[index].startedAt,
      hasOtherAddress: false, now: now, random: random.next())
  }

  private var load: ConnectionPoolPolicy.Load {
    var load = ConnectionPoolPolicy.Load(
      connecting: 0, serving: 0, credit: 0, openStreams: 0, capacity: 0, isWaiting: !queue.isEmpty)
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
    return load
  }

  // MARK: Ends of streams

  private mutating func answered(_ slot: UInt32, _ response: GatewayResponse, _ index: Int) {
    let push = pushes[Int(slot)]
    let machine = connections[index].machine
    guard response.status != 200 else {
      if !machine.hasAccepted { queue.health.connectionAccepted(app: push.app) }
      queue.health.served(sentAt: push.sentAt)
      if queue.health.hasRefusedApps { queue.health.served(app: push.app) }
      return close(slot, index, .answered(.delivered)) { $0.accepted() }
    }
    let reaction = queue.health.answered(
      response, app: push.app,
      on: .init(
        hasAccepted: machine.hasAccepted, startedAt: connections[index].startedAt,
        hasNewestToken: true), sentAt: push.sentAt, retryAfter: 0, now: now, random: random.next())
    close(slot, index, .answered(response.verdict)) {
      $0.answered(status: response.status, connection: reaction.connection)
    }
  }

  private mutating func close(
    _ slot: UInt32, _ index: Int, _ cause: RetryPolicy.Cause, isSilent: Bool = false,
    isNoted: Bool = true,
    _ event: (inout ConnectionStateMachine) -> ConnectionStateMachine.Action
  ) {
    connections[index].open.removeAll { $0.slot == slot }
    let action = event(&connections[index].machine)
    pushes[Int(slot)].life.close(isUnprocessed: cause == .unprocessed)
    queue.ended(.transactional)
    if isNoted, cause == .unprocessed || cause == .ambiguous {
      queue.health.failed(isSilent: isSilent, now: now, random: random.next())
    }
    settle(slot, cause)
    perform(action, index)
  }

  private mutating func settle(_ slot: UInt32, _ cause: RetryPolicy.Cause) {
    let place = Int(slot)
    if cause != .unprocessed, pushes[place].life.sends == 1 {
      pushes[place].failingSince = Int64(now)
    }
    let since = pushes[place].failingSince
    if queue.health.keeps(pushes[place].life, failingSince: since, cause) {
      if cause != .unprocessed { pushes[place].life.spare() }
      pushes[place].life.wait()
      return queue.append(slot, .transactional)
    }
    let attempts = pushes[place].life.countedAttempts
    mostCounted = max(mostCounted, attempts)
    let app = pushes[place].app
    switch retries.decide(
      cause, attempts: attempts, now: Int64(now), expiresAt: nil,
      isAlone: queue.health.works(since: since))
    {
    case .now:
      pushes[place].life.wait()
      if case .answered(.credentialRefused) = cause { return queue.append(slot, .transactional) }
      return queue.prepend(slot, .transactional)
    case .tier: parked[app, default: 0] += 1
    case .deadLetter, .expired: deadLettered += 1
    case .final:
      if cause == .answered(.delivered) {
        delivered[app, default: 0] += 1
      } else {
        rejected[app, default: 0] += 1
      }
    }
    end(slot)
  }
}
