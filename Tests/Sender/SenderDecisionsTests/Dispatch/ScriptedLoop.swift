// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Testing

/// One loop of the sender, the shipped `Dispatcher`, in virtual time: a test produces records to its lanes, says what each
/// address of the gateway does, and looks at what became of each push. Kafka takes everything at once; records that
/// are moved to a retry topic come back from there when they are due.
///
/// It goes on where `ScriptedDestination` does not: that one has a backlog without an end, and says how a destination
/// fares.
final class ScriptedLoop {
  struct Record {
    let number: Int
    var facts: PushFacts
    let written: Int64
    /// It says that an id is free again, and nothing else.
    var freed: NotificationID?
  }

  struct Log {
    let topicKind: TopicKind
    var records: [Record] = []
    var read = 0
  }

  static let epoch: Int64 = 1_760_000_000_000

  var gateways: [ScriptedGateway]
  /// The addresses of a look-up, by their places in `gateways`; all of them unless told.
  var named: [Int]?
  /// Kafka acknowledges what pushes end in.
  var isAcknowledged = true

  private(set) var now: UInt64 = 100_000
  var dispatcher: Dispatcher
  var logs: [Log] = []
  private let partitionsOfALane: Int
  private var apps: [UInt64: String] = [:]
  var generation: UInt64 = 0
  /// By slot: the number and the facts of the push in it.
  private var taken: [UInt32: Record] = [:]
  var sockets: [ConnectionID: ScriptedSocket] = [:]
  private var lookUps: [Int32] = []
  var resets: [(slot: UInt32, connection: ConnectionID)] = []
  var closing: [(connection: ConnectionID, isFailure: Bool)] = []
  var pings: [ConnectionID] = []
  private var producedAt: [Int: UInt64] = [:]
  private var outcomes: [Origin] = []

  /// All requests, in their order.
  private(set) var requests: [ScriptedRequest] = []
  private(set) var endings: [Int: Ending] = [:]
  private(set) var moves: [Move] = []
  private(set) var handedBack: [Int] = []
  /// When each connect began, and to which address.
  private(set) var connects: [(at: UInt64, address: Int)] = []
  /// Names that were looked up.
  private(set) var lookUpCount = 0
  /// The answers for which newer provider tokens were asked for, and how often an app's first one was.
  private(set) var tokenRequests: [GatewayResponse] = []
  private(set) var appTokenRequests = 0
  /// The most streams that were open on one connection, and how often that was more than it allowed.
  private(set) var mostOpen = 0
  private(set) var violations = 0
  /// What may be committed, by partition.
  private(set) var committable: [Int: Int64] = [:]
  private(set) var given: [HandedOverPartition]?

  /// - Parameters:
  ///   - addresses: of the gateway.
  ///   - partitions: of each lane; their numbers come first, the transactional lane's before those of bulk.
  ///   - hasToken: `app` has a provider token from the start.
  init(
    addresses: Int = 1, partitions: Int = 1, seed: UInt64 = 1, hasToken: Bool = true,
    _ change: (inout DispatchSettings) -> Void = { _ in }
  ) {
    gateways = Array(repeating: ScriptedGateway(), count: addresses)
    partitionsOfALane = partitions
    var settings = DispatchSettings()
    change(&settings)
    dispatcher = Dispatcher(settings, now: now, wall: Self.epoch + Int64(now), seed: seed)
    for lane in settings.lanes.all {
      for _ in 0..<partitions { grant(.lane(lane)) }
    }
    for tier in RetryTier.allCases { grant(.retries(tier)) }
    if hasToken { publishToken() }
  }

  /// What the owner before took of the first partition was read again.
  func inherit(_ window: DedupWindow) { dispatcher.inherit(window, by: 0, isWhole: true) }

