// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTPClient
import Kafka
import Records
import TestSupport
import Testing

/// `--push-type`: a type that no release knows, from a request to the gateway.
@Suite struct PushTypeTests {
  private static let setting = ["--push-type", "weather=.push-type.weather", "--push-type=tides="]

  private func request(_ number: Int, _ type: String) -> (key: String, value: String) {
    (
      PipelineRig.token(number),
      #"{"id":"r\#(number)","app":"com.example.app","type":"\#(type)","#
        + #""token":"\#(PipelineRig.token(number))","payload":{"front":"cold"}}"#
    )
  }

  /// The receipts of these requests, by their id.
  private func outcomes(_ rig: PipelineRig, count: Int) throws -> [String: String] {
    var outcomes: [String: String] = [:]
    let isRead = try rig.readReceipts(
      { receipt in
        if let id = receipt["id"]?.string { outcomes[id] = receipt["outcome"]?.string }
      }, until: { outcomes.count >= count })
    #expect(isRead, "only \(outcomes)")
    return outcomes
  }

  @Test func `an invented type is delivered with its header and its topic`() throws {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator(Self.setting + ["--json-check", "strict"])
    for name in PipelineRig.services {
      let takesTypes = name == "martlet-ingest" || name == "martlet-sender"
      try rig.start(name, takesTypes ? Self.setting : [])
    }
    try rig.awaitServices()
    let types = ["weather", "tides", "snow"]
    try rig.produce(rig.names.requests, 0..<3) { request($0, types[$0]) }
    #expect(
      try outcomes(rig, count: 3) == [
        "r0": "delivered", "r1": "delivered", "r2": "dead_lettered",
      ])
    let seen = try HTTPClient().get("http://\(rig.gatewayAdmin)/requests").text
      .split(separator: "\n").map { try JSONDocument(String($0)).root }
    let topics = Dictionary(
      seen.map { ($0["type"]?.string ?? "", $0["topic"]?.string ?? "") }, uniquingKeysWith: +)
    #expect(topics == ["weather": "com.example.app.push-type.weather", "tides": "com.example.app"])
  }

  @Test func `a gateway without the setting refuses the type, and so does a sender`() throws {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    for name in PipelineRig.services {
      try rig.start(name, name == "martlet-ingest" ? Self.setting : [])
    }
    try rig.awaitServices()
    try rig.produce(rig.names.requests, 0..<1) { request($0, "weather") }
    var detail = ""
    _ = try rig.read(
      rig.names.deadLetters,
      { record in
        detail =
          record.headers.first { $0.name == DeadLetterHeader.detail }
          .map { String(decoding: $0.value, as: UTF8.self) } ?? ""
      }, until: { !detail.isEmpty })
    #expect(detail.hasPrefix("push type: is not valid"), "\(detail)")
    #expect(rig.stop("martlet-sender") == 0)
    try rig.start("martlet-sender", Self.setting)
    try #require(rig.isUp("martlet-sender"))
    try rig.produce(rig.names.requests, 1..<2) { request($0, "weather") }
    #expect(try outcomes(rig, count: 1) == ["r1": "rejected"])
  }
}
