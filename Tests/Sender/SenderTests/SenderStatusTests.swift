// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import Sender

/// What a sender's status pages say while it works, and while it cannot.
@Suite(.serialized) struct SenderStatusTests {
  private func page(_ sender: RunningService) -> String {
    MetricText.page(sender.context.counters.samples)
  }

  private func value(_ series: String, _ sender: RunningService) -> Double? {
    for line in page(sender).split(separator: "\n") where line.hasPrefix("\(series) ") {
      return Double(line.dropFirst(series.count + 1))
    }
    return nil
  }

  /// The sum over all label values.
  private func sum(_ name: String, _ sender: RunningService) -> Double {
    page(sender).split(separator: "\n").filter { $0.hasPrefix(name + "{") }
      .reduce(0) { $0 + (Double($1.split(separator: " ").last ?? "") ?? 0) }
  }

  @Test func `every outcome is counted by lane, environment and reason, with its latency`() throws {
    let rig = try SenderRig(unregistered: [3], hasToken: true)
    let sender = try rig.startSender(loops: 1)
    for number in 0..<10 {
      try rig.send(
        SenderRig.token(number),
        SenderRig.envelope(
          id: SenderRig.id(number), environment: number < 8 ? .production : .sandbox))
    }
    try rig.send(
      SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(20), expiration: "1600000000"))
    try rig.send(SenderRig.token(1), "garbage")
    #expect(try rig.receipts(11).count == 11)
    let name = "martlet_sender_notifications_total"
    func notifications(_ outcome: String, _ environment: String) -> Double? {
      value(
        "\(name){outcome=\"\(outcome)\",lane=\"transactional\",environment=\"\(environment)\"}",
        sender)
    }
    #expect(notifications("delivered", "production") == 7)
    #expect(notifications("delivered", "sandbox") == 2)
    #expect(notifications("rejected", "production") == 1)
    #expect(notifications("expired", "production") == 1)
    #expect(sum(name, sender) == 11)
    #expect(eventually { value("martlet_sender_invalid_records_total", sender) == 1 })
    let reason = "{reason=\"Unregistered\",environment=\"production\"}"
    #expect(value("martlet_sender_error_responses_total\(reason)", sender) == 1)
    #expect(sum("martlet_sender_error_responses_total", sender) == 1)
    #expect(value("martlet_sender_delivery_seconds_count{lane=\"transactional\"}", sender) == 10)
    #expect(value("martlet_sender_request_seconds_count{environment=\"sandbox\"}", sender) == 2)
    try expectFacts(of: sender)
  }

  @Test func `an answer behind which a push is sent again has not delivered it`() throws {
    let rig = try SenderRig(hasToken: true)
    try rig.addFaults(
      #"[{"id":"any_answer","status":503,"reason":"ServiceUnavailable","#
        + #""when":{"token":"\#(SenderRig.token(1))","times":1}}]"#)
    let sender = try rig.startSender(loops: 1)
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1)))
    #expect(try rig.receipts(1).first?.attempts == 2)
    #expect(value("martlet_sender_delivery_seconds_count{lane=\"transactional\"}", sender) == 1)
    #expect(value("martlet_sender_request_seconds_count{environment=\"production\"}", sender) == 2)
  }

  /// What a loop writes down once a second.
  private func expectFacts(of sender: RunningService) throws {
    let credential = "credential=\"TEAM000001/KEY0000001/any\",environment=\"production\""
    let accepted = "martlet_sender_responses_total{\(credential),result=\"accepted\"}"
    #expect(eventually { value(accepted, sender) == 7 }, "\(page(sender))")
    #expect(value("martlet_sender_responses_total{\(credential),result=\"refused\"}", sender) == 1)
    #expect(value("martlet_sender_connections{state=\"ready\"}", sender) ?? 0 >= 2)
    #expect(value("martlet_sender_destinations{state=\"working\"}", sender) == 2)
    #expect(value("martlet_sender_backlog_seconds{lane=\"transactional\"}", sender) == 0)
    for (place, lane) in ["transactional", "bulk"].enumerated() {
      #expect(value("martlet_sender_lane_place{lane=\"\(lane)\"}", sender) == Double(place))
    }
    #expect(value("martlet_sender_streams_limit{environment=\"sandbox\"}", sender) ?? 0 > 1)
    let issued =
      "martlet_sender_provider_token_issued_timestamp_seconds{credential=\"TEAM000001/KEY0000001/any\"}"
    expectEventually {
      value(issued, sender).map { abs($0 - Double(WallClock.seconds())) < 3_600 } == true
    }
    #expect(value("martlet_sender_partitions_assigned", sender) ?? 0 > 4)
  }

  @Test func `what waits is shown by partition and offset, and why the sender is not ready`() throws
  {
    let rig = try SenderRig(partitions: 1)
    // Too old to be sent.
    try rig.publishToken(issuedAt: WallClock.seconds() - 7_200)
    let sender = try rig.startSender(loops: 1)
    let token = SenderRig.token(0xABCDEF)
    for number in 0..<3 {
      try rig.send(
        token,
        SenderRig.envelope(id: SenderRig.id(number), created: WallClock.milliseconds() - 60_000))
    }
    let reason = "no provider token for credential TEAM000001/KEY0000001/any"
    #expect(
      eventually {
        sender.context.status.obstacles.map(\.reason) == [reason]
      }, "\(sender.context.status.obstacles)")
    let backlog = "martlet_sender_backlog_seconds{lane=\"transactional\"}"
    #expect(eventually { value(backlog, sender) ?? 0 >= 60 })
    #expect(value("martlet_sender_destinations{state=\"no_token\"}", sender) == 1)
    let text = String(
      decoding: sender.context.status.sections.map(\.value.text).joined(), as: UTF8.self)
    let state = try #require(sender.context.status.sections.first { $0.name == "loop-0" }?.value)
    let partitions = try #require(state["partitions"]?.array)
    let partition = try #require(
      partitions.first {
        $0["partition"]?.string?.hasPrefix(rig.names.notifications(.first)) == true
      })
    #expect(partition["incomplete"]?.int == 3)
    #expect(partition["oldest"]?["offset"]?.int == 0)
    #expect(partition["oldest"]?["age_seconds"]?.anyNumber ?? 0 >= 60)
    #expect(partition["oldest"]?["state"]?.string == "waiting")
    #expect(!text.contains(token) && !text.contains("alert"), "\(text)")
    try rig.publishToken(generation: 2)
    #expect(try rig.receipts(3).count == 3)
    #expect(eventually { sender.context.status.obstacles.isEmpty })
    #expect(eventually { value(backlog, sender) == 0 })
  }
}
