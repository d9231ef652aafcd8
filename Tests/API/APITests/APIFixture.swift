// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTPClient
import Kafka
import Records
import ServiceKit
import Synchronization
import Telemetry
import TestSupport

@testable import API

/// The HTTP API on a thread of this process, with the keys `shop` (app `com.example.shop`), `all` (every app), `slow` (one
/// request per second), and `operator` and `pacer` (the first two, with paces and campaigns), whose texts are their names.
final class APIFixture {
  let kafka: KafkaFixture
  let folder: TemporaryFolder
  let context: ServiceContext
  let url: String
  let port: UInt16
  private let started = Started()

  init(
    _ flags: [String] = [], keys: String? = nil, in folder: TemporaryFolder = TemporaryFolder(),
    topics: [(name: String, partitions: Int)] = [
      ("requests", 4), ("devices", 1), ("schedule", 1), ("controls", 1),
    ], embedded: Bool = false, _ change: (inout APISettings) -> Void = { _ in }
  ) throws {
    self.folder = folder
    kafka = try KafkaFixture(topics: topics, embedded: embedded)
    let file = folder.file("keys")
    try File.write(file, Array((keys ?? Self.keys).utf8))
    let context = try APIService.context(
      ["--topic-prefix", kafka.prefix, "--keys", file, "--listen", "127.0.0.1:0"] + flags)
    var settings = try APISettings(context.values)
    settings.kafka = kafka.configuration
    change(&settings)
    self.context = context
    let started = started
    let (ready, names) = (settings, TopicNames(prefix: kafka.prefix))
    let thread = try LoopThread(name: "api") {
      defer { started.end() }
      do {
        guard
          let cluster = try ClusterView.wait(
            ready.kafka, KafkaRights(of: .api, names), optional: [names.controls], of: names,
            context)
        else { return }
        let loop = try APILoop(ready, context, names, cluster)
        started.set(loop.port)
        try loop.run()
      } catch {
        started.fail("\(error)")
      }
    }
    thread.detach()
    port = try started.wait()
    url = "\(flags.contains("--tls-key") ? "https" : "http")://127.0.0.1:\(port)/v1/notifications"
  }

  deinit {
    context.signals.requestStop()
    _ = eventually { started.hasEnded }
  }

  static let keys = """
    [{"name":"shop","sha256":"\(digest("shop"))","apps":["com.example.shop"]},
     {"name":"all","sha256":"\(digest("all"))","apps":["*"],"max_body":4096},
     {"name":"operator","sha256":"\(digest("operator"))","apps":["*"],"paces":true,"campaigns":true},
     {"name":"pacer","sha256":"\(digest("pacer"))","apps":["com.example.shop"],"paces":true,"campaigns":true},
     {"name":"slow","sha256":"\(digest("slow"))","apps":["*"],"rate":1}]
    """

  static func digest(_ key: String) -> String {
    SHA256Digest.of(key).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }

  func post(
    _ body: String, key: String? = "all", type: String = "application/json", headers: [String] = []
  ) throws -> (status: Int, text: String) {
    try post(Array(body.utf8), key: key, type: type, headers: headers)
  }

  func post(
    _ body: [UInt8], key: String? = "all", type: String = "application/json", headers: [String] = []
  ) throws -> (status: Int, text: String) {
    let authorization = key.map { ["Authorization: Bearer \($0)"] } ?? []
    let answer = try HTTPClient(timeoutMilliseconds: 30_000).post(
      url, body, contentType: type, headers: authorization + headers)
    return (answer.status, answer.text)
  }

  /// - Parameter path: below `/v1/`, with its query.
  func send(
    _ method: String, _ path: String, _ body: String? = nil, key: String? = "all",
    type: String = "application/json"
  ) throws -> (status: Int, text: String) {
    let authorization = key.map { ["Authorization: Bearer \($0)"] } ?? []
    let answer = try HTTPClient(timeoutMilliseconds: 30_000).send(
      method, "http://127.0.0.1:\(port)/v1/\(path)", body.map { Array($0.utf8) },
      contentType: type, headers: authorization)
    return (answer.status, answer.text)
  }

  /// A request with the key `shop`, on its own connection, whose body is still to be sent.
  ///
  /// - Parameter fields: separated by line breaks.
  func begin(_ fields: String) throws -> RawClient {
    let client = try RawClient(port: port)
    client.send(
      "POST /v1/notifications HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer shop\r\nConnection: close\r\n"
        + "\(fields)\r\n\r\n")
    return client
  }

  func requests(_ count: Int) throws -> [ReadRecord] {
    try kafka.read(kafka.name("requests"), count: count)
  }

  /// A series on `/metrics`.
  func value(of metric: String, _ labels: [String]) -> MetricValue? {
    context.counters.samples.first { $0.metric.name == metric && $0.labels == labels }?.value
  }

  static func json(_ text: String) throws -> JSONValue { try JSONParser().parse(text) }
}

/// Where the API listens, as soon as it does.
private final class Started: Sendable {
  private struct Failure: Error { let text: String }
  private let state = Mutex<(port: UInt16, failure: String?, hasEnded: Bool)>((0, nil, false))

  func set(_ port: UInt16) { state.withLock { $0.port = port } }
  func end() { state.withLock { $0.hasEnded = true } }
  var hasEnded: Bool { state.withLock { $0.hasEnded } }
  func fail(_ text: String) { state.withLock { $0.failure = text } }

  func wait() throws -> UInt16 {
    _ = eventually { self.state.withLock { $0.port != 0 || $0.failure != nil } }
    return try state.withLock { state in
      if let failure = state.failure { throw Failure(text: failure) }
      guard state.port != 0 else { throw Failure(text: "the API did not start") }
      return state.port
    }
  }
}
