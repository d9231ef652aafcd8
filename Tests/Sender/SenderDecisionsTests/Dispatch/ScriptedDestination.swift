// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions

/// One destination of the shipped `Dispatcher` in virtual time: an endless backlog of several apps on one partition,
/// and a gateway that does what a test says: it allows four streams on a connection and takes 400 ms for each.
final class ScriptedDestination {
  /// What happens to the nth connection, from 1, at a time.
  var connect: (_ connection: Int, _ now: UInt64) -> ConnectDeed = { _, _ in .served }
  /// What happens to a connect to the nth address, from 0; nil for what happens to the connection.
  var reach: (_ address: Int, _ now: UInt64) -> ConnectDeed? = { _, _ in nil }
  /// The addresses of a look-up, by their number; all in their order unless told.
  var named: (_ now: UInt64) -> [Int]
  /// What happens to a push of an app on the nth connection.
  var push: (_ app: Int, _ connection: Int, _ push: Int) -> GatewayDeed = { _, _, _ in .accepted }
  /// What happens at an address, from 1, to a push of an app; nil for `push`.
  var pushAt: ((_ address: Int, _ app: Int) -> GatewayDeed)?
  /// Seconds that every refusal asks to wait.
  var retryAfter: UInt32 = 0
  /// Whether the gateway answers a PING.
  var answersPings = true
  /// The app of the nth push, from 1.
  var app: (Int) -> Int = { _ in 1 }
  /// Pushes that there are; more come only by raising it.
  var supply = Int.max
  /// Pushes that come with each step.
  var arriving = 0
  /// By how many milliseconds the sender's clock is ahead of those that write records.
  var clockAhead: Int64 = 0
  /// The device of the nth push, from 1.
  var device: (Int) -> Int = { $0 }

  private struct Socket {
    let number: Int
    let address: Int
    let startedAt: UInt64
    /// Whether it has told of TCP, and of TLS.
    var isReached = false
    var isMade = false
    var isUp = false
    /// What is open, in the order of its arrival, and when it arrived.
    var open: [(slot: UInt32, at: UInt64)] = []

    func has(_ slot: UInt32) -> Bool { open.contains { $0.slot == slot } }
  }

  private static let latency: UInt64 = 400
  private static let streams = 4
  private static let epoch: Int64 = 1_760_000_000_000
  private static func address(_ number: Int) -> PeerAddress {
    PeerAddress(bytes: [10, 0, 0, UInt8(number + 1)], port: 443)!
  }

  let step: UInt64
  private(set) var now: UInt64 = 1_000
  private(set) var dispatcher: Dispatcher
  private let hasCertificate: Bool
  private var generation: UInt64 = 0
  private var certificates = 0
  private var sockets: [ConnectionID: Socket] = [:]
  /// By slot: the app and the number of the push in it.
  private var pushes: [UInt32: (app: Int, number: Int)] = [:]
  private var apps: [UInt64] = []
  private var offset: Int64 = 0
  private var lookUps: [Int32] = []
  private var resets: [(slot: UInt32, connection: ConnectionID)] = []
  private var closing: [(connection: ConnectionID, isFailure: Bool)] = []
  private var pongs: [ConnectionID] = []

  /// When each connect began, and to which address.
  private(set) var connects: [UInt64] = []
  private(set) var tried: [Int] = []
  private(set) var lookUpCount = 0
  /// When a push was first delivered.
  private(set) var firstDelivery: UInt64?
  private(set) var sends: [Int: Int] = [:]
  private(set) var delivered: [Int: Int] = [:]
  private(set) var rejected: [Int: Int] = [:]
  private(set) var parked: [Int: Int] = [:]
  /// By address, from 1.
  private(set) var sendsTo: [Int: Int] = [:]
  private(set) var deadLettered = 0
  private(set) var suppressed = 0
  private(set) var sentAgain = 0
  /// The most attempts that were held against a push.
  private(set) var mostCounted = 0

  init(
    seed: UInt64 = 1, authentication: ConnectionStateMachine.Authentication = .providerToken,
    pool: ConnectionPoolPolicy.Limits = .init(starvation: 3_600_000),
    requestTimeout: UInt64 = 10_000, addresses: Int = 1, step: UInt64 = 200
  ) {
    self.step = step
    named = { _ in Array(0..<addresses) }
    var settings = DispatchSettings()
    settings.maxInFlight = 256
    settings.lanes =
      (try? Lanes([.init("transactional", weight: 8, maxAge: 3_600_000)])) ?? .standard
    settings.requestTimeout = requestTimeout
    settings.connectTimeout = 10_000
    settings.pool = pool
    hasCertificate = authentication == .certificate
    apps = (0...1_000).map { AppHash.of("app\($0)".utf8.span) }
    dispatcher = Dispatcher(settings, now: now, wall: Self.epoch, seed: seed)
    _ = dispatcher.granted(
      GrantedPartition(topicKind: .lane(.first), resume: ResumePoint(next: 0)))
    renew()
  }

