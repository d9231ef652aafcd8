// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import Pipeline
import Random

/// One process of the sender with one loop: the shipped `Dispatcher`, and an owner that does what it wants done in the
/// models of Kafka and of APNs. A crash is a new one.
final class LoopModel {
  /// A push as the owner holds it.
  private struct Held {
    var facts: PushFacts
    var notification: Int
    var place: Int
  }

  private struct Connected {
    var model: ConnectionModel
    var address: PeerAddress
    var token: ProviderTokenStamp?
    var open: Set<UInt32> = []
    /// Streams that the gateway has said to allow.
    var limit = 1
    var isClosing = false
  }

  /// A record on its way to Kafka.
  private struct Outgoing {
    enum What {
      case receipt(Outcome)
      case feedback
      case retry(RetryTier, PushFacts)
    }
    var what: What
    var notification: Int
    var origin: Origin
    var place: Int
    /// When Kafka has it, and when the acknowledgement is here.
    var storedAt: UInt64
    var acknowledgedAt: UInt64
    var isStored = false
  }

  private(set) var dispatcher: Dispatcher
  let isOrdered: Bool
  private let settings: DispatchSettings
  private var held: [UInt32: Held] = [:]
  private var connections: [Int32: Connected] = [:]
  private var lookUps: [(at: UInt64, pool: Int32)] = []
  private var outgoing: [Outgoing] = []
  private var unsent: [UInt32] = []
  private var closing: [Int32] = []
  private var abandoned: [Int32] = []
  /// Streams that were given up; they end with the turn.
  private var cancelled: [(slot: UInt32, connection: Int32)] = []
  /// By the dispatcher's number: the partition in Kafka, and the next offset to read.
  private var places: [(partition: Int, next: Int64)] = []
  private var tokensRead = 0
  private var certificates: [CertificateBook.Entry]
  /// When connects began since a push was last accepted or a token came, by pool.
  private var connects: [Int32: [UInt64]] = [:]
  /// Partitions that were given back, with how far they are done.
  private(set) var given: [(partition: Int, done: PartitionDone)]?
  private(set) var delivered = 0

  init(
    _ settings: DispatchSettings, _ certificates: [CertificateBook.Entry], now: UInt64,
    wall: Int64, seed: UInt64
  ) {
    self.settings = settings
    self.certificates = certificates
    isOrdered = settings.isOrdered
    dispatcher = Dispatcher(settings, certificates: certificates, now: now, wall: wall, seed: seed)
  }

  // MARK: Turns

  /// One turn of the loop.
  func turn(_ world: inout World) {
    dispatcher.beginTurn(now: world.now, wall: world.wall)
    readTokens(&world)
    dispatcher.applyTokens()
    perform(&world)
    answerLookUps(&world)
    hear(&world)
    acknowledge(&world)
    dispatcher.expireDeadlines()
    perform(&world)
    dispatcher.signalledAll()
    takeRecords(&world)
    dispatcher.takeTurns()
    dispatcher.dispatch()
    perform(&world)
    _ = dispatcher.upkeep()
    perform(&world)
    endConnections(&world)
    commit(&world)
    check(&world)
  }

  private func readTokens(_ world: inout World) {
    guard tokensRead < world.signer.updates.count, world.chance.oneIn(20) else { return }
    let updates = Array(world.signer.updates[tokensRead...])
    tokensRead = world.signer.updates.count
    connects = [:]
    dispatcher.tokensCame(updates, isComplete: true)
  }

  private func answerLookUps(_ world: inout World) {
    while let first = lookUps.first, first.at <= world.now {
      lookUps.removeFirst()
      let fails = !world.isCalm && world.chance.oneIn(100)
      dispatcher.lookedUp(first.pool, fails ? nil : world.addresses)
      perform(&world)
    }
  }

  // MARK: Records

  private func takeRecords(_ world: inout World) {
    let hasRoom = world.isCalm || !world.chance.oneIn(50)
    dispatcher.beginIntake(hasBrokerRoom: hasRoom)
    while let take = dispatcher.nextTake(isProducerOpen: outgoing.count < 5_000) {
      perform(&world)
      var taken = 0
      while taken < take.count, accept(take.partition, &world) { taken += 1 }
      dispatcher.took(taken)
    }
    perform(&world)
  }

