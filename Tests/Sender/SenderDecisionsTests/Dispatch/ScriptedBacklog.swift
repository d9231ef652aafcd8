// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Waiting

/// One loop of the sender, the shipped `Dispatcher`, that empties a backlog of several credentials in virtual time. The
/// gateway serves all credentials together at `rate`, and answers no push sooner than `latency`; Kafka acknowledges at
/// once.
final class ScriptedBacklog {
  /// Notifications each millisecond, and milliseconds.
  static let rate = 40
  static let latency: UInt64 = 20
  private static let step: UInt64 = 2
  private static let partitionCount = 6
  private static let streams = 1_000
  private static let epoch: Int64 = 1_760_000_000_000
  private static let address = PeerAddress(bytes: [10, 0, 0, 1], port: 443)!

  private struct Record {
    var credential: UInt16
    var number: UInt32
    var written: Int64
  }

  private(set) var now: UInt64 = 100_000
  private let begun: UInt64 = 100_000
  private var dispatcher: Dispatcher
  private var random: SeededGenerator
  private let apps: [UInt64]
  /// The lane's partitions and then the retry tier's, by the dispatcher's numbers, and how far each is read.
  private var logs = [[Record]](repeating: [], count: 2 * partitionCount)
  private var read = [Int](repeating: 0, count: 2 * partitionCount)
  /// By slot.
  private var records: [UInt32: Record] = [:]
  private var lookUps: [Int32] = []
  private var connects: [(at: UInt64, connection: ConnectionID)] = []
  private var pings: [ConnectionID] = []
  /// What the gateway works on, in the order of its answers, and what it does not answer while a credential hangs.
  private var answers: [(at: UInt64, slot: UInt32)] = []
  private var answered = 0
  private var hanging: [UInt32] = []
  private var hangs: Int?
  /// In units of what the gateway serves in a millisecond.
  private var busyUntil: UInt64 = 0
  /// Nothing is answered during this time.
  var outage: Range<UInt64> = 0..<0
  /// Records moved to the retry tier.
  private(set) var moved = 0
  private(set) var delivered = 0
  private var deliveredTo: [Int]

  /// - Parameters:
  ///   - count: records that wait at the start, in runs of one credential, in all partitions.
  ///   - longestRun: of one credential in a partition.
  init(count: Int, credentials: Int, longestRun: Int, seed: UInt64) {
    random = SeededGenerator(seed: seed)
    apps = (0..<credentials).map { AppHash.of("app\($0)".utf8.span) }
    deliveredTo = Array(repeating: 0, count: credentials)
    var settings = DispatchSettings()
    // Fewer than one credential of ten has waiting: one that is stuck cannot hold all of its own.
    settings.maxInFlight = 4_000
    settings.pool = .init(minimum: 1, maximum: 1)
    settings.requestTimeout = 600_000
    dispatcher = Dispatcher(settings, now: now, wall: Self.epoch + Int64(now), seed: seed)
    for number in logs.indices {
      _ = dispatcher.granted(
        GrantedPartition(
          topicKind: number < Self.partitionCount ? .lane(.first) : .retries(.seconds5),
          resume: ResumePoint(next: 0)))
    }
    dispatcher.updateTokens((0..<credentials).map(Self.token), isComplete: true)
    for _ in 0..<credentials { dispatcher.applyTokens() }
    write(count, credentials, longestRun)
  }

  private static func token(_ credential: Int) -> ProviderTokenBook.Update {
    .token(
      .init(
        credential: "key\(credential)", teamID: "t", keyID: "k\(credential)", scope: .any,
        apps: ["app\(credential)"], stamp: .init(issuedAt: epoch / 1_000, generation: 1),
        token: Array("token\(credential)".utf8)))
  }

  private func write(_ count: Int, _ credentials: Int, _ longestRun: Int) {
    var number: UInt32 = 0
    while number < count {
      let run = min(count - Int(number), 1 + random.below(longestRun))
      let (place, credential) = (random.below(Self.partitionCount), random.below(credentials))
      for _ in 0..<run {
        number += 1
        logs[place].append(Record(credential: UInt16(credential), number: number, written: wall))
      }
    }
  }

  var elapsed: UInt64 { now - begun }
  private var wall: Int64 { Self.epoch + Int64(now) }

