// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTPClient
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

/// Prometheus reads a pipeline under load, and everything in deploy/ that asks it has an answer.
@Suite struct DashboardTests {
  /// Metrics of the rules that a pipeline in which all is well does not have: no app is refused, and no API key ends.
  private static let absent: Set = [
    "martlet_sender_refused_seconds", "martlet_api_key_not_after_timestamp_seconds",
    "martlet_api_certificate_not_after_timestamp_seconds",
  ]
  private let folder = TemporaryFolder()

  /// The queries of every panel, as Grafana would send them.
  private func panelQueries() throws -> [(title: String, expression: String)] {
    let text = try File.read(Repository.path("deploy/grafana/martlet.json"))
    let panels = try JSONDocument(text).root["panels"]?.array ?? []
    return panels.flatMap { panel in
      (panel["targets"]?.array ?? []).compactMap { target in
        target["expr"]?.string.map {
          (
            panel["title"]?.string ?? "",
            $0.replacing("$job", with: ".*").replacing("$instance", with: ".*")
              .replacing("$__rate_interval", with: "10s")
          )
        }
      }
    }
  }

  /// A sender with a client certificate, beside those of `martlet up`.
  private func certificateSender(_ addresses: JSONValue) throws -> (BuiltProgram, url: String) {
    let issued = try CertificateAuthority().issueClient(bundleID: "com.example.certified")
    try issued.write(certificate: folder.file("client.pem"), key: folder.file("client-key.pem"))
    let entry = #"{"certificate_file":"client.pem","key_file":"client-key.pem"}"#
    try File.write(folder.file("certificates.json"), Array("[\(entry)]".utf8))
    let sender = try BuiltProgram.start(
      "martlet-sender",
      [
        "--kafka", try #require(addresses["kafka"]?.string), "--gateway",
        try #require(addresses["gateway"]?.string), "--gateway-roots",
        folder.file("up/keys/root.pem"), "--certificates", folder.file("certificates.json"),
      ], in: folder)
    let url = eventually {
      StatusPageURL.find(in: sender.output) != nil
    }
    #expect(url, "\(sender.output)")
    return (sender, try #require(StatusPageURL.find(in: sender.output)))
  }

  /// A file of subscriptions with an endpoint that is not there.
  private func subscriptions() throws -> String {
    let file = folder.file("subscriptions.json")
    let entry = """
      [{"name":"crm","url":"https://127.0.0.1:1/","events":["*"],\
      "secrets":["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"]}]
      """
    try File.write(file, Array(entry.utf8), mode: 0o600)
    return file
  }

  /// A canary beside the pipeline.
  private func canary(_ addresses: JSONValue) throws -> BuiltProgram {
    let canary = try BuiltProgram.start(
      "martlet",
      [
        "canary", "--kafka", try #require(addresses["kafka"]?.string), "--canary",
        "com.example.app,production,\(PipelineRig.token(7)),1s",
      ], in: folder)
    try #require(
      canary.prints(ServiceKitLog.statusPages, withinMilliseconds: 30_000), "\(canary.output)")
    return canary
  }

