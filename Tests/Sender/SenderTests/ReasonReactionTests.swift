// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// A sender and a gateway that gives each reason to one notification, each of an app with a credential of
/// its own, so that what one reason does to its credential leaves the others alone.
private struct ReasonRun: Sendable {
  let receipts: [NotificationID?: Receipt]
  /// Device tokens on the feedback topic.
  let feedback: Set<String>
  /// Device tokens on the shortest retry topic.
  let parked: Set<String>
  /// The reasons for which credentials were asked for again.
  let tokenRequests: String

  static let shared = Result { try ReasonRun() }

  private init() throws {
    let rig = try SenderRig(keys: Reason.allCases.count)
    try rig.addFaults("[" + Reason.allCases.map(Self.rule).joined(separator: ",") + "]")
    for reason in Reason.allCases { try Self.publishToken(reason, rig, generation: 1) }
    try rig.startSender(["--max-connections", "1"])
    for reason in Reason.allCases {
      try rig.send(
        SenderRig.token(Self.number(reason)),
        SenderRig.envelope(id: SenderRig.id(Self.number(reason)), app: Self.app(reason)))
    }
    let first = try rig.receipts(of: Reason.allCases.filter { !$0.isHeld }.map(Self.number))
    // What a breaker holds goes on when the credential is replaced.
    for reason in Reason.allCases where reason.isHeld {
      try Self.publishToken(reason, rig, generation: 2)
    }
    let held = try rig.receipts(of: Reason.allCases.filter(\.isHeld).map(Self.number))
    receipts = Dictionary(uniqueKeysWithValues: (first + held).map { ($0.apnsID, $0) })
    let about = Reason.allCases.count { $0.rule.verdict == .rejected(aboutToken: true) }
    feedback = Set(
      try rig.fixture.read(rig.names.feedback, count: about).compactMap {
        $0.key?.split(separator: ":").first.map(String.init)
      })
    let delayed = Reason.allCases.count { $0.rule.verdict == .retryLater(.throttled) }
    parked = Set(
      try rig.fixture.read(rig.names.retries(.seconds5), count: delayed).compactMap(\.key))
    tokenRequests = try Self.tokenRequests(rig)
  }

  /// The requests for tokens, once each reason that is certain to ask has asked.
  private static func tokenRequests(_ rig: SenderRig) throws -> String {
    let asking = Reason.allCases.filter { $0.rule.credential == .refresh }.map(\.name)
    var asked = ""
    _ = try eventually {
      asked = try rig.fixture.read(rig.names.tokenRequests, count: 1_000, timeoutMilliseconds: 300)
        .compactMap(\.value).joined(separator: "\n")
      return asking.allSatisfy(asked.contains)
    }
    return asked
  }

  static func number(_ reason: Reason) -> Int { Int(reason.rawValue) + 1 }

  private static func app(_ reason: Reason) -> String { "com.example.r\(number(reason))" }

  private static func rule(_ reason: Reason) -> String {
    let timestamp = reason.rule.status == 410 ? #","timestamp":1790000000000"# : ""
    return """
      {"id":"any_answer","status":\(reason.rule.status),"reason":"\(reason.name)"\(timestamp),\
      "when":{"token":"\(SenderRig.token(number(reason)))","times":1}}
      """
  }

  private static func publishToken(_ reason: Reason, _ rig: SenderRig, generation: Int64) throws {
    try rig.publishToken(
      issuedAt: WallClock.seconds() - 10 + generation, generation: generation,
      keyID: SenderRig.keyID(number(reason)), apps: [app(reason)])
  }
}

extension Reason {
  /// Its credential's breaker holds the notification back until there is another one.
  fileprivate var isHeld: Bool {
    rule.verdict == .credentialRefused || rule.verdict == .refreshToken
  }
}

/// Reasons as a sender meets them.
@Suite struct ReasonReactionTests {
  @Test(arguments: Reason.allCases)
  func `each reason: its notification ends as the decision table says`(_ reason: Reason) throws {
    let run = try ReasonRun.shared.get()
    let receipt = try #require(
      run.receipts[NotificationID(SenderRig.id(ReasonRun.number(reason)))], "no receipt")
    switch reason.rule.verdict {
    case .delivered, .foreign: Issue.record("no reason means that APNs took it, or did not answer")
    case .rejected:
      #expect(receipt.outcome == .rejected)
      #expect(receipt.reason == reason.name)
      #expect(receipt.status == reason.rule.status)
      #expect(receipt.attempts == 1)
    case .retryElsewhere, .refreshToken, .credentialRefused, .retryLater:
      #expect(receipt.outcome == .delivered)
      #expect(receipt.attempts == 2)
      let isDelayed = reason.rule.verdict == .retryLater(.throttled)
      #expect(run.parked.contains(SenderRig.token(ReasonRun.number(reason))) == isDelayed)
    }
    let isTold = run.feedback.contains(SenderRig.token(ReasonRun.number(reason)))
    #expect(isTold == (reason.rule.verdict == .rejected(aboutToken: true)))
    if reason.rule.credential == .refresh { #expect(run.tokenRequests.contains(reason.name)) }
    if reason.rule.credential == .freeze { #expect(!run.tokenRequests.contains(reason.name)) }
    if reason.rule.status == 410 { #expect(receipt.timestamp == 1_790_000_000_000) }
  }
}
