// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// A way in which APNs was seen to say goodbye.
enum GoAwayEnding: CaseIterable, Sendable {
  case shutdownWithOpenSocket, twoFrames, twoSteps, text, nothing, noUTF8, lastStreamZero

  static let shutdown = Array(#"{"reason":"Shutdown"}"#.utf8)

  /// Sends it on a connection whose streams above `last` were not processed.
  func send(_ http: HTTP2ServerConnection, last: Int32) {
    let last = UInt32(bitPattern: last)
    switch self {
    case .shutdownWithOpenSocket:
      http.staysOpen = true
      http.faulty?.sendRawGoAway(lastStreamID: last, debug: Self.shutdown)
    case .twoFrames:
      http.faulty?.sendRawGoAway(lastStreamID: last, debug: Self.shutdown)
      http.faulty?.sendRawGoAway(lastStreamID: last, debug: Self.shutdown)
    case .twoSteps:
      http.faulty?.sendRawGoAway(lastStreamID: UInt32(Int32.max), debug: [])
      http.faulty?.sendRawGoAway(lastStreamID: last, debug: Self.shutdown)
    case .text:
      let words = "Maximum active streams violated for this endpoint."
      http.faulty?.sendRawGoAway(lastStreamID: last, debug: Array(words.utf8))
    case .nothing: http.faulty?.sendRawGoAway(lastStreamID: last, debug: [])
    case .noUTF8: http.faulty?.sendRawGoAway(lastStreamID: last, debug: [0xFF, 0xC3, 0x28, 0x00])
    case .lastStreamZero: http.faulty?.sendRawGoAway(lastStreamID: 0, debug: Self.shutdown)
    }
  }
}

/// GOAWAY in every form on the wire. All that follows from one is in `SenderDecisionsTests`.
@Suite(.onOwnThread) struct GoAwayTests {
  /// Each connection answers its first request, holds the next 19, and says goodbye after the 20th: the
  /// streams up to the sixth may have been processed, those above were not.
  @Test(arguments: GoAwayEnding.allCases)
  func
    `streams above the last one go elsewhere at once and uncounted; the others wait, then are ambiguous`(
      _ form: GoAwayEnding
    ) throws
  {
    let rig = try SenderRig()
    let isOver = Once()
    var script = ScriptedGateway.Script()
    script.reply = { peer, request in
      guard isOver.isOwned(0, of: peer) else { return .answer(200) }
      if request.stream == 1 { return .answer(200) }
      if request.stream == 39 { form.send(peer.http, last: 11) }
      return .hold
    }
    let gateways = try rig.gateways([script, script])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, ["--request-timeout", "10s"])
    try rig.sendMany(20)
    let receipts = try rig.receipts(20)
    #expect(Set(receipts.map(\.apnsID)).count == 20)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    // Streams 3 to 11 had no answer: five of them. Last stream 0: none was processed.
    let ambiguous = form == .lastStreamZero ? 0 : 5
    #expect(receipts.filter { $0.attempts == 2 }.count == ambiguous)
    #expect(receipts.filter { $0.attempts == 1 }.count == 20 - ambiguous)
    #expect(sender.counter("resent_unprocessed") == 19 - ambiguous)
    #expect(sender.counter("resent_ambiguous") == ambiguous)
    #expect(sender.counter("go_aways") >= 1)
    #expect(eventually { gateways.contains { Self.hasClosedFarewell($0.seen) } })
  }

  @Test func `a gateway leaves in good order if it says neither an error nor unknown words`() {
    func isError(_ debug: String, code: UInt32 = HTTP2ErrorCode.noError) -> Bool {
      GoAwayReason(Array(debug.utf8), parser: JSONParser()).isError(code: code)
    }
    #expect(!isError(""))
    #expect(!isError(#"{"reason":"Shutdown"}"#), "the reason decides")
    #expect(isError(#"{"reason":"TooManyErrors"}"#))
    #expect(isError("Maximum active streams violated for this endpoint."))
    #expect(isError("", code: HTTP2ErrorCode.enhanceYourCalm))
  }

  /// Whether the connection that said goodbye has ended. Others may live: the sender opens as many as it needs.
  private static func hasClosedFarewell(_ seen: GatewayRecord) -> Bool {
    seen.requests.contains { $0.stream == 39 && seen.ended.contains($0.connection) }
  }
}
