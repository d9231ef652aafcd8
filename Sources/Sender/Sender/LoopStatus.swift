// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import ServiceKit
import Telemetry

/// How a loop stands, for `/metrics` and `/debug/state`: facts, made into text only when somebody asks. Holds no
/// secret, no device token and no payload.
struct LoopStatus: Sendable {
  struct Connection: Sendable {
    let address: SocketAddress
    let credential: String
    let environment: Environment
    let state: ConnectionStateMachine.State
    let openStreams: Int
    let limit: Int
    let credit: Int
    /// Milliseconds.
    let age: UInt64
  }

  /// An app that APNs refuses with a destination's credential, or that credential.
  struct Refusal: Sendable {
    /// nil: the credential, with all its apps.
    let app: String?
    /// Apple's reason.
    let reason: String
    /// Milliseconds since the first refusal.
    let age: UInt64
  }

  /// A pool: the pushes of one credential to one gateway.
  struct Destination: Sendable {
    /// Of the pool; never another one's.
    let index: Int
    let credential: String
    let environment: Environment
    let hasToken: Bool
    let trouble: DestinationHealth.Trouble?
    let waiting: Int
    /// Those of them that its state keeps from going.
    let held: Int
    let open: Int
    let accepted: Int
    let refused: Int
    /// Immediate retries that are left.
    let retriesLeft: Int
    /// Streams that lanes behind the first one may have; nil while nothing holds them back.
    var streamsOfOthers: Int?
    let refusals: [Refusal]
    /// How long it has been in its state without an accepted push, in milliseconds.
    var blocked: UInt64 = 0
    /// Whether its credential has series of its own.
    var isNamed = true
  }

  /// A record that was taken and is not complete.
  struct Record: Sendable {
    let offset: Int64
    /// Milliseconds since its request was made.
    let age: Int64
    let attempts: Int
    let state: PushLife.State
    /// Of its last retry; empty if there was none.
    let lastReason: String
  }

  struct Partition: Sendable {
    let name: TopicPartition
    /// The lane's name, or `retries`.
    let lane: String
    let incomplete: Int
    /// The first offset that is not complete; nil while nothing was read.
    let committable: Int64?
    /// How long that has not moved, in milliseconds.
    let headAge: UInt64
    /// nil when every outcome is on its way to Kafka.
    var oldest: Record?
  }

  /// A pace, as this loop keeps it.
  struct Pace: Sendable {
    /// `app:com.example.app:production`, `lane:bulk` or `group:spring-sale`.
    let name: String
    /// Pushes a second that the loop may send.
    let perSecond: Double
    /// Pushes that wait for it in slots.
    let waiting: Int
  }

  var connections: [Connection] = []
  var paces: [Pace] = []
  var destinations: [Destination] = []
  /// Of destinations that were closed.
  var former = FormerAnswers()
  var partitions: [Partition] = []
  /// The names of the lanes.
  var lanes: [String] = []
  /// When this was so, in monotonic milliseconds.
  var at: UInt64 = 0
  /// Notifications in memory that are older than `slowMilliseconds`.
  var slow = 0
  /// Milliseconds since a push was accepted, or since the loop was looked at first.
  private(set) var quiet: UInt64 = 0
  /// Refused apps with series of their own, in this or an earlier look: names come from requests, and must not become
  /// series without end.
  private(set) var namedApps: Set<String> = []

  static let slowMilliseconds: Int64 = 60_000
}

extension LoopStatus.Partition {
  /// How old the oldest unfinished notification is, in milliseconds; 0 without one.
  var backlog: Int {
    guard incomplete > 0 else { return 0 }
    return max(Int(clamping: headAge), oldest.map { Int(clamping: $0.age) } ?? 0)
  }
}

