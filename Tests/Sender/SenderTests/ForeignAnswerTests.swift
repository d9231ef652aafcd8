// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import SenderDecisions
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// Answers of something that stands between the sender and APNs.
@Suite(.serialized) struct ForeignAnswerTests {
  private static let page = "<html><body>403 Forbidden \u{1B}[31m</body></html>"
  private static let other = "11111111-2222-4333-8444-555555555555"

  /// What a proxy, a captive portal or a web server says, for every push.
  static let answers: [(String, GatewayReply.Answer)] = [
    ("410 html", .init(status: 410, body: page, identifier: "")),
    ("410 empty", .init(status: 410, identifier: "")),
    (
      "410 with a reason, without an id",
      .init(status: 410, body: reason("Unregistered"), identifier: "")
    ),
    ("410 with an id, without a reason", .init(status: 410)),
    ("410 of another push", .init(status: 410, body: reason("Unregistered"), identifier: other)),
    ("403 html", .init(status: 403, body: page, identifier: "")),
    ("404 empty", .init(status: 404, identifier: "")),
    ("200 without an id", .init(status: 200, identifier: "")),
    ("202", .init(status: 202)), ("204", .init(status: 204, identifier: "")),
    ("301", .init(status: 301, identifier: "")),
    ("400 whose body is cut off", .init(status: 400, body: #"{"reason":"BadDeviceTo"#)),
    ("407", .init(status: 407, body: page, identifier: "")),
    ("503 html", .init(status: 503, body: page, identifier: "")),
    (
      "410 with a body without an end", .init(status: 410, body: String(repeating: " ", count: 300))
    ),
  ]

  private static func reason(_ name: String) -> String { #"{"reason":"\#(name)"}"# }

  @Test(arguments: answers)
  func `at one of two addresses: it is left, and everything is delivered at the other one`(
    title: String, answer: GatewayReply.Answer
  ) throws {
    let rig = try SenderRig()
    var proxy = ScriptedGateway.Script()
    proxy.reply = { _, _ in .answer(answer) }
    let gateways = try rig.gateways([proxy, .init()])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways) { $0.pool.minimum = 2 }
    try rig.sendMany(50)
    let receipts = try rig.receipts(50)
    #expect(Set(receipts.map(\.apnsID)).count == 50)
    #expect(receipts.allSatisfy { $0.outcome == .delivered }, "\(title)")
    #expect(gateways[1].count == 50)
    #expect(sender.counter("rejected") == 0 && sender.counter("retried") == 0)
    #expect(sender.counter("foreign_answers") == gateways[0].count)
    #expect(gateways[0].count <= 5)
  }

  @Test func `200 with another's id is an acceptance, and the receipt names the id`() throws {
    let gateway = try ScriptedGateway { _ in .answer(.init(identifier: Self.other)) }
    let rig = try SenderRig(hasToken: true)
    let sender = try rig.startSender(loops: 1, answering: gateway)
    try rig.sendMany(10)
    let receipts = try rig.receipts(10)
    #expect(receipts.count == 10)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.answeredID == Self.other })
    #expect(gateway.count == 10 && sender.counter("foreign_answers") == 0)
  }
}
