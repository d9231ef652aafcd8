// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Waiting

/// Connections, and what the dispatcher wants done.
extension LoopModel {
  // MARK: Connections

  func hear(_ world: inout World) {
    let view = GatewayView(
      mood: world.mood, throttled: world.throttled, unregistered: world.unregistered,
      now: world.now)
    for id in connections.keys.sorted() {
      connections[id]!.model.turn(view, &world.chance)
      if world.isCalm { connections[id]!.model.recover(now: world.now, &world.chance) }
      collectAccepted(id, &world)
      while let message = connections[id]?.model.receive(now: world.now) {
        dispatcher.handle(.touched(limit: connections[id]!.limit), of: id)
        process(message, id, &world)
        perform(&world)
      }
    }
  }

  func collectAccepted(_ id: ConnectionID, _ world: inout World) {
    for notification in connections[id]!.model.accepted {
      world.kafka.notifications[notification].accepted += 1
      world.kafka.note("notification \(notification) is accepted")
    }
    connections[id]!.model.accepted.removeAll(keepingCapacity: true)
  }

  func process(_ message: GatewayMessage, _ id: ConnectionID, _ world: inout World) {
    world.kafka.note("sender \(number), pool \(id.pool), connection \(id.index): \(message)")
    switch message {
    case .connected: dispatcher.handle(.connected, of: id)
    case .settings(let limit):
      connections[id]!.limit = limit
      dispatcher.handle(.settings(limit: limit), of: id)
    case .accepted(let slot):
      guard end(slot, id) else { return }
      noteAccepted(slot, by: id.pool, world.now)
      dispatcher.accepted(slot)
    case .refused(let slot, let response, let retryAfter):
      guard end(slot, id) else { return }
      connections[id]!.refusedAt = connections[id]!.refusedAt ?? world.now
      refused(slot, response, retryAfter, &world)
    case .reset(let slot, let isUnprocessed):
      guard end(slot, id) else { return }
      unanswered(slot, isUnprocessed: isUnprocessed, isLost: false, &world)
    case .goAway(let reason, let refused):
      for slot in refused where end(slot, id) {
        unanswered(slot, isUnprocessed: true, isLost: false, &world)
        perform(&world)
      }
      dispatcher.handle(.goAway(reason), of: id)
    case .pong: dispatcher.handle(.ponged, of: id)
    case .lost: lose(id, isFailure: true, &world)
    }
  }

  /// An answer other than 200. What APNs refuses for good goes nowhere else.
  func refused(
    _ slot: UInt32, _ response: GatewayResponse, _ retryAfter: UInt32, _ world: inout World
  ) {
    let notification = taken[slot]?.notification
    lastPut = nil
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
  func end(_ slot: UInt32, _ id: ConnectionID) -> Bool { connections[id]!.open.remove(slot) != nil }

  func unanswered(_ slot: UInt32, isUnprocessed: Bool, isLost: Bool, _ world: inout World) {
    if !isUnprocessed, let push = taken[slot] {
      world.kafka.notifications[push.notification].excusable += 1
    }
    dispatcher.unanswered(slot, isUnprocessed: isUnprocessed, isLost: isLost)
  }

  /// A connection is gone; its open streams end with it.
  func lose(_ id: ConnectionID, isFailure: Bool, _ world: inout World) {
    guard let connected = connections[id] else { return }
    for slot in connected.open.sorted() {
      connections[id]!.open.remove(slot)
      unanswered(slot, isUnprocessed: false, isLost: true, &world)
      perform(&world)
    }
    collectAccepted(id, &world)
    connections[id] = nil
    dispatcher.handle(.closed(isFailure: isFailure), of: id)
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
    case .send(let slot, let id): send(slot, id, &world)
    case .reset(let slot, let id):
      connections[id]?.model.cancel(slot)
      if connections[id]?.open.contains(slot) == true { cancelled.append((slot, id)) }
    case .delivered(let slot, _): put(.receipt(.delivered), slot, &world)
    case .receipt(let slot, let outcome, let cause, _, _):
      judgeSuppressed(slot, cause, &world)
      put(.receipt(outcome), slot, &world)
    case .feedback(let slot, let answer): feedback(slot, answer, &world)
    case .deadLetter(let slot, let reason, _, _):
      if reason == .noCredential { judgeNoCredential(slot, &world) }
      put(.receipt(.deadLettered), slot, &world)
    case .park(let slot, let tier, let reason): park(slot, tier, reason, &world)
    case .returnToLane(let slot, let tier): returnToLane(slot, tier, &world)
    case .exchange(let slot, let other): (taken[slot], taken[other]) = (taken[other], taken[slot])
    case .handBack(let slot):
      if taken.removeValue(forKey: slot) == nil { world.kafka.fail("a push was dropped twice") }
    case .lookUp(let pool, _):
      lookUps.append((world.now + UInt64(world.chance.below(30)), pool))
      lookUps.sort { $0.at < $1.at }
    case .open(let id): open(id, &world)
    case .changeToken(let id):
      connections[id]?.token = dispatcher.connection(id).machine.token
    case .ping(let id):
      connections[id]?.model.ping(
        now: world.now, isSilent: world.mood.whole == .silent, &world.chance)
    case .close(let id): closing.append(id)
    case .abandon(let id): abandoned.append(id)
    case .requestToken(let pool, _): requestToken(pool, &world)
    case .reportSilence(let id): connections[id]?.isSilent = true
    case .openPool, .authorize, .retirePool, .removePool, .requestAppToken, .reportRefusal,
      .reportForeignAnswer, .reportRefusingAddress:
      break
    }
  }

