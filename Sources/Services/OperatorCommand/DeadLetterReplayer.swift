// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import EventLoop
import Glibc
import JSON
import Kafka
import ServiceKit

/// The result of a replay, or of a dry run.
struct ReplayResult: Equatable {
  /// Records by the topic that they went to.
  var sent: [String: Int] = [:]
  var skipped: [ReplayPlan.Obstacle: Int] = [:]
  /// Records that Kafka will never take.
  var refused = 0
  var wasStopped = false

  var total: Int { sent.values.reduce(0, +) }

  mutating func count(_ plan: ReplayPlan) {
    switch plan {
    case .send(let topic, _, _): sent[topic, default: 0] += 1
    case .skip(let obstacle): skipped[obstacle, default: 0] += 1
    }
  }

  /// The summary, a line for each outcome.
  func lines(isDryRun: Bool) -> [String] {
    let verb = isDryRun ? "would be replayed" : "replayed"
    var lines = sent.sorted { $0.key < $1.key }.map { "\($0.value) \(verb) to \($0.key)" }
    for obstacle in ReplayPlan.Obstacle.allCases {
      if let count = skipped[obstacle] { lines.append("\(count) skipped: \(words(obstacle))") }
    }
    if refused > 0 { lines.append("\(refused) refused by Kafka") }
    if wasStopped { lines.append("stopped before the last dead letter: the list is incomplete") }
    return lines.isEmpty ? ["no dead letter matches"] : lines
  }

  private func words(_ obstacle: ReplayPlan.Obstacle) -> String {
    switch obstacle {
    case .unreadable: "cannot be parsed as a request or notification"
    case .cut: "the value was too long and was cut"
    case .expired: "the expiration has passed"
    case .unknownLane: "its lane is none of --lanes"
    case .unknownStage: "it has no stage header"
    case .webhook: "it is for one endpoint only; docs/webhooks.md says how to send its events again"
    }
  }

  func json(isDryRun: Bool) -> String {
    var topics = JSONObject()
    for (topic, count) in sent.sorted(by: { $0.key < $1.key }) {
      topics.append(topic, .integer(Int64(count)))
    }
    var obstacles = JSONObject()
    for obstacle in ReplayPlan.Obstacle.allCases {
      if let count = skipped[obstacle] {
        obstacles.append(obstacle.rawValue, .integer(Int64(count)))
      }
    }
    let object: JSONValue = [
      "dry_run": .bool(isDryRun), "replayed": .object(topics), "skipped": .object(obstacles),
      "refused": .integer(Int64(refused)), "complete": .bool(!wasStopped),
    ]
    return String(decoding: object.text, as: UTF8.self)
  }
}

/// Produces the records of a replay.
final class DeadLetterReplayer {
  /// With each record's topic.
  private let producer: TaggedProducer<String>
  private let names: TopicNames
  private let context: ServiceContext
  private let planner: ReplayPlanner
  /// The topics that there are: one is never made by a replay.
  private let known: Set<String>
  private var watch: WriteWatch
  private var noProgress: ProgressLine?
  private(set) var result = ReplayResult()

  init(
    _ cluster: KafkaCluster, _ names: TopicNames, _ planner: ReplayPlanner,
    _ context: ServiceContext
  ) throws(ServiceFailure) {
    self.names = names
    self.context = context
    self.planner = planner
    do {
      producer = try TaggedProducer(cluster.configuration)
      let known = Set(try cluster.admin.partitionCounts(timeoutMilliseconds: 10_000).keys)
      self.known = known
      let topics = [names.requests] + names.lanes.all.map { names.notifications($0) }
      watch = WriteWatch(cluster, topics.filter { known.contains($0) })
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// Replays one letter; false when the command is being stopped.
  func replay(_ letter: DeadLetterEntry) throws(ServiceFailure) -> Bool {
    let plan = planner.plan(letter, now: WallClock.milliseconds())
    guard case .send(let name, let key, let value) = plan else {
      result.count(plan)
      return true
    }
    guard known.contains(name) else {
      throw ServiceFailure("there is no topic \(name); martlet topics create creates it")
    }
    try drain()
    let topic: KafkaTopic
    do throws(KafkaError) {
      topic = try producer.topic(name)
    } catch {
      throw ServiceFailure("\(error)")
    }
    // A notification has it in its envelope, and nothing else has one.
    let trace =
      [names.requests, names.campaignRequests].contains(name) ? letter.letter.traceParent : nil
    let headers = trace.map { [KafkaHeader(TraceParent.header, $0)] } ?? []
    while !context.signals.isStopping {
      do throws(KafkaError) {
        if try producer.produce(topic, key: key, value: value, headers: headers, as: name) {
          result.count(plan)
          return true
        }
      } catch {
        refuse(error)
        return true
      }
      usleep(1_000)
      try drain()
    }
    return false
  }

  private func refuse(_ error: KafkaError) {
    result.refused += 1
    StandardError.line("Kafka refuses a record: \(error)")
  }

  private func drain() throws(ServiceFailure) {
    for answer in producer.drainAnswers() {
      guard let error = answer.refused else { continue }
      refuse(error)
      result.sent[answer.tag]? -= 1
    }
    try watch.look(producer.standing, &noProgress)
  }

  /// Waits until Kafka has answered for everything. A second stop signal ends the process anyway.
  func finish() throws(ServiceFailure) {
    defer { producer.close() }
    while producer.outstanding > 0 {
      producer.flush(timeoutMilliseconds: 200)
      try drain()
    }
    try drain()
    result.wasStopped = context.signals.isStopping
  }
}
