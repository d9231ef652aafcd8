// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
import Waiting

/// The state machine of one endpoint: when to send which batch, what an answer means, and when to give up.
///
/// Each partition's events stay in order, with one request in flight. Several partitions are sent concurrently while
/// the endpoint accepts requests; otherwise one request at a time probes whether it has recovered.
public struct EndpointMachine: Sendable {
  public enum Action: Sendable, Equatable {
    /// Send a batch; ends with `answered`.
    case send(Source, WebhookBatch)
    /// Write the batch to the dead letters; ends with `buried`.
    case bury(Source, WebhookBatch, attempts: Int)
  }

  public static let concurrency = 4

  private let subscription: Subscription
  /// The topic of each `Source`.
  private let topics: [String]
  /// How long a batch is retried, in milliseconds.
  private let window: UInt64
  /// The most bytes of events waiting in a partition; above it, nothing more is read.
  private let laneBytes: Int
  private var lanes: [Source: EventLane] = [:]
  private var order: [Source] = []
  private var turn = 0
  private var isDraining = false
  private var backoff = RetrySchedule.backoff
  private var notBefore: UInt64 = 0
  /// The latest time that the endpoint has asked to wait for, which also holds when it accepts a request that was under
  /// way.
  private var askedUntil: UInt64 = 0
  /// Since when the endpoint has accepted nothing; nil while it does.
  private var outage: UInt64?
  /// True if the endpoint returned 410 Gone: nothing more is sent.
  public private(set) var isGone = false

  public init(_ subscription: Subscription, topics: [String], window: UInt64, laneBytes: Int) {
    self.subscription = subscription
    self.topics = topics
    self.window = window
    self.laneBytes = laneBytes
  }

  // MARK: Partitions

  /// Partitions were assigned; those of an earlier assignment are dropped.
  public mutating func begin(_ sources: [Source]) {
    removeAll()
    isDraining = false
    order = sources
    for source in sources { lanes[source] = EventLane(subscription.limits) }
  }

  /// Sends nothing more until `begin`.
  public mutating func drain() { isDraining = true }

  public mutating func removeAll() {
    lanes = [:]
    order = []
    turn = 0
  }

  /// True if nothing is in flight.
  public var isIdle: Bool { !lanes.values.contains { $0.isBusy } }
  public var isFailing: Bool { outage != nil }
  public var queued: Int { lanes.values.reduce(0) { $0 + $1.queued } }
  /// When the oldest of them was recorded, in milliseconds since the epoch.
  public var oldest: Int64? { lanes.values.compactMap(\.oldest).min() }

  // MARK: Events

  public func hasRoom(_ source: Source) -> Bool {
    !isDraining && lanes[source].map { $0.bytes < laneBytes } ?? false
  }

  /// Adds the events of one record, in order.
  public mutating func add(_ events: [WebhookEvent], of source: Source, now: UInt64) {
    lanes[source]?.add(events, now: now)
  }

  // MARK: Sending

  /// The next action; nil when there is none. Call it every turn until it returns nil.
  ///
  /// - Parameter wall: milliseconds since the epoch.
  public mutating func next(now: UInt64, wall: Int64) -> Action? {
    guard !isDraining else { return nil }
    for step in order.indices {
      let source = order[(turn + step) % order.count]
      guard let action = next(source, now, wall) else { continue }
      // The others come first next time.
      turn = (turn + step + 1) % order.count
      return action
    }
    return nil
  }

  private mutating func next(_ source: Source, _ now: UInt64, _ wall: Int64) -> Action? {
    let isFull = !hasRoom(source)
    guard lanes[source]?.hasBatch(isFull: isFull, now: now) == true, let lane = lanes[source] else {
      return nil
    }
    if lane.isExpired(outage: outage, isGone: isGone, window: window, now: now, wall: wall) {
      lanes[source]?.bury()
      return .bury(source, batch(lane, source), attempts: lane.attempts)
    }
    guard maySend(now), now >= lane.notBefore else { return nil }
    lanes[source]?.send(now: now)
    return .send(source, batch(lane, source))
  }

  private func maySend(_ now: UInt64) -> Bool {
    let underway = lanes.values.reduce(0) { $0 + ($1.isSending ? 1 : 0) }
    if isGone || now < notBefore { return false }
    return underway < (isFailing ? 1 : Self.concurrency)
  }

  private func batch(_ lane: EventLane, _ source: Source) -> WebhookBatch {
    WebhookBatch(
      lane.batch, endpoint: subscription.name, topic: topics[source.topic],
      partition: source.partition)
  }

  // MARK: Answers

  /// Takes the result of a request.
  ///
  /// - Returns: the completed offsets of its partition.
  public mutating func answered(
    _ source: Source, _ answer: WebhookAnswer, now: UInt64, random: UInt64
  ) -> [Int64] {
    if answer.isAccepted {
      recovered(now)
      return lanes[source]?.finish() ?? []
    }
    if answer.isTooLarge, lanes[source]?.split() == true { return [] }
    lanes[source]?.failed(now: now, random: random)
    isGone = isGone || answer.isGone
    // Concurrent requests fail together: that counts as one failure.
    if outage == nil || now >= notBefore {
      notBefore = now + backoff.failed(random: random)
    }
    outage = outage ?? now
    if case .status(_, let asked?) = answer { askedUntil = max(askedUntil, now + asked) }
    notBefore = max(notBefore, askedUntil)
    return []
  }

  private mutating func recovered(_ now: UInt64) {
    guard isFailing else { return }
    for source in order { lanes[source]?.endpointRecovered(after: backoff.failures, now: now) }
    outage = nil
    notBefore = askedUntil
    backoff.succeeded()
  }

  /// Kafka has acknowledged the dead letter of a partition's batch.
  public mutating func buried(_ source: Source) -> [Int64] { lanes[source]?.finish() ?? [] }
}