  private var wall: Int64 { Self.epoch + Int64(now) }

  /// What keeps its pushes back.
  var trouble: DestinationHealth.Trouble? { dispatcher.standing(ofPool: 0)?.health.trouble }

  /// What people are told of that.
  var toldTrouble: DestinationHealth.Trouble? { dispatcher.standing(ofPool: 0)?.trouble }

  /// Connections that serve.
  var open: Int { sockets.values.count(where: \.isUp) }
  /// Connections that there are.
  var held: Int { sockets.count }

  /// The gateway ends all connections in good order.
  func leave(_ reason: Reason? = nil) {
    for number in sockets.keys.sorted() {
      dispatcher.handle(.goAway(reason), of: number)
      perform()
    }
  }

  /// The credential was replaced.
  func renew() {
    dispatcher.beginTurn(now: now, wall: wall)
    if hasCertificate {
      let entry = CertificateBook.Entry(
        apps: (1...10).map { "app\($0)" }, scope: .any, expiresAt: Self.epoch / 1_000 + 864_000)
      dispatcher.updateCertificates([entry], places: certificates == 0 ? [] : [nil])
      certificates = 1
      return perform()
    }
    generation += 1
    let entry = ProviderTokenBook.Entry(
      credential: "key", teamID: "t", keyID: "k", scope: .any, apps: ["*"],
      stamp: .init(issuedAt: wall / 1_000 - 5, generation: generation),
      token: Array("token \(generation)".utf8))
    dispatcher.updateTokens([.token(entry)], isComplete: true)
    dispatcher.applyTokens()
    perform()
  }

  // MARK: Turns

  func run(milliseconds: UInt64) {
    let end = now + milliseconds
    while now < end {
      now += step
      supply += arriving
      turn()
    }
  }

  /// The order of `SenderLoop.turn`.
  private func turn() {
    dispatcher.beginTurn(now: now, wall: wall)
    while let pool = lookUps.popLast() {
      dispatcher.lookedUp(pool, named(now).map(Self.address))
      perform()
    }
    dispatcher.expireDeadlines()
    perform()
    take()
    dispatcher.dispatch()
    perform()
    _ = dispatcher.upkeep()
    perform()
    for number in sockets.keys.sorted() { hear(number) }
    endStreams()
    _ = dispatcher.report()
  }

  private func take() {
    dispatcher.signalledAll()
    dispatcher.beginIntake()
    while let take = dispatcher.nextReadRequest(isProducerOpen: true) {
      perform()
      var count = 0
      while count < take.count, offset < supply, accept() { count += 1 }
      dispatcher.took(count)
    }
    perform()
  }

  private func accept() -> Bool {
    let number = Int(offset) + 1
    let app = self.app(number)
    let facts = PushFacts(
      dedupKey: NotificationID(high: 1, low: UInt64(number)), app: apps[app],
      device: UInt64(device(number)), lane: .first, created: wall - clockAhead,
      expiresAt: .max)
    guard dispatcher.admit(offset, from: 0) == .new else { return false }
    let slot = dispatcher.accept(facts, offset: offset, from: 0, written: wall - clockAhead)
    offset += 1
    pushes[slot] = (app, number)
    perform()
    return true
  }

  // MARK: The gateway

  private func hear(_ number: ConnectionID) {
    guard let socket = sockets[number] else { return }
    dispatcher.handle(.touched(limit: socket.isUp ? Self.streams : 1), of: number)
    guard socket.isUp else { return establish(number, socket) }
    for (slot, at) in socket.open where now - at >= Self.latency {
      // An earlier one may have ended the connection, and all of its streams.
      guard sockets[number]?.has(slot) == true, let push = pushes[slot] else { continue }
      let address = dispatcher.connection(number).address
      let deed =
        pushAt.map { at in at(Int(address.bytes[3]), push.app) }
        ?? self.push(push.app, socket.number, push.number)
      deal(deed, slot, number)
    }
  }

  private func establish(_ number: ConnectionID, _ socket: Socket) {
    switch reach(socket.address, now) ?? connect(socket.number, now) {
    case .served: settle(number)
    case .refused: lose(number, isFailure: true)
    // What is unreachable ends with the turn in which it began.
    case .silence, .unreachable: break
    case .noHello: come(number, isMade: false)
    case .noSettings: come(number, isMade: true)
    case .slow(let stage):
      let stages = (now - socket.startedAt) / stage
      if stages > 0 { come(number, isMade: stages > 1) }
      if stages > 2 { settle(number) }
    case .goAway(let reason):
      come(number, isMade: true)
      dispatcher.handle(.goAway(reason), of: number)
    }
    perform()
  }

