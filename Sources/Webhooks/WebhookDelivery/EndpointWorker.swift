// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Crypto
import EventLoop
import HTTPClient
import Kafka
import ServiceKit
import Settings
import Webhooks

/// The thread of one endpoint: reads its topics as a member of its group, sends the events it subscribes to, and
/// completes an offset once the endpoint has accepted every event of the record, or Kafka has their dead letter.
///
/// `EndpointMachine` decides; this shell owns the consumer, the connections and the producer of dead letters.
final class EndpointWorker {
  private static let turnMilliseconds: Int32 = 100
  /// The most records read from a partition in one turn.
  private static let most = 4

  private let subscription: Subscription
  private let context: ServiceContext
  private let recorder: EndpointRecorder
  private let counters = Counters<WebhookMetrics>()
  private let heartbeat: Heartbeat
  private let wakeup = Wakeup()
  private let poster: WebhookPoster
  private let reader: EventReader
  private let sources: [EventSource]
  /// The topics of `sources`.
  private let topics: [String]
  private var member: GroupMember
  var machine: EndpointMachine
  private var records = KafkaBatch(capacity: 64)
  private var underway: [Source: (batch: WebhookBatch, sentAt: UInt64)] = [:]
  private var graves: DeadLetterWriter
  private var reminder = ProblemReminder()
  private var lastProblem = ""
  private var isGoneReported = false
  /// This turn's time, in monotonic milliseconds and in milliseconds since the epoch.
  private var now = MonotonicClock.milliseconds()
  private var wall = WallClock.milliseconds()

  init(
    _ subscription: Subscription, _ settings: WebhookSettings, _ context: ServiceContext,
    _ names: TopicNames, _ cluster: ClusterView, _ recorder: EndpointRecorder, laneBytes: Int
  ) throws(ServiceFailure) {
    self.subscription = subscription
    self.context = context
    self.recorder = recorder
    heartbeat = context.status.heartbeat("hook-\(subscription.name)")
    sources = subscription.sources
    topics = sources.map(names.topic)
    reader = EventReader(subscription, names)
    machine = EndpointMachine(
      subscription, topics: topics, window: UInt64(settings.retryWindow), laneBytes: laneBytes)
    poster = WebhookPoster(
      wakeup: wakeup.fd, connections: EndpointMachine.concurrency,
      allowsHTTP: settings.allowsHTTP, roots: settings.roots)
    graves = DeadLetterWriter(
      cluster.configuration, names.deadLetters, context, subscription, wakeup: wakeup)
    do {
      member = try GroupMember(
        Self.plan(subscription, settings, names), cluster.configuration, context, wakeup: wakeup)
    } catch {
      throw ServiceFailure("endpoint \(subscription.name): \(error)")
    }
    context.counters.add(counters)
  }

  private static func plan(
    _ subscription: Subscription, _ settings: WebhookSettings, _ names: TopicNames
  ) -> GroupPlan {
    var plan = GroupPlan(
      group: names.webhookGroup(subscription.name),
      topics: subscription.sources.map(names.topic), instanceID: settings.instanceID,
      rebalancePatience: 3_000,
      stopPatience: 10_000, cost: "sends the events above them again")
    // Instances beyond the number of partitions stand by.
    plan.needsPartitions = false
    return plan
  }

  /// Runs until a stop is requested; then waits for the requests in flight.
  func run() throws(ServiceFailure) {
    context.signals.subscribe(wakeup)
    context.log(
      WebhooksLog.endpoint, ["name": subscription.name, "url": WebhookURL.shown(subscription.url)])
    while true {
      now = MonotonicClock.milliseconds()
      wall = WallClock.milliseconds()
      heartbeat.beat(now)
      let hasMore = try turn()
      if member.hasLeft { break }
      let answers = poster.wait(timeoutMilliseconds: hasMore ? 0 : Self.turnMilliseconds)
      wakeup.clear()
      now = MonotonicClock.milliseconds()
      for answer in answers { handle(answer) }
    }
    context.status.end(heartbeat)
    graves.close()
    if let failure = member.failure { throw failure }
  }

  /// - Returns: true when there is more to do now.
  private func turn() throws(ServiceFailure) -> Bool {
    for source in try graves.acknowledged() { buried(source) }
    followGroup()
    if member.hasLeft { return false }
    let hasMore = readRecords()
    while let action = machine.next(now: now, wall: wall) {
      switch action {
      case .send(let source, let batch): send(batch, of: source)
      case .bury(let source, let batch, let attempts):
        try bury(batch, of: source, attempts: attempts)
      }
    }
    graves.watch(now: now)
    recorder.show(machine, wall: wall)
    counters.set(.queued, machine.queued)
    remind()
    return hasMore
  }

  // MARK: Records

  private func readRecords() -> Bool {
    guard !member.isDraining else { return false }
    let taken = member.take(into: &records, upTo: records.capacity, ofEach: Self.most) {
      partition in
      guard let topic = topics.firstIndex(of: partition.topic) else { return false }
      return machine.hasRoom(Source(topic: topic, partition: partition.partition))
    }
    for index in 0..<records.count { receive(records[index]) }
    records.release()
    return taken > 0
  }

