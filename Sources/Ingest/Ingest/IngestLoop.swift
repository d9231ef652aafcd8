// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import IngestDecisions
import Kafka
import Records
import ServiceKit

/// The one thread of ingest: membership in the group, requests, notifications, commits.
///
/// A turn takes what Kafka acknowledged, follows the group and the table of invalid tokens, works on the batch of
/// requests at hand, and commits. It takes a further batch only when the last one is done, and stops in the
/// middle of a request when Kafka has no room or the readers are behind: what waits, waits in Kafka.
final class IngestLoop {
  /// What a rebalance waits for acknowledgements at most: the whole group stands still meanwhile.
  static let rebalanceDrainMilliseconds: UInt64 = 3_000
  /// The longest sleep: repeats of failed deliveries, and wakeups that a queue may owe.
  static let turnMilliseconds: Int32 = 100
  static let batchCapacity = 256
  private static let lookMilliseconds: UInt64 = 1_000
  private static let batchesATurn = 4

  let settings: IngestSettings
  let context: ServiceContext
  let counters = Counters<IngestMetrics>()
  let warnings = PayloadWarningCounts()
  private let loop: ServiceLoop
  let output: IngestOutput
  var member: GroupMember
  let invalidTokens: InvalidTokens

  // The batch at hand.
  var batch = KafkaBatch(capacity: IngestLoop.batchCapacity)
  var position = 0
  /// When it was taken, in milliseconds since the epoch.
  var takenAt: Int64 = 0
  let reader: RequestReader
  var request = PushRequest()
  /// The `traceparent` of the request at hand, in its record; empty without one.
  var traceParent = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The keyed fields that a refused request carries to its receipt, or the record of a scheduled one.
  var scratch = ByteBuffer()
  /// When the request at hand was handed to the schedule, if it names tokens and comes from there.
  var scheduledAt: Int64?
  /// Why the request at hand is refused, if it is.
  var refusal = RequestError(nil, .empty)
  /// What its dead letters have kept of it, in bytes.
  var letterBytes = 0
  var encoder = EnvelopeEncoder()
  var naming = NotificationNaming()
  let tokenText = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
  private var nextLook: UInt64 = 0
  /// Whether the log has that tokens found no room.
  private var hasToldOfRoom = false

  /// Reads the table of invalid tokens, and joins the group.
  init(
    _ settings: IngestSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView
  ) throws(ServiceFailure) {
    self.settings = settings
    self.context = context
    reader = RequestReader(
      types: settings.pushTypes, lanes: settings.lanes,
      refusesWarnings: settings.refusesWarnings)
    let requestNames = settings.requestTopics(names)
    do {
      var cluster = cluster
      cluster.configuration.dividePrefetch(
        among: cluster.partitions(of: requestNames), records: 48_000)
      cluster.configuration.preferLinger(milliseconds: KafkaDefaults.lingerOfIngest)
      let kafka = cluster.configuration
      loop = try ServiceLoop("loop", context)
      let wakeup = loop.wakeup
      output = try IngestOutput(
        settings, context, counters, names, KafkaProducer(kafka, wakeup: wakeup))
      invalidTokens = try InvalidTokens(
        names.invalidTokens, cluster, limit: settings.maxInvalidTokens, wakeup: wakeup)
      Self.catchUp(invalidTokens, context, loop)
      member = try GroupMember(Self.plan(settings, names), kafka, context, wakeup: wakeup)
    } catch {
      throw ServiceFailure("cannot start on Kafka: \(error)")
    }
  }

  deinit { tokenText.deallocate() }

  /// Requests taken before the table is read would notify invalid tokens: worth a wait, not an outage.
  private static func catchUp(
    _ invalidTokens: InvalidTokens, _ context: ServiceContext, _ loop: ServiceLoop
  ) {
    let deadline = MonotonicClock.milliseconds() + 30_000
    while !invalidTokens.topic.isCaughtUp && !context.signals.isStopping {
      loop.beat()
      invalidTokens.follow(timeoutMilliseconds: 20)
      if MonotonicClock.milliseconds() >= deadline {
        context.log(IngestLog.tokensNotRead)
        return
      }
    }
  }