  private func accept(_ number: Int, _ world: inout World) -> Bool {
    let (place, offset) = places[number]
    guard let record = world.kafka.read(place, at: offset) else { return false }
    places[number].next += 1
    switch dispatcher.admit(offset, from: number) {
    case .new: break
    case .alreadyCompleted:
      dispatcher.remember(record.facts.takenID, from: number)
      return true
    case .alreadyReceived:
      world.kafka.fail("a record that is new to this assignment is called open")
      return true
    }
    let slot = dispatcher.accept(
      record.facts, offset: offset, from: number, written: record.written)
    if held[slot] != nil { world.kafka.fail("a slot was given twice") }
    held[slot] = Held(facts: record.facts, notification: record.notification, place: place)
    perform(&world)
    return true
  }

  // MARK: Kafka

  private func put(
    _ what: Outgoing.What, _ slot: UInt32, _ world: inout World
  ) {
    guard let push = held.removeValue(forKey: slot) else {
      return world.kafka.fail("a push ended twice")
    }
    // Receipts follow their side records.
    let stored = world.now + UInt64(world.chance.within(1...60))
    let late = world.chance.oneIn(100) ? 5_000 : 40
    outgoing.append(
      Outgoing(
        what: what, notification: push.notification, origin: dispatcher.pushes[slot].origin,
        place: push.place, storedAt: stored,
        acknowledgedAt: stored + UInt64(world.chance.within(1...late))))
  }

  private func acknowledge(_ world: inout World) {
    for index in outgoing.indices where !outgoing[index].isStored {
      guard outgoing[index].storedAt <= world.now else { continue }
      outgoing[index].isStored = true
      store(outgoing[index], &world)
    }
    var index = 0
    while index < outgoing.count {
      guard outgoing[index].isStored, outgoing[index].acknowledgedAt <= world.now else {
        index += 1
        continue
      }
      let record = outgoing[index]
      outgoing.swapAt(index, outgoing.count - 1)
      outgoing.removeLast()
      dispatcher.acknowledged(record.origin)
    }
  }

  private func store(_ record: Outgoing, _ world: inout World) {
    switch record.what {
    case .receipt(let outcome):
      world.kafka.notifications[record.notification].outcomes.append(outcome)
    case .feedback: world.kafka.notifications[record.notification].outcomes.append(.rejected)
    case .retry(let tier, let facts):
      world.kafka.retry(facts, of: record.notification, tier, at: world.wall)
    }
    world.kafka.settle(record.place, record.origin.offset)
  }

  /// What was produced and not yet stored is stored by the time that the process is gone, or never.
  func crash(_ world: inout World) {
    for record in outgoing where !record.isStored && world.chance.oneIn(2) { store(record, &world) }
    for (_, connected) in connections {
      for notification in connected.model.accepted {
        world.kafka.notifications[notification].accepted += 1
      }
    }
  }

  private func commit(_ world: inout World) {
    for report in dispatcher.report() ?? [] {
      guard let done = report.done else { continue }
      if report.jump != nil || report.fault != nil { world.kafka.fail("a log is called cut") }
      world.kafka.commit(places[report.partition].partition, done)
    }
    guard let handed = dispatcher.handOver() else { return }
    for one in handed { world.kafka.commit(places[one.partition].partition, one.done) }
    given = handed.map { (places[$0.partition].partition, $0.done) }
    places = []
  }

  /// The loop's partitions from now on.
  func grant(_ partitions: [Int], _ world: World) {
    given = nil
    for partition in partitions {
      let state = world.kafka.partitions[partition]
      let number = dispatcher.granted(
        GrantedPartition(
          feed: state.feed,
          resume: ResumePoint(next: state.committed ?? 0, completedAbove: state.completedAbove)))
      if number != places.count { preconditionFailure("partitions are numbered in their order") }
      places.append((partition, state.committed ?? 0))
    }
  }

  /// The group wants the partitions back.
  func release(until deadline: UInt64, _ world: inout World) {
    dispatcher.release(until: deadline)
    perform(&world)
  }

  // MARK: Connections

  private func hear(_ world: inout World) {
    for number in connections.keys.sorted() {
      connections[number]!.model.turn(
        world.mood, throttled: world.throttled, now: world.now, &world.chance)
      if world.isCalm { connections[number]!.model.recover(now: world.now, &world.chance) }
      collectAccepted(number, &world)
      while let message = connections[number]?.model.receive(now: world.now) {
        dispatcher.touched(number, limit: connections[number]!.limit)
        process(message, number, &world)
        perform(&world)
      }
    }
  }

  private func collectAccepted(_ number: Int32, _ world: inout World) {
    for notification in connections[number]!.model.accepted {
      world.kafka.notifications[notification].accepted += 1
    }
    connections[number]!.model.accepted.removeAll(keepingCapacity: true)
  }

