// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewayModel
import HTTP2
import ServiceKit
import Waiting

/// One thread of the gateway: its listeners, its connections and the requests on them.
///
/// This file holds the state and the turn; extensions hold the steps of a turn. Exclusivity checks are off for what
/// every request touches (decision 006): only the loop's own methods access it.
final class SimulatorLoop {
  let settings: SimulatorSettings
  let context: ServiceContext
  let shared: LoopShare
  let tls: TLSContext
  let poller: Poller
  var listeners: [GatewayListener]
  let pool: ServerRequestPool
  let scratch = ConnectionScratch()
  let closing = ClosingSockets()
  var arrivals = Arrivals()
  var connections: [GatewayConnection?] = []
  var freeSlots: [Int] = []
  var touched: [GatewayConnection] = []
  var ready: [UnsafeMutablePointer<ServerRequest>] = []
  var wheel: AnswerWheel
  @exclusivity(unchecked) var answers: Answers
  var customAnswers = CustomAnswers()
  @exclusivity(unchecked) var validators: [PushValidator]
  var knownVersion: Int
  @exclusivity(unchecked) var known: GatewayWorld.Knowledge
  @exclusivity(unchecked) var random: SeededGenerator
  /// Milliseconds of a monotonic clock.
  var now: UInt64
  /// Milliseconds since the epoch.
  var wallNow: Int64
  /// The gateway's offset from the machine's clock, in milliseconds.
  private var clockAhead: Int64 = 0
  private var lastTick: UInt64 = 0
  private var lastIdleCheck: UInt64 = 0
  var drainEnds: UInt64?
  /// The last version of the fault rules that was read.
  var knownFaults = 0
  /// The loop's index among those that receive fault rules.
  let faultPlace: Int
  /// The faults that hold for the whole gateway.
  var standing = StandingFaults()
  /// The actions that follow the response that is being written.
  var sequel = AnswerSequel()
  /// The relay to a real gateway; nil without one.
  let relay: GatewayRelay?
  private let heartbeat: Heartbeat
  private var early: [UnsafeMutablePointer<ServerRequest>] = []

  static let wakeupToken: UInt64 = 0
  static let firstListenerToken: UInt64 = 1
  /// Greater than the listeners' tokens, of which there are at most twelve.
  static let relayToken: UInt64 = 15
  static let firstConnectionToken: UInt64 = 16
  private static let tickInterval: UInt64 = 100

  init(
    _ settings: SimulatorSettings, _ context: ServiceContext, _ share: LoopShare, tls: TLSContext,
    listeners: [GatewayListener], name: String
  ) throws(SystemError) {
    self.settings = settings
    self.context = context
    self.tls = tls
    self.listeners = listeners
    shared = share
    pool = ServerRequestPool(keepsContent: !settings.isFast)
    answers = Answers()
    knownVersion = share.world.version
    known = share.world.known
    validators = Self.validators(known, share.world.sharedChecks)
    random = SeededGenerator(seed: MonotonicClock.nanoseconds())
    now = MonotonicClock.milliseconds()
    wallNow = WallClock.milliseconds()
    wheel = AnswerWheel(now: now)
    let poller = try Poller()
    self.poller = poller
    relay = share.relay.map { GatewayRelay($0, poller, token: Self.relayToken) }
    for (index, listener) in listeners.enumerated() {
      try poller.add(listener.fd, token: Self.firstListenerToken + UInt64(index), .readable)
    }
    try poller.add(share.commands.wakeup.fd, token: Self.wakeupToken, .readable)
    context.signals.subscribe(share.commands.wakeup)
    faultPlace = share.faults.subscribe(share.commands.wakeup)
    heartbeat = context.status.heartbeat(name)
  }

  /// Serves until a stop is requested and all open requests are answered, or the drain timeout has passed.
  func run() {
    var events: [ReadyEvent] = []
    while !isDone {
      poller.wait(timeoutMilliseconds: timeout, into: &events)
      now = MonotonicClock.milliseconds()
      heartbeat.beat(now)
      look()
      for event in events { handle(event) }
      if !arrivals.isEmpty { admitArrivals() }
      if relay != nil { turnRelay() }
      // Changes made before a request was sent must apply to it; both may have happened since the turn started.
      look()
      pool.drainReady(into: &ready)
      if !ready.isEmpty {
        take()
        if relay != nil { turnRelay() }
      }
      if knownFaults != 0 { answerEarlyRequests(&early) }
      answerDueRequests()
      tickConnections()
      endIdleConnections()
      flush()
      closing.turn(now: now)
      if drainEnds == nil, context.signals.isStopping { drain() }
    }
    for connection in connections { connection?.http.close() }
    context.status.end(heartbeat)
  }

