// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// One push that is answered with each reason, among others that are served.
@Suite struct ReasonTests {
  /// - Returns: the loop when the push has ended, or waits for a new credential or for a quarter of an hour.
  private func loop(_ reason: Reason, times: Int, _ target: PushTarget) -> ScriptedLoop {
    let loop = ScriptedLoop()
    loop.produce(100..<120)
    #expect(loop.runToEnd(of: 20))
    var answered = 0
    loop.answer { request in
      guard request.push == 0, answered < times else { return .accepted }
      answered += 1
      return .reason(reason)
    }
    loop.produce(0) { $0.target = target }
    for number in 1...20 {
      loop.produce(number)
      loop.run(milliseconds: 1_000)
    }
    return loop
  }

  @Test(arguments: Reason.allCases, [PushTarget.device, .channel])
  func `a push ends as the row of its answer says, and the others are delivered`(
    reason: Reason, target: PushTarget
  ) throws {
    let loop = loop(reason, times: 1, target)
    if reason.rule.subject == .credential { loop.publishToken() }
    _ = loop.runToEnd(of: 41, within: 70_000)
    let ending = try #require(loop.endings[0], "\(loop.moves)")
    switch reason.rule.verdict {
    case .delivered, .foreign: Issue.record("no reason means that")
    case .rejected:
      #expect(ending.outcome == .rejected && ending.answer?.reason == reason)
      #expect(ending.attempts == 1)
    case .retryElsewhere, .refreshToken, .credentialRefused, .retryLater:
      #expect(ending.outcome == .delivered && ending.attempts == 2)
      #expect(loop.moves.count == (reason.rule.verdict == .retryLater(.throttled) ? 1 : 0))
    }
    #expect(loop.delivered(1..<21))
    #expect(loop.endings.values.allSatisfy { $0.attempts <= 2 })
    let asked = loop.tokenRequests.contains { $0.reason == reason }
    if reason.rule.credential == .refresh { #expect(asked) }
    // The signer takes a request for a refusal of the token.
    if [CredentialAction.none, .freeze].contains(reason.rule.credential) { #expect(!asked) }
  }

  @Test(arguments: [400, 403, 404, 409, 410, 418, 429, 500, 502, 504] as [UInt16])
  func `a push that is answered without a reason that is known ends by its status`(
    status: UInt16
  ) throws {
    let loop = ScriptedLoop()
    loop.produce(100..<120)
    #expect(loop.runToEnd(of: 20))
    let response = GatewayResponse(status: status, body: .otherReason)
    var isAnswered = false
    loop.answer { request in
      guard request.push == 0, !isAnswered else { return .accepted }
      isAnswered = true
      return .answer(response, after: 20, retryAfter: 0)
    }
    loop.produce(0)
    loop.run(milliseconds: 20_000)
    let ending = try #require(loop.endings[0])
    let isFinal = status < 429 && status != 403
    #expect(ending.outcome == (isFinal ? .rejected : .delivered))
    #expect(ending.attempts == (isFinal ? 1 : 2))
    #expect(loop.moves.map(\.tier) == (status == 429 ? [.seconds5] : []))
  }
}
