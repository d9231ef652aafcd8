// SPDX-License-Identifier: Apache-2.0
import APNS
import HTTP2
import ServiceKit

extension SimulatorLoop {
  /// Judges the requests that became complete in this turn and plans their answers.
  func take() {
    shared.counters.add(.requests, ready.count)
    for request in ready {
      var delay = settings.latency == .none ? 0 : settings.latency.milliseconds(random.next())
      // One that was given up before it was looked at counts as never processed.
      if !settings.isFast, request.pointee.isAlive { delay = examine(request, delay) }
      if delay == 0 {
        answer(request)
      } else {
        request.pointee.due = now + delay
        wheel.add(request)
      }
    }
  }

  /// Checks a request, records it, and leaves what its answer needs in its scratch memory. Returns
  /// when to answer, in ms from now.
  private func examine(
    _ request: UnsafeMutablePointer<ServerRequest>, _ delay: UInt64
  ) -> UInt64 {
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    let push = PushFields(request.pointee)
    guard let connection = connections[slot] else { return delay }
    var isAuthenticated = false
    let refusal = validators[Int(connection.role.environment.rawValue)].refusal(
      of: push, binding: &connection.binding, isAuthenticated: &isAuthenticated, now: wallNow)
    if isAuthenticated { connection.isAuthenticated = true }
    let id = identify(request, push, connection.role)
    var plan = AnswerPlan(verdict: refusal.map { .refused($0) } ?? .accepted, delay: delay)
    requestJudged(request, push, on: connection, &plan)
    request.pointee.verdict = encode(plan.verdict, request.pointee.scratch)
    if !shared.log.append(push, id: id, refusal: refusal, time: wallNow) {
      shared.counters.add(.recordsDropped)
    }
    return plan.delay
  }

  /// Writes the ids of the answer to the scratch memory.
  private func identify(
    _ request: UnsafeMutablePointer<ServerRequest>, _ push: PushFields, _ role: ListenerRole
  ) -> NotificationID {
    let scratch = request.pointee.scratch
    if role.environment == .sandbox {
      random.nextID().write(to: scratch + Answers.uniqueIDOffset)
    }
    if let text = push.identifier, text.count == NotificationID.textLength, let sent = text.id {
      // Echoed byte for byte.
      UnsafeMutableRawPointer(scratch + Answers.idOffset).copyMemory(
        from: text.baseAddress.unsafelyUnwrapped, byteCount: text.count)
      return sent
    }
    let id = random.nextID()
    id.write(to: scratch + Answers.idOffset)
    return id
  }

  private func encode(
    _ verdict: AnswerPlan.Verdict, _ scratch: UnsafeMutablePointer<UInt8>
  ) -> UInt32 {
    switch verdict {
    case .accepted: return EncodedVerdict.accepted
    case .refused(let refusal): return encode(refusal, scratch)
    case .custom(let answer):
      return EncodedVerdict.custom | customAnswers.add(answer) << EncodedVerdict.argumentShift
    case .reset(let code):
      return EncodedVerdict.reset | code << EncodedVerdict.argumentShift
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
    return UInt32(refusal.reason.rawValue) + 1 | UInt32(count) << EncodedVerdict.argumentShift
  }
}