  /// A campaign to two devices, one of which has deleted the app.
  private func startCampaign(_ addresses: JSONValue) throws {
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    func address(_ name: String) throws -> String { try #require(addresses[name]?.string) }
    let (api, key) = (try address("api") + "/v1", try address("api_key"))
    func send(_ method: String, _ url: String, _ body: String? = nil) throws -> Int {
      try client.send(
        method, url, body.map { Array($0.utf8) }, contentType: "application/json",
        headers: ["Authorization: Bearer \(key)"]
      ).status
    }
    let devices = ["d1", "d2"].map { String(repeating: $0, count: 32) }
    let registration = #"{"app":"com.example.app","tags":["asked"]}"#
    for device in devices {
      #expect(try send("PUT", "\(api)/devices/\(device)", registration) == 202)
    }
    let admin = try address("gateway_admin")
    _ = try send("POST", "http://\(admin)/tokens/\(devices[0])/uninstall")
    for device in devices {
      let path = "\(api)/devices/\(device)?app=com.example.app"
      #expect(try eventually { try send("GET", path) == 200 })
    }
    let campaign =
      #"{"campaign":"asked","request":{"app":"com.example.app","payload":{"aps":{"alert":"x"}}},"#
      + #""audience":{"tags_any":["asked"]}}"#
    var status = 0
    // 503 until the database is complete and what was asked of campaigns has been read.
    _ = try eventually {
      status = try send("POST", "\(api)/campaigns", campaign)
      return status != 503
    }
    #expect(status == 202)
  }

  /// Requests for devices, in batches, as long as `isNeeded`.
  private func send(to kafka: String, while isNeeded: () throws -> Bool) throws {
    let producer = try KafkaProducer(KafkaConfiguration(bootstrap: kafka, clientID: "test"))
    defer { producer.close() }
    let topic = try producer.topic(named: TopicNames().requests)
    var number = 0
    while try isNeeded() {
      for _ in 0..<20 {
        number += 1
        let token = PipelineRig.token(number)
        let value =
          #"{"app":"com.example.app","token":"\#(token)","payload":{"aps":{"alert":"x"}}}"#
        Array(token.utf8).withUnsafeBytes { key in
          Array(value.utf8).withUnsafeBytes {
            _ = producer.produce(topic, key: key, value: $0, tag: 0)
          }
        }
      }
      #expect(producer.flush(timeoutMilliseconds: 30_000))
    }
  }

  @Test func `every query of the dashboard and of the rules has data, and every rule is evaluated`()
    throws
  {
    let up = try BuiltProgram.start(
      "martlet", ["up", "--dir", folder.file("up"), "--webhooks", try subscriptions()], in: folder)
    try #require(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    let addresses = try JSONDocument(try File.read(folder.file("up/addresses.json"))).root
    let (sender, page) = try certificateSender(addresses)
    let canary = try canary(addresses)
    try startCampaign(addresses)
    let pages = try #require(addresses["metrics"]?.object).members.compactMap(\.value.string)
    let rules = try AlertRuleFile()
    let prometheus = try PrometheusServer(
      scraping: pages + [page, try #require(StatusPageURL.find(in: canary.output))],
      rules: rules.text, in: folder)
    // The lag of the groups is looked at every ten seconds.
    var missing = try panelQueries().map { (what: $0.title, expression: $0.expression) }
    missing += rules.rules.flatMap { rule in
      Set(Self.metrics(in: rule.expression)).subtracting(Self.absent)
        .map { (what: rule.name, expression: $0) }
    }
    let declared = try Repository.text("docs/reference/metrics.md")
    for name in Self.absent { #expect(declared.contains("| `\(name)` |"), "\(name)") }
    let deadline = MonotonicClock.milliseconds() + 120_000
    try send(to: try #require(addresses["kafka"]?.string)) {
      missing = try missing.filter { query in
        try prometheus.query(query.expression).allSatisfy { PrometheusServer.value($0) == nil }
      }
      return !missing.isEmpty && MonotonicClock.milliseconds() < deadline
    }
    #expect(missing.isEmpty, "no data: \(missing)")
    for rule in try prometheus.rules() {
      #expect(rule["health"]?.string == "ok", "\(rule["name"] ?? .null): \(rule)")
    }
    #expect(try prometheus.rules().count == rules.rules.count)
    #expect(canary.stop() == 0 && sender.stop() == 0)
    #expect(up.stop() == 0, "\(up.output)")
  }

  /// The names of metrics in an expression.
  static func metrics(in expression: String) -> [String] {
    expression.matches(of: #/\b(?:martlet|process)_[a-z_]+|\bup\b/#).map { String($0.output) }
  }
}

/// Where a program's log says that its status pages are.
enum StatusPageURL {
  static func find(in log: String) -> String? {
    log.ranges(of: "\(ServiceKitLog.statusPages.rawValue) url=").last.map { range in
      String(log[range.upperBound...].prefix { !$0.isWhitespace })
    }
  }
}