extension LoopStatus {
  /// Notes how long each destination has been in its state: since it was in another one, or a push was accepted. A gauge
  /// of the state alone, read now and then, would take many short outages for one long one.
  mutating func noteBlocked(since before: LoopStatus) {
    noteQuiet(since: before)
    let known = Dictionary(
      before.destinations.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
    for place in destinations.indices {
      let now = destinations[place]
      guard let then = known[now.index], then.stateName == now.stateName,
        then.accepted == now.accepted, at >= before.at
      else { continue }
      destinations[place].blocked = then.blocked + (at - before.at)
    }
  }
}

extension LoopStatus {
  /// Notes for how long no push was accepted.
  private mutating func noteQuiet(since before: LoopStatus) {
    func accepted(_ status: LoopStatus) -> Int {
      status.destinations.reduce(status.former.accepted) { $0 + $1.accepted }
    }
    guard before.at > 0, at >= before.at, accepted(self) <= accepted(before) else { return }
    quiet = before.quiet + (at - before.at)
  }

  /// Keeps the names of refused apps that have series of their own, and adds new ones as long as there is room.
  mutating func nameApps(since before: LoopStatus) {
    namedApps = before.namedApps
    for app in destinations.lazy.flatMap(\.refusals).compactMap(\.app)
    where namedApps.count < AppCounts.namedApps { namedApps.insert(app) }
  }
}

// MARK: Metrics

extension LoopStatus {
  var samples: [MetricSample] {
    connectionSamples + streamSamples + destinationSamples + former.samples + refusalSamples
      + backlogSamples + paceSamples
  }

  private var refusalSamples: [MetricSample] {
    destinations.flatMap { destination -> [MetricSample] in
      guard destination.stateName != Self.working else { return [] }
      let labels = [destination.metricName, "\(destination.environment)"]
      return [MetricSample(SenderMetrics.held, labels + [destination.stateName], destination.held)]
        + destination.refusals.map { refusal in
          let app = refusal.app.map { namedApps.contains($0) ? $0 : "other" }
          return MetricSample(
            SenderMetrics.refusedSeconds, [app ?? ""] + labels + [refusal.reason],
            .thousandths(Int(clamping: refusal.age)))
        }
    }
  }

  private var connectionSamples: [MetricSample] {
    ConnectionStateMachine.State.allCases.map { state in
      MetricSample(
        SenderMetrics.connections, ["\(state)"], connections.count { $0.state == state })
    }
  }

  private var streamSamples: [MetricSample] {
    Environment.allCases.flatMap { environment in
      let own = connections.filter { $0.environment == environment }
      let serving = own.filter { $0.state == .priming || $0.state == .ready }
      return [
        MetricSample(
          SenderMetrics.openStreams, ["\(environment)"], own.reduce(0) { $0 + $1.openStreams }),
        MetricSample(
          SenderMetrics.streamLimit, ["\(environment)"], serving.reduce(0) { $0 + $1.limit }),
        MetricSample(
          SenderMetrics.streamCredit, ["\(environment)"], own.reduce(0) { $0 + $1.credit }),
      ]
    }
  }

  private var destinationSamples: [MetricSample] {
    let states = [Self.working, "no_token"] + DestinationHealth.Trouble.allCases.map(\.rawValue)
    let counts = states.map { state in
      MetricSample(
        SenderMetrics.destinations, [state], destinations.count { $0.stateName == state })
    }
    let blocked = states.dropFirst().map { state in
      let longest = destinations.lazy.filter { $0.stateName == state }.map(\.blocked).max() ?? 0
      return MetricSample(SenderMetrics.blocked, [state], .thousandths(Int(clamping: longest)))
    }
    return counts + blocked
      + destinations.flatMap { destination -> [MetricSample] in
        let labels = [destination.metricName, "\(destination.environment)"]
        return FormerAnswers.samples(
          labels, accepted: destination.accepted, refused: destination.refused)
          + [MetricSample(SenderMetrics.retryBudget, destination.retriesLeft)]
          + (destination.streamsOfOthers.map {
            [MetricSample(SenderMetrics.governedStreams, labels, $0)]
          } ?? [])
      }
  }

  private var paceSamples: [MetricSample] {
    paces.map {
      MetricSample(
        SenderMetrics.paceAllowed, [$0.name], .thousandths(Int(($0.perSecond * 1_000).rounded())))
    }
  }