  func delivered(to credential: Int) -> Int { deliveredTo[credential] }

  /// This credential's pushes get no answer; nil: all get one again.
  func hang(_ credential: Int?) {
    hangs = credential
    guard credential == nil else { return }
    for slot in hanging { answers.append((max(now, answers.last?.at ?? 0), slot)) }
    hanging = []
  }

  // MARK: Turns

  /// How it is, for a report.
  var summary: String {
    let left = logs.indices.map { logs[$0].count - read[$0] }
    let held = records.keys.sorted().prefix(12).map { slot in
      let push = dispatcher.push(slot)
      return "\(slot): \(push.life.state) \(push.life.sendClass) on \(push.connection)"
    }
    return "\(elapsed) ms, \(delivered) delivered, \(moved) moved, not read \(left), held \(held)"
  }

  /// The order of `SenderLoop.turn`.
  func turn() {
    now += Self.step
    dispatcher.beginTurn(now: now, wall: wall)
    meetGateway()
    drainAnswers()
    take()
    dispatcher.dispatch()
    perform()
    _ = dispatcher.upkeep()
    perform()
    _ = dispatcher.report()
  }

  private func meetGateway() {
    while let pool = lookUps.popLast() {
      dispatcher.lookedUp(pool, [Self.address])
      perform()
    }
    for (at, connection) in connects where at <= now {
      dispatcher.handle(.connected, of: connection)
      dispatcher.handle(.settings(limit: Self.streams), of: connection)
      dispatcher.handle(.touched(limit: Self.streams), of: connection)
    }
    connects.removeAll { $0.at <= now }
    while let connection = pings.popLast() { dispatcher.handle(.ponged, of: connection) }
    perform()
  }

  private func drainAnswers() {
    guard !outage.contains(now) else { return }
    while answered < answers.count, answers[answered].at <= now {
      let slot = answers[answered].slot
      answered += 1
      dispatcher.handle(.touched(limit: Self.streams), of: dispatcher.push(slot).connection)
      dispatcher.accepted(slot)
      perform()
    }
    if answered > 50_000 {
      answers.removeFirst(answered)
      answered = 0
    }
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
    let offset = read[partition]
    guard offset < logs[partition].count else { return false }
    let record = logs[partition][offset]
    read[partition] += 1
    guard dispatcher.admit(Int64(offset), from: partition) == .new else { return false }
    let facts = PushFacts(
      dedupKey: NotificationID(high: 1, low: UInt64(record.number)),
      app: apps[Int(record.credential)], device: UInt64(record.number), lane: .first,
      created: record.written, expiresAt: .max)
    let slot = dispatcher.accept(
      facts, offset: Int64(offset), from: partition, written: record.written)
    records[slot] = record
    perform()
    return true
  }

  // MARK: What the dispatcher wants done

  private func perform() {
    while let action = dispatcher.nextAction() { perform(action) }
  }

  private func perform(_ action: Action) {
    switch action {
    case .send(let slot, _): send(slot)
    case .delivered(let slot, _): end(slot, isDelivered: true)
    case .receipt(let slot, _, _, _, _): end(slot, isDelivered: false)
    case .park(let slot, _, _):
      moved += 1
      if var record = records[slot] {
        record.written = wall
        logs[Self.partitionCount + random.below(Self.partitionCount)].append(record)
      }
      end(slot, isDelivered: false)
    case .lookUp(let pool, _): lookUps.append(pool)
    case .open(let connection):
      connects.append((now + 20 + UInt64(random.below(80)), connection))
    case .ping(let connection): pings.append(connection)
    default: break
    }
  }

  private func send(_ slot: UInt32) {
    if let hangs, Int(records[slot]!.credential) == hangs { return hanging.append(slot) }
    busyUntil = max(busyUntil, now * UInt64(Self.rate)) + 1
    answers.append((max(now + Self.latency, busyUntil / UInt64(Self.rate)), slot))
  }

  private func end(_ slot: UInt32, isDelivered: Bool) {
    if let record = records.removeValue(forKey: slot), isDelivered {
      delivered += 1
      deliveredTo[Int(record.credential)] += 1
    }
    dispatcher.acknowledged(dispatcher.push(slot).origin)
  }
}
