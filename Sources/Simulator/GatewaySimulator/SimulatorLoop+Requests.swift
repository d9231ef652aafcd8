// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import HTTP2
import ServiceKit
import Synchronization
import Waiting

extension SimulatorLoop {
  /// Judges the requests that became complete in this turn and plans their responses.
  func take() {
    shared.counters.add(.requests, ready.count)
    for request in ready {
      var delay = known.latency == .none ? 0 : known.latency.milliseconds(random.next())
      // A request that was cancelled before this counts as never processed.
      if !settings.isFast, request.pointee.isAlive { delay = examine(request, delay) }
      if delay == Self.relayed { continue }
      if delay == 0 {
        answer(request)
      } else {
        request.pointee.due = now + delay
        wheel.add(request)
      }
    }
  }

  /// Used instead of a delay if the relay answers.
  private static let relayed = UInt64.max

  /// Judges and records a request, and leaves what its response needs in the scratch memory. Returns the delay of the
  /// response in ms.
  private func examine(_ request: UnsafeMutablePointer<ServerRequest>, _ delay: UInt64) -> UInt64 {
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    guard let connection = connections[slot] else { return delay }
    guard !connection.isRefused else {
      request.pointee.verdict = EncodedVerdict.silence
      return 0
    }
    connection.requests += 1
    connection.model?.received(now: wallNow)
    let push = fields(of: request, on: connection)
    let kind = Self.kind(of: push, on: connection)
    var reply: ChannelReply?
    let isReadable = request.pointee.headerListSize <= connection.headerListLimit
    let judgement = isReadable ? judge(push, kind, connection, &reply) : PushJudgement()
    if judgement.isAuthenticated { connection.isAuthenticated = true }
    let id = identify(request, push, connection.role, kind)
    var plan =
      isReadable
      ? plan(judgement, reply, request, delay)
      : AnswerPlan(verdict: .custom(headersTooLarge(request, kind)), delay: delay)
    if known.rules.capacity > 0 { queue(&plan) }
    requestJudged(request, push, on: connection, &plan)
    if plan.isProcessed, let change = judgement.channelChange {
      let refusal = shared.world.channels.withLock { $0.apply(change, known.rules, now: wallNow) }
      if let refusal, !plan.isReplaced {
        (plan.verdict, plan.isProcessed) = (.refused(refusal), false)
      }
    }
    if kind == .push, let relay {
      self.relay(request, push, connection, plan, to: relay)
      plan.delay = Self.relayed
    } else {
      request.pointee.verdict =
        encode(plan.verdict, request.pointee.scratch)
        | (kind == .push ? 0 : EncodedVerdict.channelMark)
    }
    let fate = kind == .push && plan.isProcessed ? accept(push, id, judgement.device) : nil
    record(request, push, connection, plan.verdict, kind, id, fate, judgement.isBrokenJSON)
    return plan.delay
  }

  /// With a limited capacity the gateway processes one request at a time, across all loops.
  private func queue(_ plan: inout AnswerPlan) {
    let (capacity, most, now) = (known.rules.capacity, known.rules.queue, now)
    let wait = shared.world.withExchange { $0.work.take(capacity: capacity, most: most, now: now) }
    if let wait {
      plan.delay += wait
    } else {
      plan.verdict = .refused(Refusal(.serviceUnavailable))
      plan.isProcessed = false
    }
  }

  /// The fields of a request; without a topic it has that of a certificate with only one.
  func fields(
    of request: UnsafeMutablePointer<ServerRequest>, on connection: GatewayConnection
  ) -> PushFields {
    var push = PushFields(request.pointee)
    push.assumeTopic(of: connection.access.certificate)
    return push
  }

  /// The kind of a request, by its listener and path.
  static func kind(of push: PushFields, on connection: GatewayConnection) -> RequestKind {
    guard connection.role.service == .device else { return .management }
    return push.path(after: broadcasts) == nil ? .push : .broadcast
  }

  private static let broadcasts: StaticString = "/4/broadcasts/apps/"

  /// The response to a header list larger than the SETTINGS allow (RFC 6585 §5).
  private func headersTooLarge(
    _ request: UnsafeMutablePointer<ServerRequest>, _ kind: RequestKind
  ) -> CustomAnswer {
    let name = kind == .push ? "apns-id" : "apns-request-id"
    return CustomAnswer(
      status: 431, headers: [(name: name, value: Answers.identifier(in: request))])
  }