  private func process(_ message: GatewayMessage, _ number: Int32, _ world: inout World) {
    switch message {
    case .connected: dispatcher.connected(number)
    case .settings(let limit):
      connections[number]!.limit = limit
      dispatcher.settings(number, limit: limit)
    case .accepted(let slot):
      guard end(slot, number) else { return }
      connects[dispatcher.pools.connections[number].pool] = []
      delivered += 1
      dispatcher.accepted(slot)
    case .refused(let slot, let response, let retryAfter):
      guard end(slot, number) else { return }
      dispatcher.refused(slot, response, retryAfter: retryAfter)
    case .reset(let slot, let isUnprocessed):
      guard end(slot, number) else { return }
      unanswered(slot, isUnprocessed: isUnprocessed, isLost: false, &world)
    case .goAway(let reason, let refused):
      for slot in refused where end(slot, number) {
        unanswered(slot, isUnprocessed: true, isLost: false, &world)
        perform(&world)
      }
      dispatcher.goAway(number, reason)
    case .pong: dispatcher.ponged(number)
    case .lost: lose(number, isFailure: true, &world)
    }
  }

  /// Whether the stream was open.
  private func end(_ slot: UInt32, _ number: Int32) -> Bool {
    connections[number]!.open.remove(slot) != nil
  }

  private func unanswered(
    _ slot: UInt32, isUnprocessed: Bool, isLost: Bool, _ world: inout World
  ) {
    if !isUnprocessed, let push = held[slot] {
      world.kafka.notifications[push.notification].excusable += 1
    }
    dispatcher.unanswered(slot, isUnprocessed: isUnprocessed, isLost: isLost)
  }

  /// A connection is gone; its open streams end with it.
  private func lose(_ number: Int32, isFailure: Bool, _ world: inout World) {
    guard let connected = connections[number] else { return }
    for slot in connected.open.sorted() {
      connections[number]!.open.remove(slot)
      unanswered(slot, isUnprocessed: false, isLost: true, &world)
      perform(&world)
    }
    collectAccepted(number, &world)
    connections[number] = nil
    dispatcher.closed(number, isFailure: isFailure)
    perform(&world)
  }

  // MARK: What the dispatcher wants done

  private func perform(_ world: inout World) {
    while true {
      while let action = dispatcher.actions.next() { perform(action, &world) }
      guard let slot = unsent.popLast() else { return }
      dispatcher.notSent(slot)
    }
  }

  private func perform(_ action: Action, _ world: inout World) {
    switch action {
    case .send(let slot, let number): send(slot, number, &world)
    case .reset(let slot, let number):
      connections[number]?.model.cancel(slot)
      if connections[number]?.open.contains(slot) == true { cancelled.append((slot, number)) }
    case .receipt(let slot, let outcome, _, _): put(.receipt(outcome), slot, &world)
    case .feedback(let slot): put(.feedback, slot, &world)
    case .deadLetter(let slot, _, _, _): put(.receipt(.deadLettered), slot, &world)
    case .park(let slot, let tier, let reason): park(slot, tier, reason, &world)
    case .handBack(let slot):
      if held.removeValue(forKey: slot) == nil { world.kafka.fail("a push was dropped twice") }
    case .lookUp(let pool, _):
      lookUps.append((world.now + UInt64(world.chance.below(30)), pool))
      lookUps.sort { $0.at < $1.at }
    case .open(let number): open(number, &world)
    case .changeToken(let number):
      connections[number]?.token = dispatcher.pools.connections[number].machine.token
    case .ping(let number):
      connections[number]?.model.ping(
        now: world.now, isSilent: world.mood.whole == .silent, &world.chance)
    case .close(let number): closing.append(number)
    case .abandon(let number): abandoned.append(number)
    case .openPool, .authorize, .retirePool, .removePool, .requestToken, .requestAppToken,
      .reportRefusal, .reportSilence:
      break
    }
  }

  private func send(_ slot: UInt32, _ number: Int32, _ world: inout World) {
    guard let push = held[slot], connections[number] != nil else {
      return world.kafka.fail("a push was sent that is not there, or nowhere")
    }
    // A GOAWAY that is still to be heard, or stream ids that are used up.
    if world.chance.oneIn(3_000) { return unsent.append(slot) }
    judgeSend(slot, push, number, &world)
    connections[number]!.open.insert(slot)
    if world.mood.whole == .silent, world.chance.oneIn(2) { return }
    let request = GatewayRequest(
      slot: slot, notification: push.notification, app: push.facts.app, device: push.facts.device)
    if let rule = connections[number]!.model.request(
      request, connections[number]!.token, now: world.now, &world.chance)
    {
      world.kafka.fail(rule)
    }
  }