  func send(_ slot: UInt32, _ id: ConnectionID, _ world: inout World) {
    guard let push = taken[slot], connections[id] != nil else {
      return world.kafka.fail("a push was sent that is not there, or nowhere")
    }
    // A GOAWAY that is still to be heard, or stream ids that are used up.
    if world.chance.oneIn(3_000) { return unsent.append(slot) }
    judgeSend(slot, push, id, &world)
    judgePace(slot, push, &world)
    judgeHold(push, &world)
    if isOrdered { judgeOrder(slot, push, &world) }
    taken[slot]!.wasSent = true
    let place = Int(dispatcher.push(slot).origin.partition)
    let isForeign =
      member.isFenced || dispatcher.push(slot).origin.epoch != dispatcher.epoch
      || withoutWindow.contains(place) || push.isUnknown || world.kafka.hasOtherLogs
    world.kafka.arrived(
      push.notification, isExcused: isForeign, statesEnd: isForeign ? 0 : places[place].statesEnd)
    connections[id]!.open.insert(slot)
    if world.mood.whole == .silent, world.chance.oneIn(2) { return }
    let request = GatewayRequest(
      slot: slot, notification: push.notification, app: push.facts.app, device: push.facts.device)
    if let rule = connections[id]!.model.request(
      request, connections[id]!.token, hangs: world.mood.hangingApps, now: world.now, &world.chance)
    {
      world.kafka.fail(rule)
    }
  }

  func park(_ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason, _ world: inout World) {
    guard var facts = taken[slot]?.facts else {
      return world.kafka.fail("a push was moved that is not there")
    }
    facts.attempt = UInt16(clamping: dispatcher.push(slot).life.countedAttempts)
    if reason == .share, let acceptedAt = acceptedAt[facts.app],
      world.now - acceptedAt < Fairness.patience - Fairness.longestTurn
    {
      world.kafka.fail("a push is moved aside although its destination answers")
    }
    switch reason {
    case .credential: if facts.waitedSince == 0 { facts.waitedSince = UInt64(world.wall) }
    case .devicePace:
      facts.waitedSince = UInt64(dispatcher.push(slot).reservedAt) | PushFacts.reserved
    default: facts.waitedSince = 0
    }
    let state = dispatcher.push(slot).state
    let partition = Int32(taken[slot]!.place)
    if let position = state.moving(to: tier, from: partition) {
      facts.state = StateFacts(
        state.identity, of: world.kafka.notifications[taken[slot]!.notification].id,
        isFinal: state.isFinal, urgency: state.urgency, position: position, in: partition)
      // As `Envelope` does.
      let mark = Array(position.text.utf8)
      facts.dedupKey = ReplayMark.mix(
        world.kafka.notifications[taken[slot]!.notification].id, mark.span)
    }
    put(.retry(tier, facts), slot, &world)
  }

  func returnToLane(_ slot: UInt32, _ tier: RetryTier?, _ world: inout World) {
    guard var facts = taken[slot]?.facts, let notification = taken[slot]?.notification else {
      return world.kafka.fail("a push went back to its lane that is not there")
    }
    if let tier {
      // As `OutcomeWriter` and `Envelope` do.
      let place = LanePosition(
        partition: Int32(taken[slot]!.place), offset: dispatcher.push(slot).origin.offset, moves: 0,
        tier: tier)
      facts.dedupKey = ReplayMark.mix(
        world.kafka.notifications[notification].id, Array(place.text.utf8).span)
    }
    put(.lane(facts), slot, &world)
  }

  func open(_ id: ConnectionID, _ world: inout World) {
    let isCertificate =
      if case .certificate? = dispatcher.standing(ofPool: id.pool)?.credential { true } else {
        false
      }
    let address = world.addresses.firstIndex(of: dispatcher.connection(id).address) ?? 0
    connections[id] = Connected(
      model: ConnectionModel(
        address: address, isCertificate: isCertificate, mood: world.mood, now: world.now,
        &world.chance))
    noteConnect(id.pool, to: address, &world)
  }

  /// What was given up or is to be closed ends with the turn.
  func endConnections(_ world: inout World) {
    while let (slot, id) = cancelled.popLast() {
      guard connections[id] != nil, end(slot, id) else { continue }
      unanswered(slot, isUnprocessed: false, isLost: false, &world)
      perform(&world)
    }
    while let id = abandoned.popLast() { lose(id, isFailure: true, &world) }
    while let id = closing.popLast() {
      judgeClose(id, &world)
      lose(id, isFailure: false, &world)
    }
  }

  func feedback(_ slot: UInt32, _ answer: GatewayResponse, _ world: inout World) {
    guard let push = taken[slot] else {
      return world.kafka.fail("feedback about a push that is not there")
    }
    put(
      .feedback(
        DeviceOfApp(app: push.facts.app, device: push.facts.device),
        TokenAnswer(
          status: answer.status, reason: answer.reason?.name ?? "", timestamp: answer.timestamp,
          sentAt: dispatcher.sentAt(slot), at: world.wall)), slot, &world)
  }

  func requestToken(_ pool: Int32, _ world: inout World) {
    guard case .token(let index)? = dispatcher.standing(ofPool: pool)?.credential else { return }
    world.tokens.request(dispatcher.credential(index), at: world.wall)
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