  private func judge(
    _ push: PushFields, _ kind: RequestKind, _ connection: GatewayConnection,
    _ reply: inout ChannelReply?
  ) -> PushJudgement {
    let place = Int(connection.role.environment.rawValue)
    if let refusal = serviceRefusal(kind) {
      var judgement = PushJudgement()
      judgement.refusal = refusal
      return judgement
    }
    if kind == .push { return validators[place].judge(push, &connection.access, now: wallNow) }
    // A lock is fine here: broadcasts are few, and management requests fewer.
    return shared.world.channels.withLock { channels in
      if kind == .broadcast, let app = push.path(after: Self.broadcasts) {
        return validators[place].judgeBroadcast(
          push, app: app, &connection.access, channels, now: wallNow)
      }
      let (judgement, made) = validators[place].judgeManagement(
        push, &connection.access, channels, newID: newChannelID, now: wallNow)
      reply = made
      return judgement
    }
  }

  private func serviceRefusal(_ kind: RequestKind) -> Refusal? {
    switch known.service {
    case .normal: nil
    case .failing: Refusal(.internalServerError)
    case .unavailable:
      // Apple's page about broadcasts writes it with a space.
      Refusal(kind == .push ? .serviceUnavailable : .serviceUnavailableSpaced)
    case .shutdown: Refusal(.shutdown)
    }
  }

  private func newChannelID() -> String {
    let id = random.nextID()
    return ChannelID.text(id)
  }

  private func plan(
    _ judgement: PushJudgement, _ reply: ChannelReply?,
    _ request: UnsafeMutablePointer<ServerRequest>, _ delay: UInt64
  ) -> AnswerPlan {
    if judgement.isSilent { return AnswerPlan(verdict: .silence, delay: 0) }
    if let refusal = judgement.refusal {
      return AnswerPlan(verdict: .refused(refusal), delay: delay)
    }
    guard let reply else { return AnswerPlan(verdict: .accepted, delay: delay, isProcessed: true) }
    var headers = [(name: "apns-request-id", value: Answers.identifier(in: request))]
    if let id = reply.channelID { headers.append(("apns-channel-id", id)) }
    if !reply.body.isEmpty { headers.append(("content-type", "application/json")) }
    return AnswerPlan(
      verdict: .custom(CustomAnswer(status: reply.status, headers: headers, body: reply.body)),
      delay: delay, isProcessed: true)
  }

  /// Writes the ids of the response to the scratch memory.
  func identify(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields, _ role: ListenerRole,
    _ kind: RequestKind
  ) -> SpelledID {
    let scratch = request.pointee.scratch
    if role.environment == .sandbox || kind == .broadcast {
      random.nextID().write(to: scratch + Answers.uniqueIDOffset, isUpper: false)
    }
    let given = kind == .push ? push.identifier : push.requestID
    if let text = given, let sent = text.withSpan({ SpelledID($0) }) {
      // Echoed byte for byte.
      UnsafeMutableRawPointer(scratch + Answers.idOffset).copyMemory(
        from: text.baseAddress.unsafelyUnwrapped, byteCount: text.count)
      return sent
    }
    let id = random.nextID()
    let isUpper = known.rules.madeIdentifier == .upper
    id.write(to: scratch + Answers.idOffset, isUpper: isUpper)
    return SpelledID(id, isUpper: isUpper)
  }

  /// Delivers or stores the push: at once for a reachable device.
  private func accept(_ push: PushFields, _ id: SpelledID, _ device: DeclaredToken?) -> PushFate {
    var fate = PushFate.delivered
    if let device, device.state != .active {
      fate = shared.world.accept(
        AcceptedPush(push, id: id, device, types: known.rules.pushTypes, receivedAt: wallNow),
        roll: random.next() >> 32)
    }
    if fate == .delivered, known.rules.hasBudgets || device?.budgets != nil,
      let kind = exceededBudget(push, device)
    {
      fate = .overBudget(kind)
    }
    switch fate {
    case .delivered: shared.counters.add(.delivered)
    case .stored: shared.counters.add(.stored)
    case .discarded: shared.counters.add(.discarded)
    case .overBudget: shared.counters.add(.overBudget)
    }
    return fate
  }

