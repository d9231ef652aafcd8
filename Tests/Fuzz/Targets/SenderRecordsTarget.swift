// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Records
import SenderDecisions

@testable import Sender

extension FuzzTarget {
  /// Records of the notification and retry topics as a loop of the sender works on them, with answers of a gateway as
  /// hostile as they are: nothing traps, and every record ends.
  static func senderRecords() -> FuzzTarget {
    FuzzTarget("sender-records") { bytes in
      let loop = HostileLoop(bytes)
      while !loop.script.isAtEnd { loop.turn() }
      return loop.problem
    }
  }
}

/// One loop of the sender without Kafka and sockets: the shipped reader and `Dispatcher`.
private final class HostileLoop {
  var script: HostileRecord
  private(set) var problem: String?
  private var dispatcher: Dispatcher
  private var envelopes = EnvelopeReader()
  private let parser = JSONParser()
  private var now: UInt64 = 1_000_000
  private var wall = HostileRecord.now
  private var offsets: [Int64] = [0, 0]
  private var lookUps: [Int32] = []
  private var opened: [ConnectionID] = []
  private var ended: [(connection: ConnectionID, isFailure: Bool)] = []
  private var streams: [(slot: UInt32, connection: ConnectionID)] = []
  private var resets: [UInt32] = []
  private static let keyed = [
    "", "", "\tsupersede=a", "\tsupersede=a\tfinal=1", "\tsupersede=a\tposition=0/3/1/5s",
    "\tsupersede=b\tposition=0/9223372036854775807/65535/15m", "\tapns-collapse-id=c",
  ]
  private static let address = PeerAddress(bytes: [10, 0, 0, 1], port: 443)!

  init(_ bytes: UnsafeRawBufferPointer) {
    script = HostileRecord(bytes)
    var settings = DispatchSettings()
    settings.maxInFlight = 64
    dispatcher = Dispatcher(settings, now: 1_000_000, wall: HostileRecord.now, seed: 1)
    for topicKind in [TopicKind.lane(.first), .retries(.seconds5)] {
      _ = dispatcher.granted(GrantedPartition(topicKind: topicKind, resume: ResumePoint(next: 0)))
    }
    dispatcher.updateTokens(
      [
        .token(
          ProviderTokenBook.Entry(
            credential: "k", teamID: "t", keyID: "k", scope: .any, apps: ["a"],
            stamp: ProviderTokenStamp(issuedAt: wall / 1_000 - 5, generation: 1), token: [1]))
      ], isComplete: true)
    dispatcher.applyTokens()
    perform()
  }

  func turn() {
    let step = script.pick([1, 100, 5_000, 60_000, 3_600_000] as [UInt64])
    now += step
    // The time of day may be set at any time.
    wall += Int64(step) + script.pick([0, 0, 0, 0, 0, 0, 86_400_000, -86_400_000])
    dispatcher.beginTurn(now: now, wall: wall)
    for pool in take(&lookUps) { tell { $0.lookedUp(pool, [Self.address]) } }
    for connection in take(&opened) {
      tell { $0.handle(.connected, of: connection) }
      tell { $0.handle(.settings(limit: 8), of: connection) }
    }
    dispatcher.expireDeadlines()
    perform()
    readRecords()
    dispatcher.dispatch()
    perform()
    for (slot, _) in take(&streams) { answer(slot) }
    for (connection, isFailure) in take(&ended) {
      tell { $0.handle(.closed(isFailure: isFailure), of: connection) }
    }
    _ = dispatcher.upkeep()
    perform()
    _ = dispatcher.report()
  }

  private func take<Value>(_ values: inout [Value]) -> [Value] {
    defer { values = [] }
    return values
  }

  private func tell(_ event: (inout Dispatcher) -> Void) {
    event(&dispatcher)
    perform()
  }

  private func readRecords() {
    dispatcher.signalledAll()
    dispatcher.beginIntake()
    while let take = dispatcher.nextReadRequest(isProducerOpen: true) {
      perform()
      let count = script.isAtEnd ? 0 : min(take.count, Int(script.byte() % 3))
      for _ in 0..<count { accept(from: take.partition) }
      dispatcher.took(count)
    }
    perform()
  }

  private func accept(from partition: Int) {
    let offset = offsets[partition]
    offsets[partition] += 1
    guard case .new = dispatcher.admit(offset, from: partition) else { return }
    let id = "00000000-0000-0000-0000-0000000000\(script.pick(["01", "02", "03", "04"]))"
    let reason = script.pick(["", "no credential", "TooManyRequests"])
    let text =
      "M2\t\(script.pick(["transactional", "bulk"]))\tproduction\t\(script.pick(["a", "b"]))\ta\talert\t10"
      + "\t\(script.number())\t\(id)\t\(script.number())\t\t\(script.number())\t\(script.number())"
      + "\t\(reason)\(script.pick(Self.keyed))\n{}"
    let written = max(-1, script.integer())
    let key = Array(HostileRecord.token.utf8)
    let (value, slot) = (Array(text.utf8), key)
    let facts = value.lend { value in
      slot.lend { key -> PushFacts? in
        (try? envelopes.read(value)).map {
          PushFacts(
            $0, key: key, value: value, written: written, collapseBefore: OutsideTime.last / 2,
            in: 0)
        }
      }
    }
    guard let facts else {
      dispatcher.acknowledged(dispatcher.acceptUnreadable(offset, from: partition))
      return
    }
    // A timestamp of before 2001 is none, and bounds nothing.
    if written >= OutsideTime.firstRecordTime, facts.created - OutsideTime.skew > written {
      problem = "a request of the future"
    }
    _ = dispatcher.accept(facts, offset: offset, from: partition, written: written)
    perform()
  }

  private func answer(_ slot: UInt32) {
    if let place = resets.firstIndex(of: slot) {
      resets.remove(at: place)
      return tell { $0.unanswered(slot, isUnprocessed: false, isLost: false) }
    }
    let status = script.pick([200, 200, 400, 403, 410, 429, 500, 503] as [UInt16])
    if status == 200 { return tell { $0.accepted(slot) } }
    let reason = script.pick(["Unregistered", "BadDeviceToken", "TooManyRequests", ""])
    let body = Array("{\"reason\":\"\(reason)\"\(script.member("timestamp"))}".utf8)
    let id = script.pick([.sent, .sent, .sent, .other, .none] as [AnswerID])
    let answer = body.lend { GatewayAnswer(status: status, id: id, body: $0, parser: parser) }
    let wait = UInt32(truncatingIfNeeded: script.integer())
    tell { $0.refused(slot, answer.response, retryAfter: wait) }
  }

  private func perform() {
    while let action = dispatcher.nextAction() {
      switch action {
      case .send(let slot, let connection): streams.append((slot, connection))
      case .reset(let slot, _): resets.append(slot)
      case .delivered(let slot, _), .receipt(let slot, _, _, _, _), .feedback(let slot, _),
        .park(let slot, _, _), .returnToLane(let slot, _),
        .deadLetter(let slot, _, _, _):
        dispatcher.acknowledged(dispatcher.push(slot).origin)
      case .lookUp(let pool, _): lookUps.append(pool)
      case .open(let connection): opened.append(connection)
      case .ping(let connection): dispatcher.handle(.ponged, of: connection)
      case .close(let connection): ended.append((connection, false))
      case .abandon(let connection): ended.append((connection, true))
      default: break
      }
    }
  }
}