  /// Works until a stop is requested, then finishes what was taken, commits it and leaves the group.
  func run() throws(ServiceFailure) {
    context.counters.add(counters)
    context.counters.add(metrics: warnings)
    var timeout: Int32 = 0
    while !member.hasLeft {
      timeout = turn(now: loop.wait(timeout))
    }
    _ = output.producer.flush(timeoutMilliseconds: output.failure == nil ? 1_000 : 0)
    output.producer.close()
    invalidTokens.topic.close()
    if let failure = output.failure { throw failure }
  }

  /// One turn; returns how long to sleep after it.
  private func turn(now: UInt64) -> Int32 {
    output.beginTurn(&member)
    invalidTokens.follow()
    followGroup(now)
    let state = readRequests()
    output.endTurn(now: now, isBusy: state == .busy)
    noteBacklog(now)
    counters.set(.invalidTokens, invalidTokens.count)
    counters.set(.tokensIgnored, invalidTokens.ignored)
    switch state {
    case .busy: return 0
    case .idle: return output.receipts.isEmpty ? Self.turnMilliseconds : 1
    case .blocked:
      counters.add(.blocked)
      return Self.turnMilliseconds
    }
  }

  /// The age of the oldest request once a second: it takes a look at all of them.
  private func noteBacklog(_ now: UInt64) {
    counters.set(.inFlight, output.machine.count)
    guard now >= nextLook else { return }
    nextLook = now + Self.lookMilliseconds
    noteTokensWithoutRoom()
    let age = output.machine.oldest.map { max(0, WallClock.milliseconds() - $0) } ?? 0
    counters.set(.backlogMilliseconds, Int(age))
  }

  private func noteTokensWithoutRoom() {
    let count = invalidTokens.refused
    counters.set(.tokensWithoutRoom, count)
    guard count > 0, !hasToldOfRoom else { return }
    hasToldOfRoom = true
    context.log(
      IngestLog.tokensWithoutRoom,
      ["kept": "\(invalidTokens.count)", "without_room": "\(count)"])
  }

  private enum Intake {
    case idle
    case busy
    case blocked
  }

  private func readRequests() -> Intake {
    guard member.isAssigned else { return .idle }
    for _ in 0..<Self.batchesATurn {
      guard workOnBatch() else { return output.failure == nil ? .blocked : .idle }
      if member.take(into: &batch, upTo: Self.batchCapacity) == 0 { return .idle }
      takenAt = WallClock.milliseconds()
    }
    return .busy
  }

  // MARK: The group

  private static func plan(_ settings: IngestSettings, _ names: TopicNames) -> GroupPlan {
    var plan = GroupPlan(
      group: names.group(.ingest), topics: settings.requestTopics(names),
      instanceID: settings.instanceID,
      rebalancePatience: rebalanceDrainMilliseconds,
      stopPatience: UInt64(settings.drainTimeoutMilliseconds),
      cost: "makes what is above them again, with the same ids")
    plan.outputs = names.notifications
    return plan
  }

  /// Follows the group. What was taken and is not acknowledged when the time is up is made again by the
  /// partitions' next owner: the same requests make the same notifications.
  private func followGroup(_ now: UInt64) {
    output.failure = output.failure ?? member.failure
    if output.failure != nil { member.fail() }
    while let task = member.next(now: now, isIdle: output.machine.count == 0) {
      switch task {
      case .begun(let partitions): counters.set(.partitionsAssigned, partitions.count)
      case .unassigned: counters.set(.partitionsAssigned, 0)
      case .drain:
        dropBatch()
        output.sendReceipts()
      case .abandon: counters.add(.handedBack, output.machine.count)
      }
    }
    output.failure = output.failure ?? member.failure
  }

  private func dropBatch() {
    output.machine.drop()
    batch.release()
    position = 0
  }
}