  private func receive(_ record: KafkaRecord) {
    let source = member.source(record)
    if record.isEndOfPartition { return member.ended(source, at: record.offset) }
    if let error = record.error {
      return context.report(error, as: WebhooksLog.recordsNotRead)
    }
    switch member.admit(source, record) {
    case .known: return
    case .new: break
    case .deadly:
      recorder.note { $0.unreadable += 1 }
      return member.completed(source, epoch: member.epoch, record.offset)
    }
    let result = reader.read(record, from: sources[source.topic])
    if result.unwanted + result.unreadable > 0 {
      recorder.note { figures in
        figures.unwanted += result.unwanted
        figures.unreadable += result.unreadable
      }
    }
    if result.unreadable > 0 {
      context.log(
        WebhooksLog.recordStrange,
        ["topic": record.topic, "partition": "\(record.partition)", "offset": "\(record.offset)"])
    }
    guard !result.events.isEmpty else {
      return member.completed(source, epoch: member.epoch, record.offset)
    }
    machine.add(result.events, of: source, now: now)
  }

  // MARK: Requests

  private func send(_ batch: WebhookBatch, of source: Source) {
    underway[source] = (batch, now)
    counters.add(.requests)
    let timestamp = wall / 1_000
    let signature = WebhookSignature.header(
      id: batch.id, timestamp: timestamp, body: batch.body, keys: subscription.keys)
    poster.post(
      subscription.url,
      headers: [
        "Content-Type: application/json", "User-Agent: martlet-webhooks/\(Version.text)",
        "webhook-id: \(batch.id)", "webhook-timestamp: \(timestamp)",
        "webhook-signature: \(signature)",
      ], body: batch.body, timeoutMilliseconds: subscription.timeout, tag: source.tag)
  }

  private func handle(_ answer: WebhookPoster.Answer) {
    let source = Source(tag: answer.tag)
    guard let (batch, sentAt) = underway.removeValue(forKey: source) else { return }
    let verdict =
      answer.status.map {
        WebhookAnswer.status(
          $0, retryAfter: answer.retryAfter.flatMap { WebhookAnswer.retryAfter($0, now: wall) })
      } ?? .none
    if answer.status != nil { recorder.answered(after: now - sentAt) }
    recorder.note { figures in
      if verdict.isAccepted {
        figures.accepted += 1
        figures.delivered += batch.count
      } else if answer.status == nil {
        figures.unanswered += 1
      } else {
        figures.refused += 1
      }
    }
    if verdict.isAccepted {
      counters.add(.delivered, batch.count)
    } else {
      counters.add(.failed)
      lastProblem = answer.status.map { "HTTP status \($0)" } ?? answer.problem
    }
    let random = UInt64.random(in: .min ... .max)
    complete(machine.answered(source, verdict, now: now, random: random), source)
  }

  private func complete(_ offsets: [Int64], _ source: Source) {
    for offset in offsets { member.completed(source, epoch: member.epoch, offset) }
  }

  /// Logs that the endpoint does not accept events, at once and then from time to time.
  private func remind() {
    if machine.isGone, !isGoneReported {
      isGoneReported = true
      context.log(WebhooksLog.endpointGone, ["endpoint": subscription.name])
    }
    switch reminder.step(isFailing: machine.isFailing, now: now) {
    case .nothing: break
    case .report:
      context.log(
        WebhooksLog.endpointFails,
        ["endpoint": subscription.name, "problem": lastProblem, "waiting": "\(machine.queued)"])
    case .reportResolved:
      context.log(WebhooksLog.endpointAccepts, ["endpoint": subscription.name])
    }
  }

  // MARK: Dead letters

  private func bury(
    _ batch: WebhookBatch, of source: Source, attempts: Int
  ) throws(ServiceFailure) {
    context.log(
      WebhooksLog.eventsTooOld,
      [
        "endpoint": subscription.name, "events": "\(batch.count)", "attempts": "\(attempts)",
        "problem": lastProblem, "webhook_id": batch.id,
      ])
    try graves.write(
      batch, source, topic: topics[source.topic], attempts: attempts,
      problem: lastProblem, at: wall)
  }

  private func buried(_ entry: (source: Source, count: Int)) {
    counters.add(.deadLettered, entry.count)
    recorder.note { $0.deadLettered += entry.count }
    complete(machine.buried(entry.source), entry.source)
  }

  // MARK: The group

  private func followGroup() {
    while let task = member.next(now: now, isIdle: machine.isIdle) {
      switch task {
      case .begun(let partitions): machine.begin(partitions.map { member.source($0) })
      case .drain: machine.drain()
      case .abandon, .unassigned: giveUp()
      }
    }
  }

  /// Abandons the work in flight, which the next owner of the partitions repeats.
  private func giveUp() {
    poster.cancelAll()
    underway = [:]
    graves.abandon()
    machine.removeAll()
  }
}
