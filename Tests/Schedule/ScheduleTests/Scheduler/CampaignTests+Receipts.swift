// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Records
import Testing

@testable import Scheduler

/// What receipts say of campaigns.
extension CampaignTests {
  private static func count(
    _ lines: [String], _ campaigns: [CampaignRecord], remembered: Int = 1_000
  ) -> CampaignReceipts.Tallies {
    var tallies: CampaignReceipts.Tallies = [:]
    var counted = DedupWindow(capacity: remembered)
    let subjects = Dictionary(
      uniqueKeysWithValues: campaigns.map { ($0.key, CampaignReceipts.Subject($0)) })
    Array(lines.joined(separator: "\n").utf8).withUnsafeBytes {
      CampaignReceipts.count($0, subjects, &tallies, &counted)
    }
    return tallies
  }

  /// A receipt as senders write it.
  static func line(
    _ campaign: String?, _ outcome: Outcome = .delivered, id: String = "campaign:a",
    app: String = app, environment: Environment = .production, status: UInt16 = 200,
    reason: String = "", took: Int64 = 100, more: String = ""
  ) -> String {
    var buffer = ByteBuffer()
    var line = ReceiptLine(outcome, at: 1_795_000_000_000 + took)
    (line.environment, line.status, line.created) = (environment, status, 1_795_000_000_000)
    let fields = Array((more + (campaign.map { "\tcampaign=\($0)" } ?? "")).utf8)
    fields.withUnsafeBytes { fields in
      Array(id.utf8).withUnsafeBytes { id in
        Array(app.utf8).withUnsafeBytes { app in
          Array(reason.utf8).withUnsafeBytes { reason in
            (line.escapedID, line.app, line.reason, line.apnsID) = (id, app, reason, id)
            if fields.count > 1 {
              line.carried = CarriedFields(UnsafeRawBufferPointer(rebasing: fields[1...]))
            }
            ReceiptEncoder.append(line, into: &buffer)
          }
        }
      }
    }
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  @Test
  func `receipts are counted by the campaign that ingest has noted, of its app and environment`()
    throws
  {
    let lines = [
      Self.line("a"), Self.line("a", .rejected, id: "x"), Self.line("a", .deduplicated),
      Self.line("ab"), Self.line(nil), Self.line("a", app: "com.example.other"),
      Self.line("a", environment: .sandbox), "", "campaign:a",
      // What an application says in its own fields is no campaign.
      Self.line(nil, more: "\tdata=" + #"{"x":"1","campaign":"a"}"#),
      Self.line(nil, more: "\tdata=" + #"{"campaign":"a"}"#),
      Self.line(nil, more: "\tgroup=" + #"x","campaign":"a"#), Self.line(nil, more: "\tgroup=a"),
      Self.line(nil, id: #"x\",\"campaign\":\"a"#),
    ]
    let tallies = try Self.count(lines, [Self.campaign("a")])
    #expect(tallies.count == 1)
    #expect(
      tallies[Self.key("a")]
        == .init(
          outcomes: CampaignCounts([("delivered", 1), ("rejected", 1), ("deduplicated", 1)]),
          evidence: CampaignEvidence(outcomes: 2, ended: 3, rejected: 1)))
  }

  /// As after a sender's crash, or a replay.
  @Test func `a push that was sent twice has one outcome, and each that differs counts`() throws {
    func push(_ number: Int, _ outcome: Outcome = .delivered) -> String {
      let id = NotificationID(version4: 1, UInt64(number))
      return Self.line("a", outcome, id: "\(id)")
    }
    let once = (0..<10).map { push($0) }
    let more = [
      push(0, .deduplicated), push(0, .deduplicated), push(10, .deadLettered), push(10), push(11),
    ]
    for remembered in [12, 1_000] {
      let all = once + once + more + more.suffix(1)
      let tally = Self.count(all, [try Self.campaign("a")], remembered: remembered)[Self.key("a")]
      #expect(
        tally?.outcomes
          == CampaignCounts([("delivered", 12), ("deduplicated", 2), ("dead_lettered", 1)]))
      #expect(tally?.evidence.ended == 15 && tally?.evidence.devices.outcomes == 13)
    }
  }

  @Test func `outcomes that are none are counted together, and a refused request is told`() throws {
    let invented = (0..<1_000).map { number in
      Self.line("a").replacing(#""delivered""#, with: "\"kind\(number)\"")
    }
    let refused =
      #"{"outcome":"dead_lettered","id":"campaign:a","app":"\#(Self.app)","environment":"production","reason":"invalid_request","detail":"lane: \"x\" is not one of a, b","at":1795000000000,"campaign":"a"}"#
    let tally = try #require(
      try Self.count(invented + [refused], [Self.campaign("a")])[Self.key("a")])
    #expect(tally.outcomes.named.map(\.name) == ["dead_lettered", "other"])
    #expect(tally.outcomes.total == 1_001)
    #expect(tally.evidence.refusal == #"lane: "x" is not one of a, b"#)
  }

  @Test func `invalid tokens and times are counted, and those of the app's other pushes`() throws {
    let limits = #","stop":{"unregistered_times":5,"slower_than_ms":2000}"#
    let campaigns = [try Self.campaign("a", more: limits), try Self.campaign("b")]
    let lines = [
      Self.line("a"), Self.line("a", took: 2_001),
      Self.line("a", .rejected, status: 410, reason: "Unregistered", took: 2_000),
      Self.line("a", .rejected, status: 400, reason: "BadDeviceToken"),
      Self.line("a", .rejected, status: 400, reason: "BadTopic"),
      Self.line("b", .rejected, status: 410, reason: "Unregistered"), Self.line(nil),
      Self.line(nil, .suppressed, reason: "token_known_invalid"), Self.line(nil, .deduplicated),
      Self.line(nil, app: Self.app + "s"), Self.line(nil, environment: .sandbox),
    ]
    let tallies = Self.count(lines, campaigns)
    #expect(
      tallies[Self.key("a")]?.evidence
        == CampaignEvidence(
          outcomes: 5, rejected: 3, unregistered: 2, timed: 5, slow: 1,
          others: .init(outcomes: 3, unregistered: 1)))
    #expect(
      tallies[Self.key("b")]?.evidence
        == CampaignEvidence(outcomes: 1, rejected: 1, unregistered: 1))
  }
}
