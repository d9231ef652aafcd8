// SPDX-License-Identifier: Apache-2.0
import GatewayModel

/// An answer that is none of the usual ones: any status, any header fields, any body.
struct CustomAnswer: Sendable, Equatable {
  /// 100…999.
  var status: UInt16
  /// After `:status`; names in lower case.
  var headers: [(name: String, value: String)] = []
  var body: [UInt8] = []

  static func == (left: CustomAnswer, right: CustomAnswer) -> Bool {
    left.status == right.status && left.body == right.body
      && left.headers.elementsEqual(right.headers, by: ==)
  }
}

/// The answer that a request will get, and its time.
struct AnswerPlan: Sendable, Equatable {
  enum Verdict: Sendable, Equatable {
    case accepted
    case refused(Refusal)
    case custom(CustomAnswer)
    /// The stream is reset with this code.
    case reset(UInt32)
    /// Nothing, ever: the stream stays open.
    case silence
  }

  var verdict: Verdict
  /// Milliseconds from now.
  var delay: UInt64
  /// The push takes effect: it is delivered or stored. True for an acceptable one whatever becomes of
  /// its answer; who puts a refusal in its place must say false.
  var isProcessed = false
  /// A fault has replaced the verdict.
  var isReplaced = false
  var form = FaultForm()

  /// Puts a fault's answer in place of the verdict: of several the first counts. The push then takes no effect.
  mutating func replace(by verdict: Verdict) {
    guard !isReplaced else { return }
    self.verdict = verdict
    isReplaced = true
    isProcessed = isProcessed && verdict == .accepted
  }
}

/// A plan as the number that a request carries while it waits, without memory of its own.
///
/// The low byte is what to do: 0 accepts, a reason's raw value + 1 refuses, and three more. The rest
/// belongs to it: the length of a refusal's body in the scratch memory, an error code, or the place of
/// a custom answer.
enum EncodedVerdict {
  static let accepted: UInt32 = 0
  static let custom: UInt32 = 0xFD
  static let reset: UInt32 = 0xFE
  static let silence: UInt32 = 0xFF
  /// Marks answers of broadcasts and of channel management, which have another id.
  static let channelMark: UInt32 = 0x8000_0000
  private static let argumentShift: UInt32 = 8

  static func with(_ kind: UInt32, argument: UInt32) -> UInt32 {
    kind | (argument & 0x7F_FFFF) << argumentShift
  }

  static func argument(of verdict: UInt32) -> UInt32 { verdict >> argumentShift & 0x7F_FFFF }
}

/// Custom answers that wait for their time. Owned by one loop.
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
