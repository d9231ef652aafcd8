// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel

/// A response with any status, header fields and body.
struct CustomAnswer: Sendable, Equatable {
  /// From 100 to 999.
  var status: UInt16
  /// The fields after `:status`; names in lower case.
  var headers: [(name: String, value: String)] = []
  var body: [UInt8] = []
  /// The reason in the body, if it is one of APNs'.
  var reason: Reason?

  static func == (left: CustomAnswer, right: CustomAnswer) -> Bool {
    left.status == right.status && left.body == right.body
      && left.headers.elementsEqual(right.headers, by: ==)
  }
}

/// The response planned for a request, and its time.
struct AnswerPlan: Sendable, Equatable {
  enum Verdict: Sendable, Equatable {
    case accepted
    case refused(Refusal)
    case custom(CustomAnswer)
    /// The stream is reset with this code.
    case reset(UInt32)
    /// No response: the stream stays open.
    case silence
  }

  var verdict: Verdict
  /// Milliseconds from now.
  var delay: UInt64
  /// Whether the push takes effect: it is delivered or stored. True for every acceptable push, whatever happens to its
  /// response; code that replaces the verdict with a refusal must set it to false.
  var isProcessed = false
  /// Whether a fault has replaced the verdict.
  var isReplaced = false
  var form = FaultForm()

  /// Replaces the verdict with a fault's response; the first one wins. A push that it rejects has no effect.
  mutating func replace(by verdict: Verdict) {
    guard !isReplaced else { return }
    self.verdict = verdict
    isReplaced = true
    isProcessed = isProcessed && verdict == .accepted
  }
}

/// A plan encoded as the number that a waiting request carries, without memory of its own.
///
/// The low byte is the action: 0 accepts, a reason's raw value + 1 refuses, and there are three more. The rest is its
/// argument: the length of a refusal's body in the scratch memory, an error code, or the index of a custom response.
enum EncodedVerdict {
  static let accepted: UInt32 = 0
  static let custom: UInt32 = 0xFD
  static let reset: UInt32 = 0xFE
  static let silence: UInt32 = 0xFF
  /// Marks responses to broadcasts and channel management, which have a different id field.
  static let channelMark: UInt32 = 0x8000_0000
  private static let argumentShift: UInt32 = 8

  static func with(_ kind: UInt32, argument: UInt32) -> UInt32 {
    kind | (argument & 0x7F_FFFF) << argumentShift
  }

  static func argument(of verdict: UInt32) -> UInt32 { verdict >> argumentShift & 0x7F_FFFF }
}

/// The custom responses waiting for their time. Owned by one loop.
struct CustomAnswers {
  private var entries: [CustomAnswer?] = []
  private var free: [Int] = []

  mutating func add(_ answer: CustomAnswer) -> UInt32 {
    let place = free.popLast() ?? entries.count
    if place == entries.count { entries.append(answer) } else { entries[place] = answer }
    return UInt32(place)
  }

  func status(_ place: UInt32) -> UInt16 { entries[Int(place)]?.status ?? 0 }

  mutating func take(_ place: UInt32) -> CustomAnswer? {
    let answer = entries[Int(place)]
    entries[Int(place)] = nil
    free.append(Int(place))
    return answer
  }
}
