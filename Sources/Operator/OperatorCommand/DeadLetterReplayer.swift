// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

struct ReplayResult: Equatable {
  var sent: [String: Int] = [:]
  var skipped: [ReplayPlan.Obstacle: Int] = [:]
  /// The number of records that Kafka rejected permanently.
  var refused = 0
  var wasStopped = false

  var total: Int { sent.values.reduce(0, +) }

  mutating func count(_ plan: ReplayPlan) {
    switch plan {
    case .send(let topic, _, _): sent[topic, default: 0] += 1
    case .skip(let obstacle): skipped[obstacle, default: 0] += 1
    }
  }

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
    case .unknownStage: "its stage and origin name no topic that it could go back to"
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

/// Sends dead letters back to the topics that they came from.
final class DeadLetterReplayer {
  private let output: ReplayProducer
  private let names: TopicNames
  private let context: ServiceContext
  private let planner: ReplayPlanner
  private(set) var result = ReplayResult()

  /// - Parameter topics: The topics that the letters go to, as far as they exist.
  init(
    _ cluster: KafkaCluster, _ topics: [String], _ planner: ReplayPlanner,
    _ context: ServiceContext
  ) throws(ServiceFailure) {
    names = planner.names
    self.context = context
    self.planner = planner
    output = try ReplayProducer(cluster, topics, context)
  }

  /// Replays one letter; returns false if the command is being stopped.
  func replay(_ letter: DeadLetterEntry) throws(ServiceFailure) -> Bool {
    let plan = planner.plan(letter, now: WallClock.milliseconds())
    guard case .send(let name, let key, let value) = plan else {
      result.count(plan)
      return true
    }
    // A notification has it in its envelope; other records have none.
    let trace =
      [names.requests, names.campaignRequests].contains(name) ? letter.letter.traceParent : nil
    let headers = trace.map { [KafkaHeader(TraceParent.header, $0)] } ?? []
    return try output.produce(name, key: key, value: value, headers: headers)
  }

  /// Waits until Kafka has acknowledged or rejected everything. A stop that is requested meanwhile leaves nothing out.
  func finish() throws(ServiceFailure) {
    result.wasStopped = context.signals.isStopping
    try output.finish()
    (result.sent, result.refused) = (output.sent, output.refused)
  }

  func end() -> String { output.end() }
}
