// SPDX-License-Identifier: Apache-2.0
import Delivery
import Pipeline
import Random

/// One loop that empties a backlog of several credentials, in virtual time: what is held for whom, whose turn it is
/// and when retries come back are the shipped values; Kafka, connections and the gateway are modelled.
///
/// The gateway serves all credentials together at `rate`, and answers no push sooner than `latency`.
struct BacklogModel {
  static let slots = 4_000
  /// Notifications each millisecond, and milliseconds.
  static let rate = 40
  static let latency: UInt64 = 20
  private static let streams = 1_000
  private static let openAtMost = 2_000
  private static let partitionCount = 6

  /// Records of one partition of the lane, by destination, and how far they are read.
  private struct Log {
    var records: [UInt16] = []
    var next = 0
    var open = 0
    var openBy = OpenByDestination()
    var pausedBy: Int?
  }

  /// One partition of the retry tier of 5 s.
  private struct Tier {
    var records: [(destination: UInt16, written: UInt64)] = []
    var next = 0
    var pacing = RetryPacing(.seconds5)
    var due: UInt64?
  }

  private struct Destination {
    var queue = SendQueue()
    /// When its connection is there, and whether a push was accepted on it.
    var connectedAt: UInt64
    var hasAccepted = false
    var isHanging = false
    var delivered = 0
  }

  private(set) var now: UInt64 = 100_000
  private let begun: UInt64 = 100_000
  private var random: SeededGenerator
  private var logs = Array(repeating: Log(), count: partitionCount)
  private var tiers = Array(repeating: Tier(), count: partitionCount)
  private var destinations: [Destination]
  private var fairness = Fairness()
  private var free: [UInt32]
  /// By slot: its destination (from 1) and partition.
  private var owners: [(destination: Int, partition: Int)]
  private var heldUpBy: Int?
  /// What the gateway works on, in the order of its answers, and what it will never answer while it hangs.
  private var answers: [(at: UInt64, slot: UInt32)] = []
  private var answered = 0
  private var hanging: [UInt32] = []
  private var busyUntil: UInt64 = 0
  /// Nothing is answered during this time.
  var outage: Range<UInt64> = 0..<0
  /// Records moved to the retry tier.
  private(set) var moved = 0
  private(set) var delivered = 0

  /// - Parameters:
  ///   - count: records that wait at the start, in runs of one credential, in all partitions.
  ///   - longestRun: of one credential in a partition.
  init(count: Int, credentials: Int, longestRun: Int, seed: UInt64) {
    random = SeededGenerator(seed: seed)
    free = Array((0..<UInt32(Self.slots)).reversed())
    owners = Array(repeating: (0, 0), count: Self.slots)
    destinations = []
    for _ in 0..<credentials {
      destinations.append(Destination(connectedAt: now + 200 + UInt64(random.below(800))))
    }
    var left = count
    while left > 0 {
      let run = min(left, 1 + random.below(longestRun))
      let owner = UInt16(random.below(credentials))
      logs[random.below(Self.partitionCount)].records += Array(repeating: owner, count: run)
      left -= run
    }
  }

  var elapsed: UInt64 { now - begun }

  func delivered(to credential: Int) -> Int { destinations[credential].delivered }

  /// This credential's pushes get no answer, or get them again.
  mutating func hang(_ credential: Int, _ isHanging: Bool) {
    destinations[credential].isHanging = isHanging
    guard !isHanging else { return }
    for slot in hanging { answers.append((max(now, answers.last?.at ?? 0), slot)) }
    hanging = []
  }

  /// A turn of the loop, a millisecond after the last one.
  mutating func step() {
    now += 1
    takeAnswers()
    fairness.turn(known: destinations.count, canDivert: true, now: now)
    if let one = heldUpBy, fairness.decide(one, free: free.count) != .wait { heldUpBy = nil }
    takeRetries()
    for index in logs.indices { take((index + Int(now)) % logs.count) }
    for index in destinations.indices { dispatch(index) }
  }