  /// Reads the clock and the changes made by the admin API.
  private func look() {
    let ahead = shared.world.clockAhead
    if ahead != clockAhead {
      clockAhead = ahead
      for place in validators.indices { validators[place].clockAhead = ahead }
    }
    wallNow = WallClock.milliseconds() + ahead + standing.clockSkew
    if shared.faults.version != knownFaults { updateFaults() }
    if shared.world.version != knownVersion { updateRules() }
  }

  private var timeout: Int32 {
    let isPatient = !needsTicks && !(1..<10_000).contains(known.rules.idleTimeout)
    let longest: UInt64 =
      if !arrivals.isEmpty {
        Arrivals.interval
      } else if drainEnds != nil || !closing.isEmpty {
        ClosingSockets.interval
      } else {
        isPatient ? 1_000 : Self.tickInterval
      }
    return Int32(min(wheel.wait(from: now) ?? longest, longest))
  }

  private var isDone: Bool {
    guard let drainEnds else { return false }
    return now >= drainEnds || freeSlots.count == connections.count
  }

  func updateRules() {
    knownVersion = shared.world.version
    let before = known.rules
    known = shared.world.known
    standing.change(&known.rules)
    validators = Self.validators(known, shared.world.sharedChecks, standing)
    for place in validators.indices { validators[place].clockAhead = clockAhead }
    guard known.rules != before else { return }
    for case let connection? in connections {
      connection.http.faulty?.endsAboveLimit = known.rules.streamAboveLimit == .goAway
      guard let limit = connection.model?.changed(known.rules) else { continue }
      connection.announce(limit)
      touch(connection)
    }
  }

  /// One validator per environment, in the order of their raw values.
  private static func validators(
    _ known: GatewayWorld.Knowledge, _ shared: SharedChecks,
    _ faults: StandingFaults = StandingFaults()
  ) -> [PushValidator] {
    Environment.allCases.map {
      PushValidator(
        keys: faults.keys(known.keys, $0), devices: known.devices, environment: $0,
        rules: known.rules, shared: shared)
    }
  }

  private func handle(_ event: ReadyEvent) {
    switch event.token {
    case Self.wakeupToken:
      shared.commands.wakeup.clear()
      for command in shared.commands.drain() { handle(command) }
    case Self.relayToken where relay != nil: relay?.socketReady(event)
    case ..<Self.firstConnectionToken: accept(Int(event.token - Self.firstListenerToken))
    default:
      guard let connection = connections[Int(event.token - Self.firstConnectionToken)] else {
        return
      }
      connection.http.socketReady(
        readable: event.readable, writable: event.writable, hangup: event.hangup)
      noteHandshake(of: connection)
      if !connection.isReady, connection.http.isConnected, !settings.isFast {
        connection.isReady = true
        if let problem = connection.access.certificate?.problem, connection.isRefused {
          connection.http.sendGoAway(lastStreamID: 0, debug: Self.words(problem))
        }
        connectionReady(connection)
      }
      touch(connection)
    }
  }

  private func tickConnections() {
    guard needsTicks, now >= lastTick + Self.tickInterval else { return }
    lastTick = now
    applyStandingFaults()
    for case let connection? in connections { tick(connection) }
  }

  private func endIdleConnections() {
    guard !settings.isFast, known.rules.idleTimeout > 0, now >= lastIdleCheck + Self.tickInterval
    else { return }
    lastIdleCheck = now
    for case let connection? in connections {
      let isIdle = connection.model?.isIdle(
        openStreams: connection.http.openStreams, known.rules, now: wallNow)
      guard isIdle == true else { continue }
      if known.rules.idleEnd == .goAway {
        end(connection, .idleTimeout)
      } else {
        connection.http.goSilent()
        shared.counters.add(.forgotten)
      }
    }
  }
}