  private var backlogSamples: [MetricSample] {
    [
      MetricSample(SenderMetrics.slow, slow),
      MetricSample(SenderMetrics.quiet, [], .thousandths(Int(clamping: quiet))),
    ]
      + lanes.enumerated().map { MetricSample(SenderMetrics.lanePlace, [$1], $0) }
      + (lanes + [Self.retries]).map { lane in
        let oldest = partitions.filter { $0.lane == lane }.map(\.backlog).max() ?? 0
        return MetricSample(SenderMetrics.backlog, [lane], .thousandths(oldest))
      }
  }

  /// The lane of retry topics.
  static let retries = "retries"
  /// The state of a destination that nothing holds back.
  static let working = "working"
}

extension LoopStatus.Destination {
  var stateName: String { trouble?.rawValue ?? (hasToken ? LoopStatus.working : "no_token") }

  /// Its credential as a label.
  var metricName: String { isNamed ? credential : FormerAnswers.other }
}

// MARK: JSON

extension LoopStatus {
  /// Entries of one list of `/debug/state` at most; how many were left out is said.
  static let listLimit = 500

  var json: JSONValue {
    [
      "connections": Self.list(connections, \.json),
      "connections_in_all": .integer(Int64(connections.count)),
      "destinations": Self.list(destinations, \.json),
      "destinations_in_all": .integer(Int64(destinations.count)),
      "partitions": Self.list(partitions, \.json),
      "partitions_in_all": .integer(Int64(partitions.count)),
      "paces": Self.list(paces, \.json),
      "paces_in_all": .integer(Int64(paces.count)),
    ]
  }

  private static func list<Entry>(
    _ entries: [Entry], _ json: (Entry) -> JSONValue
  ) -> JSONValue {
    .array(entries.prefix(listLimit).map(json))
  }

  fileprivate static func seconds(_ milliseconds: Int64) -> JSONValue {
    .double(Double(milliseconds) / 1_000)
  }
}

extension LoopStatus.Connection {
  fileprivate var json: JSONValue {
    [
      "gateway": .string("\(address)"), "credential": .string(credential),
      "environment": .string("\(environment)"), "state": .string("\(state)"),
      "open_streams": .integer(Int64(openStreams)), "limit": .integer(Int64(limit)),
      "credit": .integer(Int64(credit)), "age_seconds": LoopStatus.seconds(Int64(age)),
    ]
  }
}

extension LoopStatus.Destination {
  fileprivate var json: JSONValue {
    [
      "credential": .string(credential), "environment": .string("\(environment)"),
      "state": .string(stateName), "blocked_seconds": LoopStatus.seconds(Int64(clamping: blocked)),
      "waiting": .integer(Int64(waiting)),
      "open": .integer(Int64(open)), "accepted": .integer(Int64(accepted)),
      "refused": .integer(Int64(refused)), "retries_left": .integer(Int64(retriesLeft)),
      "other_lanes_streams": streamsOfOthers.map { .integer(Int64($0)) } ?? .null,
      "refusals": .array(refusals.map(\.json)),
    ]
  }
}

extension LoopStatus.Refusal {
  fileprivate var json: JSONValue {
    [
      "app": app.map { .string($0) } ?? .null, "reason": .string(reason),
      "seconds": LoopStatus.seconds(Int64(clamping: age)),
    ]
  }
}

extension LoopStatus.Partition {
  fileprivate var json: JSONValue {
    [
      "partition": .string("\(name)"), "lane": .string(lane),
      "incomplete": .integer(Int64(incomplete)),
      "committable": committable.map { .integer($0) } ?? .null,
      "committable_unmoved_seconds": LoopStatus.seconds(Int64(clamping: headAge)),
      "oldest": oldest?.json ?? .null,
    ]
  }
}

extension LoopStatus.Pace {
  fileprivate var json: JSONValue {
    [
      "pace": .string(name), "per_second": .double(perSecond), "waiting": .integer(Int64(waiting)),
    ]
  }
}

extension LoopStatus.Record {
  fileprivate var json: JSONValue {
    [
      "offset": .integer(offset), "age_seconds": LoopStatus.seconds(age),
      "attempts": .integer(Int64(attempts)), "state": .string("\(state)"),
      "last_reason": .string(lastReason),
    ]
  }
}