  /// TCP is up, and TLS.
  private func come(_ number: ConnectionID, isMade: Bool) {
    if sockets[number]?.isReached == false {
      sockets[number]?.isReached = true
      dispatcher.handle(.advanced, of: number)
    }
    if isMade, sockets[number]?.isMade == false {
      sockets[number]?.isMade = true
      dispatcher.handle(.connected, of: number)
    }
  }

  private func settle(_ number: ConnectionID) {
    come(number, isMade: true)
    sockets[number]?.isUp = true
    dispatcher.handle(.settings(limit: Self.streams), of: number)
  }

  private func deal(_ deed: GatewayDeed, _ slot: UInt32, _ number: ConnectionID) {
    switch deed {
    case .answer(let response):
      close(slot, number)
      if response.verdict == .delivered {
        dispatcher.accepted(slot)
      } else {
        dispatcher.refused(slot, response, retryAfter: retryAfter)
      }
      count(slot)
    case .refusedStream: unanswered(slot, number, isUnprocessed: true)
    case .reset: unanswered(slot, number, isUnprocessed: false)
    case .silence: break
    case .goAway(let reason):
      unanswered(slot, number, isUnprocessed: true)
      dispatcher.handle(.goAway(reason), of: number)
      perform()
    case .broken: lose(number, isFailure: true)
    }
  }

  private func close(_ slot: UInt32, _ number: ConnectionID) {
    sockets[number]?.open.removeAll { $0.slot == slot }
  }

  private func unanswered(
    _ slot: UInt32, _ number: ConnectionID, isUnprocessed: Bool, isLost: Bool = false
  ) {
    close(slot, number)
    dispatcher.unanswered(slot, isUnprocessed: isUnprocessed, isLost: isLost)
    count(slot)
  }

  /// Notes how many attempts count, and does what follows.
  private func count(_ slot: UInt32) {
    mostCounted = max(mostCounted, dispatcher.push(slot).life.countedAttempts)
    perform()
  }

  private func lose(_ number: ConnectionID, isFailure: Bool) {
    guard let socket = sockets[number] else { return }
    for (slot, _) in socket.open { unanswered(slot, number, isUnprocessed: false, isLost: true) }
    sockets[number] = nil
    dispatcher.handle(.closed(isFailure: isFailure), of: number)
    perform()
  }

  /// What the dispatcher gave up ends with the turn, and PINGs are answered.
  private func endStreams() {
    while let (slot, number) = resets.popLast() {
      guard sockets[number]?.has(slot) == true else { continue }
      unanswered(slot, number, isUnprocessed: false)
    }
    while let number = pongs.popLast() {
      guard answersPings, sockets[number] != nil else { continue }
      dispatcher.handle(.ponged, of: number)
      perform()
    }
    while let (number, isFailure) = closing.popLast() { lose(number, isFailure: isFailure) }
  }

  // MARK: What the dispatcher wants done

  private func perform() {
    while let action = dispatcher.nextAction() { perform(action) }
  }

  private func perform(_ action: Action) {
    switch action {
    case .send(let slot, let number): send(slot, number)
    case .reset(let slot, let number): resets.append((slot, number))
    case .delivered(let slot, _):
      end(slot) {
        delivered[$0, default: 0] += 1
        if firstDelivery == nil { firstDelivery = now }
      }
    case .receipt(let slot, let outcome, _, _, _):
      end(slot) {
        if outcome == .rejected { rejected[$0, default: 0] += 1 }
        if outcome == .suppressed { suppressed += 1 }
      }
    case .feedback(let slot, _): end(slot) { rejected[$0, default: 0] += 1 }
    case .park(let slot, _, _): end(slot) { parked[$0, default: 0] += 1 }
    case .deadLetter(let slot, _, _, _): end(slot) { _ in deadLettered += 1 }
    case .lookUp(let pool, _):
      lookUps.append(pool)
      lookUpCount += 1
    case .open(let number): open(number)
    case .ping(let number): pongs.append(number)
    case .close(let number): closing.append((number, false))
    case .abandon(let number): closing.append((number, true))
    default: break
    }
  }

  private func open(_ number: ConnectionID) {
    let address = Int(dispatcher.connection(number).address.low & 0xFF) - 1
    connects.append(now)
    tried.append(address)
    sockets[number] = Socket(number: connects.count, address: address, startedAt: now)
    if reach(address, now) == .unreachable { closing.append((number, true)) }
  }

  private func send(_ slot: UInt32, _ number: ConnectionID) {
    let app = pushes[slot]!.app
    sends[app, default: 0] += 1
    let address = dispatcher.connection(number).address
    sendsTo[Int(address.bytes[3]), default: 0] += 1
    if dispatcher.push(slot).life.sends > 1 { sentAgain += 1 }
    sockets[number]!.open.append((slot, now))
  }

  /// A push has ended, and Kafka has it at once.
  private func end(_ slot: UInt32, _ note: (_ app: Int) -> Void) {
    note(pushes.removeValue(forKey: slot)!.app)
    dispatcher.acknowledged(dispatcher.push(slot).origin)
  }
}
