// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Testing

/// Which differences between two gateways' answers are named.
@Suite struct GatewayAnswerTests {
  private static func answer(_ change: (inout GatewayAnswer) -> Void = { _ in }) -> GatewayAnswer {
    var answer = GatewayAnswer(.answered, status: 400, reason: "BadDeviceToken")
    answer.identifier = .echoed
    answer.bodyBytes = 27
    change(&answer)
    return answer
  }

  private func names(_ real: GatewayAnswer, _ own: GatewayAnswer = Self.answer()) -> [String] {
    real.differences(from: own).map(\.name)
  }

  @Test func `the same answer has no difference, whenever it comes`() {
    #expect(names(Self.answer { $0.milliseconds = 900 }) == [])
  }

  @Test func `each part is named by itself`() {
    #expect(names(Self.answer { $0.status = 403 }) == ["status"])
    #expect(names(Self.answer { $0.hasTimestamp = true }) == ["timestamp"])
    #expect(names(Self.answer { $0.identifier = .made }) == ["apns-id"])
    #expect(names(Self.answer { $0.hasUniqueID = true }) == ["apns-unique-id"])
    #expect(names(Self.answer { $0.hasDate = true }) == ["date"])
    #expect(names(Self.answer { $0.hasRetryAfter = true }) == ["retry-after"])
    #expect(names(Self.answer { $0.bodyBytes = 40 }) == ["body_bytes"])
  }

  @Test func `another reason has another length, which is no difference of its own`() {
    let real = Self.answer {
      $0.reason = "Unregistered"
      $0.bodyBytes = 58
    }
    #expect(names(real) == ["reason"])
    let words = real.differences(from: Self.answer()).first
    #expect(words?.real == "Unregistered" && words?.simulator == "BadDeviceToken")
  }

  @Test func `an answer and none differ in their ending alone`() {
    #expect(names(GatewayAnswer(.reset(7))) == ["ending"])
    #expect(names(GatewayAnswer(.none("gone"))) == ["ending"])
    #expect(names(GatewayAnswer(.reset(7)), GatewayAnswer(.reset(7))) == [])
    #expect(names(GatewayAnswer(.reset(7)), GatewayAnswer(.reset(8))) == ["ending"])
  }

  @Test func `frames and fields are named`() {
    #expect(Self.answer().frames == ["HEADERS", "DATA"])
    #expect(GatewayAnswer(.answered, status: 200).frames == ["HEADERS"])
    #expect(GatewayAnswer(.reset(1)).frames == ["RST_STREAM"])
    #expect(Self.answer { $0.hasDate = true }.fields == [":status", "apns-id", "date"])
  }
}
