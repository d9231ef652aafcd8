// SPDX-License-Identifier: Apache-2.0
import HTTPClient
import Records
import ServiceKit
import Telemetry
import Testing

@testable import Contract
@testable import OperatorCommand

private let token = String(repeating: "Ab", count: 32)
private let channel = "dHN0LXNyY2gtY2hubA=="

@Suite struct CanarySpecificationTests {
  private func canary(_ target: String) throws -> CanarySpecification {
    try #require(
      try CanarySpecification.all(parsing: "com.example.app,production,\(target),1m").first)
  }

  @Test func `a device token and a channel id are distinguished`() throws {
    #expect(try canary(token).target == .device(token.lowercased()))
    #expect(try canary(channel).target == .channel(channel))
    #expect(try canary(token).labels == ["com.example.app", "production", "abababab"])
    #expect(try canary(channel).intervalMilliseconds == 60_000)
    #expect(try canary("user:ann").target == .user("ann"))
    #expect(try canary("user:ann.b").labels == ["com.example.app", "production", "user:ann.b"])
  }

  @Test func `several canaries are separated by blanks, and each has series of its own`() throws {
    let two = "a,production,\(token),1m  a,sandbox,\(token),5m\n"
    #expect(try CanarySpecification.all(parsing: two).count == 2)
    #expect(throws: CanaryProblem.self) {
      try CanarySpecification.all(parsing: "a,production,\(token),1m a,production,\(token),5m")
    }
  }

  @Test(arguments: [
    "", " ", "a", "a,production,\(token)", "a,production,\(token),1m,", ",production,\(token),1m",
    "a,live,\(token),1m", "a,production,no target!,1m", "a,production,\(token),0s",
    "a,production,\(token),2d", "a,production,\(token),soon", "a,production,user:,1m",
    "a,production,user:\u{7F},1m",
  ])
  func `a text that is no canary is refused`(text: String) {
    #expect(throws: CanaryProblem.self) { try CanarySpecification.all(parsing: text) }
  }

  /// What ingest would say of it.
  @Test(arguments: [token, channel, "user:ann"])
  func `a canary's request keeps the rules of requests`(target: String) throws {
    let canary = try canary(target)
    let id = CanarySpecification.idPrefix + "1"
    let text = canary.request(id: id, wall: 1_800_000_000_500, timeout: 10_000)
    let reader = RequestReader()
    try text.withUnsafeBytes { bytes in
      let request = try reader.read(bytes)
      #expect(String(decoding: request.id, as: UTF8.self) == id)
      #expect(request.isBroadcast == (target == channel))
      #expect(request.lane == .first)
      #expect(request.isToUsers == (target == "user:ann"))
      if !request.isBroadcast { #expect(request.expiration == 1_800_000_011) }
    }
  }
}

@Suite struct CanaryMetricsTests {
  @Test func `a page has a canary's verdict, its last success, its failures and its stages`() throws
  {
    let canaries = try CanarySpecification.all(parsing: "a,sandbox,\(token),1m")
    let telemetry = CanaryTelemetry(canaries)
    #expect(try page(telemetry).values("martlet_canary_success").isEmpty)
    let stages = CanaryWatch.Stages(ingest: 5, sender: 60, receipt: -3, total: 62)
    telemetry.ended(0, .success(stages), wall: 7_500)
    telemetry.ended(0, .failure(.rejected), wall: 9_000)
    let page = try page(telemetry)
    #expect(page.values("martlet_canary_success").map(\.value) == [0])
    #expect(page.sum("martlet_canary_last_success_timestamp_seconds") == 7.5)
    #expect(page.sum("martlet_canary_pushes_total", ["result": "delivered"]) == 1)
    #expect(page.sum("martlet_canary_pushes_total", ["result": "rejected"]) == 1)
    #expect(page.sum("martlet_canary_pushes_total") == 2)
    #expect(page.sum("martlet_canary_stage_seconds_sum", ["stage": "total"]) == 0.062)
    #expect(page.sum("martlet_canary_stage_seconds_sum", ["stage": "receipt"]) == 0)
    let labels = ["app": "a", "environment": "sandbox", "target": "abababab"]
    #expect(page.values("martlet_canary_stage_seconds_count", labels).count == 4)
  }

  @Test func `a status names the canaries that fail`() throws {
    let canaries = try CanarySpecification.all(parsing: "a,sandbox,\(token),1m")
    let telemetry = CanaryTelemetry(canaries)
    telemetry.ended(0, .failure(.noReceipt), wall: 9_000)
    #expect(
      try warnings(telemetry) == ["! canary a sandbox abababab fails; none was delivered yet"])
    let stages = CanaryWatch.Stages(ingest: 1, sender: 1, receipt: 1, total: 3)
    telemetry.ended(0, .success(stages), wall: 40_000)
    #expect(try warnings(telemetry).isEmpty)
    telemetry.ended(0, .failure(.noReceipt), wall: 50_000)
    #expect(
      try warnings(telemetry) == [
        "! canary a sandbox abababab fails; the last success was 60 s ago"
      ])
  }

  private func page(_ telemetry: CanaryTelemetry) throws -> MetricPage {
    try MetricPage(MetricText.page(telemetry.samples))
  }

  private func warnings(_ telemetry: CanaryTelemetry) throws -> [String] {
    let reading = ProcessReading(process: "canary", state: .ready, page: try page(telemetry))
    return StatusText.warnings(PipelineStatus([reading], before: [], seconds: 1, wall: 100))
  }
}