  /// The exhausted hourly budget because of which the device drops a push.
  private func exceededBudget(_ push: PushFields, _ device: DeclaredToken?) -> BudgetKind? {
    let types = known.rules.pushTypes
    guard let type = push.pushType?.pushType(in: types), let token = push.deviceToken,
      let topic = push.topic
    else { return nil }
    let priority = push.priority?.decimal ?? Int64(type.defaultPriority)
    let isStart = type == .liveactivity && BodyFacts(Array(push.body)).event == .start
    guard let kind = BudgetKind(type, priority: UInt8(clamping: priority), isStart: isStart)
    else { return nil }
    let digits = Array(token.prefix(1_024)).map { (0x41...0x46).contains($0) ? $0 | 0x20 : $0 }
    let app = Array(topic.dropLast(types.suffixLength(of: type)))
    let isTaken = shared.world.takes(token: digits, app: app, kind, device?.budgets, now: wallNow)
    return isTaken ? nil : kind
  }

  func record(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields,
    _ connection: GatewayConnection, _ verdict: AnswerPlan.Verdict, _ kind: RequestKind,
    _ id: SpelledID, _ fate: PushFate?, _ isBrokenJSON: Bool
  ) {
    let (status, reason) = verdict.outcome
    let record = RequestRecord(
      time: wallNow, id: id, kind: kind, status: status, reason: reason, fate: fate,
      connection: UInt32(truncatingIfNeeded: shared.world.number(ofConnection: connection.id)),
      stream: request.pointee.streamID,
      environment: connection.role.environment, isBrokenJSON: isBrokenJSON)
    if !shared.log.append(record, push, request) { shared.counters.add(.recordsDropped) }
  }

  private func encode(
    _ verdict: AnswerPlan.Verdict, _ scratch: UnsafeMutablePointer<UInt8>
  ) -> UInt32 {
    switch verdict {
    case .accepted: return EncodedVerdict.accepted
    case .refused(let refusal): return encode(refusal, scratch)
    case .custom(let answer):
      return EncodedVerdict.with(EncodedVerdict.custom, argument: customAnswers.add(answer))
    case .reset(let code): return EncodedVerdict.with(EncodedVerdict.reset, argument: code)
    case .silence: return EncodedVerdict.silence
    }
  }

  private func encode(_ refusal: Refusal, _ scratch: UnsafeMutablePointer<UInt8>) -> UInt32 {
    var count = 0
    if let timestamp = refusal.timestamp {
      let text = "{\"reason\":\"\(refusal.reason.name)\",\"timestamp\":\(timestamp)}"
      for byte in text.utf8 {
        scratch[Answers.bodyOffset + count] = byte
        count += 1
      }
    }
    return EncodedVerdict.with(UInt32(refusal.reason.rawValue) + 1, argument: UInt32(count))
  }
}

extension AnswerPlan.Verdict {
  /// The status (0 for no answer) and the reason, for the record.
  var outcome: (status: UInt16, reason: Reason?) {
    switch self {
    case .accepted: (200, nil)
    case .refused(let refusal): (refusal.reason.rule.status, refusal.reason)
    case .custom(let answer): (answer.status, answer.reason)
    case .reset, .silence: (0, nil)
    }
  }
}

extension AcceptedPush {
  /// Copies the parts of a push that are stored; the topic loses its push type's suffix.
  init(
    _ push: PushFields, id: SpelledID, _ device: DeclaredToken, types: PushTypes, receivedAt: Int64
  ) {
    let type = push.pushType?.pushType(in: types)
    let topic = push.topic.map { Array($0) } ?? device.topic ?? []
    let suffix = type.map { types.suffixLength(of: $0) } ?? 0
    self.init(
      id: id, token: device.token, app: Array(topic.dropLast(suffix)),
      collapseID: push.collapseID.map { Array($0) }, type: type,
      priority: UInt8(clamping: push.priority?.decimal ?? Int64(type?.defaultPriority ?? 10)),
      expiration: push.expiration?.decimal, body: Array(push.body), receivedAt: receivedAt)
  }
}
