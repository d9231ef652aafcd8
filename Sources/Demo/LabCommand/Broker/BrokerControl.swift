// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import HTTPServer
import Kafka
import Records
import Telemetry

/// Controls the embedded broker's faults over HTTP, for tests in other processes.
///
/// Broker ids start at 1; a body without one applies to all brokers.
struct BrokerControl {
  private let broker: EmbeddedBroker
  private let topics: [TopicSpecification]

  init(_ broker: EmbeddedBroker, _ topics: [TopicSpecification]) {
    self.broker = broker
    self.topics = topics
  }

  /// Starts listening; the server runs until the result is released.
  func serve(host: String, port: UInt16) throws(HTTPServerError) -> HTTPServer {
    try HTTPServer(host: host, port: port, routes: routes)
  }

  var routes: [HTTPRoute] {
    [
      route("PUT", "/brokers", setBrokers), route("PUT", "/leaders", setLeaders),
      route("PUT", "/coordinators", setCoordinator), route("POST", "/errors", injectErrors),
      route("PUT", "/errors/clear", clearErrors), route("PUT", "/topics", setTopic),
    ]
  }

  /// An invalid request body; the response names the field.
  private struct Refusal: Error {
    let text: String
  }

  private func route(
    _ method: String, _ path: String, _ apply: @escaping @Sendable (JSONValue) throws -> Void
  ) -> HTTPRoute {
    HTTPRoute(method, path) { request in
      do {
        try apply(try JSONDocument(request.body).root)
        return .json("{\"status\":\"ok\"}\n")
      } catch {
        let problem = (error as? Refusal)?.text ?? "\(error)"
        let answer: JSONValue = ["error": .string(problem)]
        return .json(String(decoding: answer.text + [10], as: UTF8.self), status: 400)
      }
    }
  }

  /// `{"broker":1,"up":false,"round_trip_ms":200}`: stops and restarts brokers with their data; delays responses.
  @Sendable private func setBrokers(_ body: JSONValue) throws {
    for number in try brokers(body) {
      switch body["up"]?.bool {
      case true?: broker.setUp(broker: number)
      case false?: broker.setDown(broker: number)
      case nil: break
      }
      if let delay = body["round_trip_ms"]?.int {
        guard (0...60_000).contains(delay) else {
          throw Refusal(text: "round_trip_ms must be 0 to 60000")
        }
        broker.setRoundTrip(milliseconds: Int32(delay), broker: number)
      }
    }
  }

  /// `{"topic":"push.requests","partition":0,"broker":2}`: changes the leader, of all partitions if none is named.
  @Sendable private func setLeaders(_ body: JSONValue) throws {
    guard let name = body["topic"]?.string, let topic = topics.first(where: { $0.name == name })
    else { throw Refusal(text: "topic names no topic of this broker") }
    guard body["broker"] != nil, let number = try brokers(body).first else {
      throw Refusal(text: "broker is missing")
    }
    var partitions = 0..<topic.partitions
    if let one = body["partition"]?.int {
      guard partitions.contains(Int32(clamping: one)) else {
        throw Refusal(text: "partition: \(name) has \(topic.partitions)")
      }
      partitions = Int32(one)..<Int32(one) + 1
    }
    for partition in partitions {
      try broker.setLeader(topic: name, partition: partition, broker: number)
    }
  }

  /// `{"group":"martlet-sender","broker":2}`: changes the coordinator.
  @Sendable private func setCoordinator(_ body: JSONValue) throws {
    guard let group = body["group"]?.string, body["broker"] != nil,
      let number = try brokers(body).first
    else { throw Refusal(text: "group and broker are needed") }
    try broker.setCoordinator(group: group, broker: number)
  }

  /// `{"request":"produce","errors":["disconnect","request_timed_out"]}`: sets the responses to the next requests of
  /// that kind, one each.
  @Sendable private func injectErrors(_ body: JSONValue) throws {
    let names = body["errors"]?.array ?? []
    broker.inject(try names.map { try fault($0, field: "errors") }, into: try request(body))
  }

  /// `{"topic":"push.receipts","error":"unknown_topic_or_partition"}`: sets the error in the topic's metadata; without
  /// `error` it is removed.
  @Sendable private func setTopic(_ body: JSONValue) throws {
    guard let name = body["topic"]?.string, topics.contains(where: { $0.name == name })
    else { throw Refusal(text: "topic names no topic of this broker") }
    broker.setTopic(name, fault: try body["error"].map { try fault($0, field: "error") })
  }

  private func fault(_ name: JSONValue, field: String) throws -> EmbeddedBroker.Fault {
    guard let fault = Self.faults[name.string ?? ""] else {
      throw Refusal(
        text: "\(field): there are \(Self.faults.keys.sorted().joined(separator: ", "))")
    }
    return fault
  }

  /// The faults by name. A request may have thousands of them.
  private static let faults = Dictionary(
    uniqueKeysWithValues: EmbeddedBroker.Fault.allCases.map { (SnakeCase.text("\($0)"), $0) })

  /// `{"request":"produce"}`: removes unused errors.
  @Sendable private func clearErrors(_ body: JSONValue) throws {
    broker.clearFaults(of: try request(body))
  }

  private func request(_ body: JSONValue) throws -> EmbeddedBroker.Request {
    let all = EmbeddedBroker.Request.allCases
    guard let request = all.first(where: { SnakeCase.text("\($0)") == body["request"]?.string })
    else {
      throw Refusal(
        text: "request: there are "
          + all.map { SnakeCase.text("\($0)") }.joined(separator: ", "))
    }
    return request
  }

  private func brokers(_ body: JSONValue) throws -> [Int32] {
    let all = 1...Int32(broker.brokers)
    guard let value = body["broker"] else { return Array(all) }
    guard let number = value.int, all.contains(Int32(clamping: number)) else {
      throw Refusal(text: "broker must be 1 to \(broker.brokers)")
    }
    return [Int32(number)]
  }
}