  /// What must hold whenever a push goes out.
  private func judgeSend(_ slot: UInt32, _ push: Held, _ number: Int32, _ world: inout World) {
    if push.facts.expiresAt <= world.wall { world.kafka.fail("a push was sent that has expired") }
    if world.wall - push.facts.created > settings.maxAge(push.facts.lane) {
      world.kafka.fail("a push was sent that is too old")
    }
    let connected = connections[number]!
    if connected.open.count >= connected.limit { world.kafka.fail("a stream above the limit") }
    if connected.isClosing { world.kafka.fail("a push was sent on a connection to be closed") }
    if let token = connected.token, world.wall / 1_000 - token.issuedAt >= 55 * 60 {
      world.kafka.fail("a token of 55 minutes was used")
    }
    guard isOrdered else { return }
    for (_, other) in connections {
      for open in other.open where held[open]?.facts.device == push.facts.device {
        world.kafka.fail("two pushes of one device are open")
      }
    }
  }

  private func park(
    _ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason, _ world: inout World
  ) {
    guard var facts = held[slot]?.facts else {
      return world.kafka.fail("a push was moved that is not there")
    }
    facts.attempt = UInt16(clamping: dispatcher.pushes[slot].life.countedAttempts)
    if reason == .credential, facts.waitedSince == 0 { facts.waitedSince = UInt64(world.wall) }
    if reason != .credential { facts.waitedSince = 0 }
    put(.retry(tier, facts), slot, &world)
  }

  private func open(_ number: Int32, _ world: inout World) {
    let state = dispatcher.pools.connections[number]
    let isCertificate = dispatcher.pools[state.pool].authentication == .certificate
    let address = world.addresses.firstIndex(of: state.address) ?? 0
    connections[number] = Connected(
      model: ConnectionModel(
        address: address, isCertificate: isCertificate, mood: world.mood, now: world.now,
        &world.chance), address: state.address)
    noteConnect(state.pool, &world)
  }

  /// A destination that turns all connections away sees few of them.
  private func noteConnect(_ pool: Int32, _ world: inout World) {
    connects[pool, default: []].append(world.now)
    connects[pool]!.removeAll { world.now - $0 >= 30_000 }
    if connects[pool]!.count > 5 + settings.pool.maximum {
      world.kafka.fail("\(connects[pool]!.count) connects in 30 s without an accepted push")
    }
  }

  /// What was given up or is to be closed ends with the turn.
  private func endConnections(_ world: inout World) {
    while let (slot, number) = cancelled.popLast() {
      guard connections[number] != nil, end(slot, number) else { continue }
      unanswered(slot, isUnprocessed: false, isLost: false, &world)
      perform(&world)
    }
    while let number = abandoned.popLast() { lose(number, isFailure: true, &world) }
    while let number = closing.popLast() { lose(number, isFailure: false, &world) }
  }

  // MARK: What must hold after every step

  private func check(_ world: inout World) {
    if dispatcher.pushes.count != held.count { world.kafka.fail("slots are miscounted") }
    if dispatcher.pushes.count > settings.maxInFlight {
      world.kafka.fail("\(dispatcher.pushes.count) pushes are held")
    }
    if dispatcher.unacknowledged != outgoing.count {
      world.kafka.fail("what Kafka has not acknowledged is miscounted")
    }
    if dispatcher.unacknowledged > settings.unacknowledgedAtMost + settings.maxInFlight {
      world.kafka.fail("\(dispatcher.unacknowledged) outcomes wait for Kafka")
    }
    for (number, connected) in connections
    where dispatcher.pools.connections[number].machine.openStreams != connected.open.count {
      world.kafka.fail("streams are miscounted")
    }
    for place in places.indices
    where dispatcher.partitions[place].open > settings.partitionBounds.openAtMost {
      world.kafka.fail("\(dispatcher.partitions[place].open) records of a partition are open")
    }
  }

  /// How it is, for a report.
  var summary: String {
    let connected = connections.keys.sorted().map { number in
      let state = dispatcher.pools.connections[number]
      return "\(state.pool): \(state.machine.state) \(state.machine.openStreams)"
    }
    return
      "holds \(held.count), on the way to Kafka \(outgoing.count), connections [\(connected.joined(separator: ", "))]"
  }
}