  private mutating func takeAnswers() {
    guard !outage.contains(now) else { return }
    while answered < answers.count, answers[answered].at <= now {
      let slot = answers[answered].slot
      answered += 1
      let (owner, partition) = owners[Int(slot)]
      destinations[owner - 1].queue.ended(.transactional)
      destinations[owner - 1].queue.health.served(sentAt: Int64(now - Self.latency))
      destinations[owner - 1].hasAccepted = true
      destinations[owner - 1].delivered += 1
      fairness.answered(owner)
      fairness.released(owner)
      if partition >= 0 {
        logs[partition].openBy.remove(owner)
        logs[partition].open -= 1
      }
      free.append(slot)
      delivered += 1
    }
    if answered > 50_000 {
      answers.removeFirst(answered)
      answered = 0
    }
  }

  private mutating func take(_ index: Int) {
    while heldUpBy == nil, !free.isEmpty, logs[index].next < logs[index].records.count {
      let left = Self.openAtMost - logs[index].open
      if let one = logs[index].pausedBy {
        guard decide(one, in: index) != .pause else { return }
        logs[index].pausedBy = nil
      }
      let room = left - fairness.reserve(of: Self.openAtMost)
      guard room > 0 else { return }
      for _ in 0..<min(64, (room + 1) / 2, free.count, logs[index].records.count - logs[index].next)
      {
        let owner = Int(logs[index].records[logs[index].next]) + 1
        logs[index].next += 1
        route(owner, from: index, as: .transactional)
      }
    }
  }

  private mutating func route(_ owner: Int, from index: Int, as sendClass: SendClass) {
    let decision =
      sendClass == .retry
      ? fairness.decide(owner, free: free.count) : decide(owner, in: index)
    switch decision {
    case .take: break
    case .wait: heldUpBy = owner
    case .pause: logs[index].pausedBy = owner
    case .divert:
      moved += 1
      tiers[random.below(tiers.count)].records.append((UInt16(owner - 1), now))
      return
    }
    let slot = free.removeLast()
    fairness.took(owner)
    owners[Int(slot)] = (owner, sendClass == .retry ? -1 : index)
    if sendClass != .retry {
      logs[index].openBy.add(owner)
      logs[index].open += 1
    }
    destinations[owner - 1].queue.append(slot, .transactional)
  }

  private func decide(_ owner: Int, in index: Int) -> Fairness.Decision {
    fairness.decide(
      owner, free: free.count, open: logs[index].openBy[owner],
      left: Self.openAtMost - logs[index].open, of: Self.openAtMost)
  }

  private mutating func takeRetries() {
    for index in tiers.indices {
      while tiers[index].next < tiers[index].records.count, !free.isEmpty, heldUpBy == nil {
        let record = tiers[index].records[tiers[index].next]
        if tiers[index].due == nil {
          tiers[index].due = tiers[index].pacing.release(
            written: Int64(record.written), wall: Int64(now), now: now, random: random.next())
        }
        guard tiers[index].due! <= now else { break }
        tiers[index].due = nil
        tiers[index].next += 1
        route(Int(record.destination) + 1, from: index, as: .retry)
      }
    }
  }

  private mutating func dispatch(_ index: Int) {
    guard !destinations[index].queue.isEmpty, now >= destinations[index].connectedAt else { return }
    let capacity = destinations[index].hasAccepted ? Self.streams : 1
    while destinations[index].queue.open < capacity,
      let slot = destinations[index].queue.next(capacity: capacity, now: now)
    {
      if destinations[index].isHanging {
        hanging.append(slot)
        continue
      }
      // In units of what the gateway serves in a millisecond.
      busyUntil = max(busyUntil, now * UInt64(Self.rate)) + 1
      answers.append((max(now + Self.latency, busyUntil / UInt64(Self.rate)), slot))
    }
  }
}
