// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

/// What answers count as, for every status, id and body.
@Suite struct AnswerKindTests {
  private static let bodies: [AnswerBody] =
    [.nothing, .otherReason] + Reason.allCases.map { .reason($0) }

  /// All that there is, with what follows from it.
  private func every(_ check: (UInt16, AnswerID, AnswerBody, GatewayResponse) -> Void) {
    for status in UInt16(0)...1_000 {
      for id in AnswerID.allCases {
        for body in Self.bodies {
          check(status, id, body, GatewayResponse(status: status, body: body, id: id))
        }
      }
    }
  }

  @Test func `an answer without an id is no evidence, whatever its status and body`() {
    every { status, id, body, answer in
      guard id == .none else { return }
      #expect(answer.kind == .foreign, "\(status) \(body)")
    }
  }

  @Test func `a refusal without a reason is none, and neither is a status that APNs does not use`()
  {
    every { status, id, body, answer in
      guard status != 200, body == .nothing || !(400...599).contains(status) else { return }
      #expect(answer.kind == .foreign, "\(status) \(id) \(body)")
    }
  }

  @Test func `200 with an id is accepted, be it another's: the stream says what it is about`() {
    every { status, id, body, answer in
      #expect((answer.verdict == .delivered) == (status == 200 && id != .none))
    }
  }

  @Test
  func `a refusal with another's id may be about another push, but for an id that was unreadable`()
  {
    every { status, id, body, answer in
      guard id == .other, status != 200 else { return }
      let isUnreadable = body == .reason(.badMessageId) && (400...599).contains(status)
      #expect(answer.kind == (isUnreadable ? .refused(.badMessageId) : .foreign))
    }
  }

  @Test
  func `a refusal with its id: a known reason decides with its row, another one by the status`() {
    every { status, id, body, answer in
      guard id == .sent, (400...599).contains(status) else { return }
      switch body {
      case .nothing: #expect(answer.kind == .foreign)
      case .reason(let reason):
        #expect(answer.kind == .refused(reason))
        #expect(answer.verdict == reason.rule.verdict)
      case .otherReason:
        #expect(answer.kind == .refusedOtherwise)
        let wanted: Verdict =
          switch status {
          case 403: .credentialRefused
          case 410: .rejected(aboutToken: true)
          case 429: .retryLater(.throttled)
          case 408, 502, 504: .retryElsewhere
          case 400..<500: .rejected(aboutToken: false)
          default: .retryLater(.fault)
          }
        #expect(answer.verdict == wanted, "\(status)")
      }
    }
  }

  @Test func `a foreign answer is never final, and says nothing about a token or a credential`() {
    every { status, id, body, answer in
      #expect(answer.isForeign == (answer.verdict == .foreign))
      guard answer.isForeign else { return }
      #expect(answer.verdict(for: .channel) == .foreign)
      #expect(answer.credential == .none)
      #expect(answer.connection == .closeIfRepeated)
    }
  }
}
