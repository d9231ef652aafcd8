// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import Pipeline
import Random

/// Connections, and what the dispatcher wants done.
extension LoopModel {
  // MARK: Connections

  func hear(_ world: inout World) {
    let view = GatewayView(
      mood: world.mood, throttled: world.throttled, unregistered: world.unregistered,
      now: world.now)
    for number in connections.keys.sorted() {
      connections[number]!.model.turn(view, &world.chance)
      if world.isCalm { connections[number]!.model.recover(now: world.now, &world.chance) }
      collectAccepted(number, &world)
      while let message = connections[number]?.model.receive(now: world.now) {
        dispatcher.touched(number, limit: connections[number]!.limit)
        process(message, number, &world)
        perform(&world)
      }
    }
  }

  func collectAccepted(_ number: Int32, _ world: inout World) {
    for notification in connections[number]!.model.accepted {
      world.kafka.notifications[notification].accepted += 1
      world.kafka.note("notification \(notification) is accepted")
    }
    connections[number]!.model.accepted.removeAll(keepingCapacity: true)
  }

  func process(_ message: GatewayMessage, _ number: Int32, _ world: inout World) {
    world.kafka.note(
      "sender \(self.number), pool \(dispatcher.destinations.pools.connections[number].pool), connection \(number): \(message)"
    )
    switch message {
    case .connected: dispatcher.connected(number)
    case .settings(let limit):
      connections[number]!.limit = limit
      dispatcher.settings(number, limit: limit)
    case .accepted(let slot):
      guard end(slot, number) else { return }
      noteAccepted(slot, by: dispatcher.destinations.pools.connections[number].pool, world.now)
      dispatcher.accepted(slot)
    case .refused(let slot, let response, let retryAfter):
      guard end(slot, number) else { return }
      connections[number]!.refusedAt = connections[number]!.refusedAt ?? world.now
      refused(slot, response, retryAfter, &world)
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

  /// An answer other than 200. What APNs refuses for good goes nowhere else.
  func refused(
    _ slot: UInt32, _ response: GatewayResponse, _ retryAfter: UInt32, _ world: inout World
  ) {
    let notification = taken[slot]?.notification
    (answer, lastPut) = (response, nil)
    dispatcher.refused(slot, response, retryAfter: retryAfter)
    perform(&world)
    guard response.isForGood else { return }
    if case .retry = lastPut {
      world.kafka.fail("a push that APNs refused for good is tried again")
    } else if taken[slot]?.notification == notification {
      world.kafka.fail("a push that APNs refused for good stays")
    }
  }

  /// Whether the stream was open.
  func end(_ slot: UInt32, _ number: Int32) -> Bool {
    connections[number]!.open.remove(slot) != nil
  }

  func unanswered(
    _ slot: UInt32, isUnprocessed: Bool, isLost: Bool, _ world: inout World
  ) {
    if !isUnprocessed, let push = taken[slot] {
      world.kafka.notifications[push.notification].excusable += 1
    }
    dispatcher.unanswered(slot, isUnprocessed: isUnprocessed, isLost: isLost)
  }

  /// A connection is gone; its open streams end with it.
  func lose(_ number: Int32, isFailure: Bool, _ world: inout World) {
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

  func perform(_ world: inout World) {
    while true {
      while let action = dispatcher.nextAction() { perform(action, &world) }
      guard let slot = unsent.popLast() else { return }
      dispatcher.notSent(slot)
    }
  }

  func perform(_ action: Action, _ world: inout World) {
    world.kafka.note("sender \(number): \(action)")
    switch action {
    case .send(let slot, let number): send(slot, number, &world)
    case .reset(let slot, let number):
      connections[number]?.model.cancel(slot)
      if connections[number]?.open.contains(slot) == true { cancelled.append((slot, number)) }
    case .receipt(let slot, let outcome, _, _): put(.receipt(outcome), slot, &world)
    case .feedback(let slot): feedback(slot, &world)
    case .deadLetter(let slot, let reason, _, _):
      if reason == .noCredential { judgeNoCredential(slot, &world) }
      put(.receipt(.deadLettered), slot, &world)
    case .park(let slot, let tier, let reason): park(slot, tier, reason, &world)
    case .handBack(let slot):
      if taken.removeValue(forKey: slot) == nil { world.kafka.fail("a push was dropped twice") }
    case .lookUp(let pool, _):
      lookUps.append((world.now + UInt64(world.chance.below(30)), pool))
      lookUps.sort { $0.at < $1.at }
    case .open(let number): open(number, &world)
    case .changeToken(let number):
      connections[number]?.token = dispatcher.destinations.pools.connections[number].machine.token
    case .ping(let number):
      connections[number]?.model.ping(
        now: world.now, isSilent: world.mood.whole == .silent, &world.chance)
    case .close(let number): closing.append(number)
    case .abandon(let number): abandoned.append(number)
    case .requestToken(let pool): requestToken(pool, &world)
    case .reportSilence(let number): connections[number]?.isSilent = true
    case .openPool, .authorize, .retirePool, .removePool, .requestAppToken, .reportRefusal,
      .reportForeignAnswer:
      break
    }
  }

  func send(_ slot: UInt32, _ number: Int32, _ world: inout World) {
    guard let push = taken[slot], connections[number] != nil else {
      return world.kafka.fail("a push was sent that is not there, or nowhere")
    }
    // A GOAWAY that is still to be heard, or stream ids that are used up.
    if world.chance.oneIn(3_000) { return unsent.append(slot) }
    judgeSend(slot, push, number, &world)
    if isOrdered { judgeOrder(slot, push, &world) }
    taken[slot]!.wasSent = true
    connections[number]!.open.insert(slot)
    if world.mood.whole == .silent, world.chance.oneIn(2) { return }
    let request = GatewayRequest(
      slot: slot, notification: push.notification, app: push.facts.app, device: push.facts.device)
    if let rule = connections[number]!.model.request(
      request, connections[number]!.token, hangs: world.mood.hangingApps, now: world.now,
      &world.chance)
    {
      world.kafka.fail(rule)
    }
  }

  func park(
    _ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason, _ world: inout World
  ) {
    guard var facts = taken[slot]?.facts else {
      return world.kafka.fail("a push was moved that is not there")
    }
    facts.attempt = UInt16(clamping: dispatcher.work.pushes[slot].life.countedAttempts)
    if reason == .share, let acceptedAt = acceptedAt[facts.app],
      world.now - acceptedAt < Fairness.patience - Fairness.longestTurn
    {
      world.kafka.fail("a push is moved aside although its destination answers")
    }
    if reason == .credential, facts.waitedSince == 0 { facts.waitedSince = UInt64(world.wall) }
    if reason != .credential { facts.waitedSince = 0 }
    put(.retry(tier, facts), slot, &world)
  }

  func open(_ number: Int32, _ world: inout World) {
    let state = dispatcher.destinations.pools.connections[number]
    let isCertificate = dispatcher.destinations.pools[state.pool].authentication == .certificate
    let address = world.addresses.firstIndex(of: state.address) ?? 0
    connections[number] = Connected(
      model: ConnectionModel(
        address: address, isCertificate: isCertificate, mood: world.mood, now: world.now,
        &world.chance), address: state.address)
    noteConnect(state.pool, &world)
  }

  /// What was given up or is to be closed ends with the turn.
  func endConnections(_ world: inout World) {
    while let (slot, number) = cancelled.popLast() {
      guard connections[number] != nil, end(slot, number) else { continue }
      unanswered(slot, isUnprocessed: false, isLost: false, &world)
      perform(&world)
    }
    while let number = abandoned.popLast() { lose(number, isFailure: true, &world) }
    while let number = closing.popLast() {
      judgeClose(number, &world)
      lose(number, isFailure: false, &world)
    }
  }

  func feedback(_ slot: UInt32, _ world: inout World) {
    guard let answer, let push = taken[slot] else {
      return world.kafka.fail("feedback without an answer")
    }
    put(
      .feedback(
        DeviceOfApp(app: push.facts.app, device: push.facts.device),
        TokenAnswer(
          status: answer.status, reason: answer.reason?.name ?? "", timestamp: answer.timestamp,
          sentAt: dispatcher.work.pushes.sentAt(slot), at: world.wall)), slot, &world)
  }

  func requestToken(_ pool: Int32, _ world: inout World) {
    guard case .token(let index) = dispatcher.destinations.pools[pool].credential else { return }
    world.tokens.request(
      dispatcher.destinations.credentials.tokens.entries[index].credential, at: world.wall)
  }
}

extension GatewayResponse {
  /// Whether Apple's documents say that the same request must not be sent again; said here once more, independently of
  /// the decision table. An unknown reason is final with its status.
  var isForGood: Bool {
    guard !isForeign else { return false }
    guard let reason else { return [400, 404, 418].contains(status) }
    let final: [Reason] = [
      .badCollapseId, .badDeviceToken, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
      .deviceTokenNotForTopic, .duplicateHeaders, .invalidPushType, .missingDeviceToken,
      .missingTopic, .payloadEmpty, .badPath, .methodNotAllowed, .expiredToken, .unregistered,
      .payloadTooLarge,
    ]
    return final.contains(reason)
  }
}
