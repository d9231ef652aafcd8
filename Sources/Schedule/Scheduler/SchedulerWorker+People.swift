// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ScheduleDecisions
import ServiceKit
import Store

/// Requests to users: resolving their devices, and the last states of activities.
extension SchedulerWorker {
  /// Releases the requests whose users' devices can be looked up.
  ///
  /// - Returns: whether there may be more to do now.
  func sendToUsers(_ now: UInt64) -> Bool {
    guard failure == nil else { return false }
    // Of a partition that is being read, the database has older states of activities.
    let areStatesKnown = upkeep.unnoted.isEmpty
    let found = people.look(now: now, areStatesKnown: areStatesKnown) {
      [store] key throws(StoreError) in
      try store.entry(key.exact)?.activity.map { RecipientResolver.Sent($0.state, $0.json) }
    }
    for answer in found {
      let slot = answer.request.slot
      guard !machine.isReplaced(slot) else {
        machine.postponed(slot)
        continue
      }
      send(answer)
    }
    return !found.isEmpty
  }

  /// Releases a request to users, or puts it back. Counted when Kafka has it: what is put back is looked up again.
  private func send(_ answer: RecipientResolver.Answer) {
    let request = answer.request
    // A start that reached no device is not a state of its activity.
    let isState = answer.reaches || answer.state?.event != .start
    guard let key = request.activityKey, let state = answer.state, answer.isNewest, isState else {
      return answer.json.withUnsafeBytes {
        _ = release(request.slot, request.key.exact, request.scheduled, $0, answer.reach)
      }
    }
    // The state is written before the request: a token registered in between gets it.
    let tag = Tag.activity(
      slot: request.slot, round: round, request.scheduled, answer.json, reach: answer.reach)
    let before = people.note(key, RecipientResolver.Sent(state, request.json))
    let isTaken = state.value(request.json).withUnsafeBytes {
      produce(topics.schedule, key: key.exact, $0, [], as: tag, request.slot)
    }
    if !isTaken { people.note(key, before) }
  }

  /// Counts a request to users that Kafka has.
  func count(_ reach: RecipientResolver.Reach) {
    counters.add(reach.isAny ? .addressed : .withoutDevice)
    counters.add(.devicesAddressed, reach.devices)
  }

  /// Ends the state of an activity whose start does not leave, for the state is written before it: it is not running.
  ///
  /// - Parameter content: the request as the schedule has it.
  /// - Returns: false when the producer's queue is full.
  func endStart(_ content: String) -> Bool {
    var content = content
    return content.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      let json = ScheduleRecord.request(in: bytes)
      guard case .request(let request)? = try? ScheduleRecord(bytes),
        let (key, state) = people.removeStart(request.accepted, json)
      else { return true }
      let header = KafkaHeader(
        ScheduleRecord.endsHeader, "\(ScheduleRow.identity(of: state.value(json)))")
      return write(topics.schedule, key: key.bytes, nil, [header], as: .late)
    }
  }

  /// Sends the last state of activities to update tokens that were registered after it was sent.
  func sendToLateTokens(_ now: UInt64) {
    guard failure == nil, !machine.owned.isEmpty, upkeep.unnoted.isEmpty else { return }
    let tokens = people.newTokens(now: now, wall: WallClock.milliseconds())
    guard !tokens.isEmpty else { return }
    let keys = Array(Set(tokens.map(\.key.exact)))
    var states: [ExactText: (state: ActivityState, json: [UInt8])] = [:]
    // A failure here is retried at the next check.
    let isDone = withDatabase(now) { () throws(StoreError) in
      for partition in machine.owned {
        for (key, entry) in try store.entries(partition, keys) { states[key] = entry.activity }
      }
    }
    guard isDone else { return }
    for (token, key, firstSeen) in tokens {
      guard let (state, json) = states[key.exact],
        state.isFor(tokenSeenAt: firstSeen)
      else { continue }
      let request = ScheduledRequest(
        due: state.accepted, accepted: state.accepted, requeuedAt: nil,
        traceParent: state.traceParent)
      let isTaken = try? producer.produce(
        topics.requests, key: Array(token.user.utf8),
        value: Recipients.request(json, "token", token.device.token), headers: request.headers,
        as: .late)
      guard isTaken == true else { return }
      people.served(token)
      counters.add(.lateTokens)
    }
  }
}

extension ScheduledEntry {
  /// The state of an activity and its request's JSON; nil for another kind of entry.
  var activity: (state: ActivityState, json: [UInt8])? {
    var value = value
    return value.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      guard case .activity(let state)? = try? ScheduleRecord(bytes) else { return nil }
      return (state, Array(ScheduleRecord.request(in: bytes)))
    }
  }
}

extension ScheduledRequest {
  /// The headers of the record that releases the entry.
  var headers: [KafkaHeader] {
    [KafkaHeader(Self.header, headerValue)]
      + (traceParent.isEmpty ? [] : [KafkaHeader(TraceParent.header, traceParent)])
      + (by.isEmpty ? [] : [KafkaHeader("\(Self.byHeader)", by)])
  }
}