  private func grant(_ topicKind: TopicKind) {
    #expect(
      dispatcher.granted(.init(topicKind: topicKind, resume: ResumePoint(next: 0))) == logs.count)
    logs.append(Log(topicKind: topicKind))
  }

  var wall: Int64 { Self.epoch + Int64(now) }

  // MARK: Records

  /// Produces these pushes, spread over the lane's partitions by their numbers, each to a device of its own.
  func produce(
    _ numbers: Range<Int>, app: String = "app", lane: Lane = .first,
    _ change: (inout PushFacts) -> Void = { _ in }
  ) {
    for number in numbers { produce(number, app: app, lane: lane, change) }
  }

  func produce(
    _ number: Int, app: String = "app", lane: Lane = .first,
    _ change: (inout PushFacts) -> Void = { _ in }
  ) {
    let hash = AppHash.of(app.utf8.span)
    apps[hash] = app
    var facts = PushFacts(
      dedupKey: NotificationID(high: 1, low: UInt64(number)), app: hash, device: UInt64(number),
      lane: lane, created: wall, expiresAt: .max)
    change(&facts)
    let first = Int(lane.place) * partitionsOfALane
    producedAt[number] = now
    logs[first + number % partitionsOfALane].records.append(
      Record(number: number, facts: facts, written: wall))
  }

  /// Produces a push to the first retry topic, as if it had been moved there.
  func produceRetry(_ number: Int, _ change: (inout PushFacts) -> Void = { _ in }) {
    let hash = AppHash.of("app".utf8.span)
    apps[hash] = "app"
    var facts = PushFacts(
      dedupKey: NotificationID(high: 1, low: UInt64(number)), app: hash, device: UInt64(number),
      lane: .first, created: wall, expiresAt: .max)
    change(&facts)
    let place = logs.firstIndex { $0.topicKind == .retries(.seconds5) }!
    logs[place].records.append(Record(number: number, facts: facts, written: wall))
  }

  /// Records that were not read.
  func unread(of partition: Int = 0) -> Int { logs[partition].records.count - logs[partition].read }

  // MARK: What became of them

  func count(_ outcome: Outcome) -> Int { endings.values.count { $0.outcome == outcome } }

  /// Whether each of these was delivered, with so many attempts at most.
  func delivered(_ numbers: Range<Int>, attempts: Int = .max) -> Bool {
    numbers.allSatisfy { endings[$0]?.outcome == .delivered && endings[$0]!.attempts <= attempts }
  }

  func requests(of push: Int) -> [ScriptedRequest] { requests.filter { $0.push == push } }

  /// How long a push took from being produced to its end, in milliseconds; nil while it has none.
  func latency(of number: Int) -> Int64? {
    guard let ending = endings[number], let produced = producedAt[number] else { return nil }
    return Int64(ending.at) - Int64(produced)
  }

  /// Connections that serve.
  var open: Int { sockets.values.count(where: \.isUp) }

  func counted(_ counter: SenderCounter) -> Int { dispatcher.counts[counter] }

  /// Pushes that were taken and have not ended.
  var held: Int { dispatcher.pushCount }
  var pools: Int { dispatcher.poolNumbers.count }
  var isStopping: Bool { dispatcher.isStopping }
  /// Outcomes that Kafka has not acknowledged.
  var unacknowledged: Int { dispatcher.unacknowledged }

  // MARK: Turns

  /// - Parameter step: milliseconds of a turn.
  func run(milliseconds: UInt64, step: UInt64 = 10) {
    let end = now + milliseconds
    while now < end { turn(step) }
  }

  /// Runs until something is so.
  ///
  /// - Returns: whether it is.
  func run(within milliseconds: UInt64 = 60_000, until condition: () -> Bool) -> Bool {
    let end = now + milliseconds
    while !condition() {
      guard now < end else { return false }
      turn(10)
    }
    return true
  }

  /// Runs until so many pushes have ended.
  func runToEnd(of count: Int, within milliseconds: UInt64 = 60_000) -> Bool {
    run(within: milliseconds) { endings.count >= count }
  }

  /// The order of `SenderLoop.turn`.
  private func turn(_ step: UInt64) {
    now += step
    dispatcher.beginTurn(now: now, wall: wall)
    for id in sockets.keys.sorted() { hear(id) }
    while let pool = lookUps.popLast() {
      let places = named ?? Array(gateways.indices)
      dispatcher.lookedUp(pool, places.isEmpty ? nil : places.map(Self.address))
      perform()
    }
    dispatcher.applyTokens()
    perform()
    if isAcknowledged {
      for origin in outcomes { dispatcher.acknowledged(origin) }
      outcomes.removeAll(keepingCapacity: true)
    }
    dispatcher.expireDeadlines()
    perform()
    take()
    dispatcher.dispatch()
    perform()
    _ = dispatcher.upkeep()
    perform()
    endStreams()
    for report in dispatcher.report() ?? [] {
      if let done = report.done { committable[report.partition] = done.committable }
    }
    if let given = dispatcher.handOver() { self.given = given }
  }

  private func take() {
    dispatcher.signalledAll()
    dispatcher.beginIntake()
    while let take = dispatcher.nextReadRequest(isProducerOpen: true) {
      perform()
      var count = 0
      while count < take.count, accept(take.partition) { count += 1 }
      dispatcher.took(count)
    }
    perform()
  }

  private func accept(_ partition: Int) -> Bool {
    let offset = logs[partition].read
    guard offset < logs[partition].records.count else { return false }
    let record = logs[partition].records[offset]
    logs[partition].read += 1
    if let freed = record.freed {
      dispatcher.free(freed, at: Int64(offset), from: partition)
      return true
    }
    guard dispatcher.admit(Int64(offset), from: partition) == .new else { return false }
    let slot = dispatcher.accept(
      record.facts, offset: Int64(offset), from: partition, written: record.written)
    taken[slot] = record
    perform()
    return true
  }

  // MARK: Partitions are asked back

  func drain(within milliseconds: UInt64) {
    dispatcher.drain(until: now + milliseconds)
    perform()
  }

  func shortenDrain(to milliseconds: UInt64) { dispatcher.shortenDrain(until: now + milliseconds) }

  func stop(within milliseconds: UInt64) {
    dispatcher.drain(until: now + milliseconds, isLast: true)
    perform()
  }

  // MARK: Actions

  func perform() {
    while let action = dispatcher.nextAction() { perform(action) }
  }

  private func perform(_ action: Action) {
    switch action {
    case .send(let slot, let id): send(slot, id)
    case .reset(let slot, let id): resets.append((slot, id))
    case .delivered(let slot, let ending): end(slot, .delivered, nil, nil, ending.attempts)
    case .receipt(let slot, let outcome, let cause, let answer, let ending):
      #expect(dispatcher.push(slot).origin == ending.origin)
      end(slot, outcome, cause, answer, ending.attempts)
    case .feedback(let slot, let answer):
      end(slot, .rejected, nil, answer, dispatcher.push(slot).life.attempts)
    case .park(let slot, let tier, let reason): move(slot, tier, reason)
    case .deadLetter(let slot, _, let cause, let answer):
      end(slot, .deadLettered, cause, answer, dispatcher.push(slot).life.attempts)
    case .returnToLane(let slot, let tier): returnToLane(slot, from: tier)
    case .exchange(let slot, let other): (taken[slot], taken[other]) = (taken[other], taken[slot])
    case .handBack(let slot): handedBack.append(taken.removeValue(forKey: slot)!.number)
    case .lookUp(let pool, _):
      lookUps.append(pool)
      lookUpCount += 1
    case .open(let id): open(id)
    case .changeToken(let id): sockets[id]!.token = dispatcher.token(ofPool: id.pool)
    case .ping(let id): pings.append(id)
    case .close(let id): closing.append((id, false))
    case .abandon(let id): closing.append((id, true))
    case .requestToken(_, let answer): tokenRequests.append(answer)
    case .requestAppToken: appTokenRequests += 1
    case .openPool, .authorize, .retirePool, .removePool, .reportRefusal, .reportSilence,
      .reportRefusingAddress, .reportForeignAnswer:
      break
    }
  }

  private func open(_ id: ConnectionID) {
    let address = Int(dispatcher.connection(id).address.bytes[3]) - 1
    connects.append((now, address))
    let deed = gateways[address].connect(now)
    sockets[id] = ScriptedSocket(
      number: connects.count, address: address, startedAt: now, deed: deed)
    if deed == .unreachable { closing.append((id, true)) }
  }

  private func send(_ slot: UInt32, _ id: ConnectionID) {
    let record = taken[slot]!
    sockets[id]!.opened += 1
    // No copy of the socket is held: its streams would be copied with each of them.
    let (number, address) = (sockets[id]!.number, sockets[id]!.address)
    let (open, limit) = (sockets[id]!.streams.count, sockets[id]!.limit)
    let request = ScriptedRequest(
      push: record.number, app: apps[record.facts.app]!, device: record.facts.device,
      environment: record.facts.environment, address: address, connection: number,
      stream: sockets[id]!.opened, at: now, token: sockets[id]!.token)
    requests.append(request)
    sockets[id]!.streams.append(
      ScriptedSocket.Stream(
        slot: slot, number: request.stream, reply: gateways[address].reply(request), at: now))
    mostOpen = max(mostOpen, open + 1)
    if open >= limit { violations += 1 }
  }

  private func move(_ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason) {
    let record = taken.removeValue(forKey: slot)!
    var facts = record.facts
    facts.attempt = UInt16(dispatcher.push(slot).life.countedAttempts)
    switch reason {
    case .credential: if facts.waitedSince == 0 { facts.waitedSince = UInt64(wall) }
    case .devicePace:
      facts.waitedSince = UInt64(dispatcher.push(slot).reservedAt) | PushFacts.reserved
    default: facts.waitedSince = 0
    }
    let state = dispatcher.push(slot).state
    if let position = state.moving(to: tier, from: 0) {
      facts.state = StateFacts(
        state.identity, isFinal: state.isFinal, urgency: state.urgency, position: position)
      facts.state.push = state.push
      facts.dedupKey = ReplayMark.mix(
        NotificationID(high: 1, low: UInt64(record.number)), Array(position.text.utf8).span)
    }
    moves.append(Move(push: record.number, tier: tier, reason: reason, at: now))
    let place = logs.firstIndex { $0.topicKind == .retries(tier) }!
    logs[place].records.append(Record(number: record.number, facts: facts, written: wall))
    outcomes.append(dispatcher.push(slot).origin)
  }

  private func returnToLane(_ slot: UInt32, from tier: RetryTier?) {
    var record = taken.removeValue(forKey: slot)!
    let place = UInt64(dispatcher.push(slot).origin.offset) * 4 + UInt64(tier?.rawValue ?? 0) + 4
    if tier != nil { record.facts.dedupKey = .init(high: place, low: UInt64(record.number)) }
    logs[Int(record.facts.lane.place) * partitionsOfALane + record.number % partitionsOfALane]
      .records.append(Record(number: record.number, facts: record.facts, written: wall))
    outcomes.append(dispatcher.push(slot).origin)
  }

  private func end(
    _ slot: UInt32, _ outcome: Outcome, _ cause: ReceiptCause?, _ answer: GatewayResponse?,
    _ attempts: Int
  ) {
    let (number, origin) = (taken.removeValue(forKey: slot)!.number, dispatcher.push(slot).origin)
    #expect(endings[number] == nil, "push \(number) ended twice")
    endings[number] = Ending(
      outcome: outcome, cause: cause, answer: answer, attempts: attempts, at: now)
    outcomes.append(origin)
  }
}
