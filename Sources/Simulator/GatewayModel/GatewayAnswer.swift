// SPDX-License-Identifier: Apache-2.0

/// The parts of a response that two gateways are compared by; nothing identifies a device, key or notification.
public struct GatewayAnswer: Sendable, Equatable {
  public enum Ending: Sendable, Equatable {
    case answered
    /// RST_STREAM with this code.
    case reset(UInt32)
    /// No response, for this reason.
    case none(String)
  }

  /// The kind of `apns-id` in the response.
  public enum Identifier: String, Sendable { case echoed, made, missing }

  public var ending: Ending
  public var status: UInt16
  public var reason: String?
  public var hasTimestamp = false
  public var identifier = Identifier.missing
  public var hasUniqueID = false
  public var hasDate = false
  public var hasRetryAfter = false
  public var bodyBytes = 0
  /// The time from the end of the request to the end of the response.
  public var milliseconds: Int64 = 0

  public init(_ ending: Ending, status: UInt16 = 0, reason: String? = nil) {
    self.ending = ending
    self.status = status
    self.reason = reason
  }

  /// The types of the frames that carry the response.
  public var frames: [String] {
    switch ending {
    case .answered: bodyBytes > 0 ? ["HEADERS", "DATA"] : ["HEADERS"]
    case .reset: ["RST_STREAM"]
    case .none: []
    }
  }

  /// The names of the header fields that are compared.
  public var fields: [String] {
    guard case .answered = ending else { return [] }
    let looked = [
      (":status", true), ("apns-id", identifier != .missing), ("apns-unique-id", hasUniqueID),
      ("date", hasDate), ("retry-after", hasRetryAfter),
    ]
    return looked.filter(\.1).map(\.0)
  }

  /// Returns the differences to another gateway's response to the same request; times are not compared.
  public func differences(from other: GatewayAnswer) -> [AnswerDifference] {
    guard case .answered = ending, case .answered = other.ending else {
      return AnswerDifference.list([("ending", endingText, other.endingText)])
    }
    return AnswerDifference.list([
      ("status", "\(status)", "\(other.status)"),
      ("reason", reason ?? "none", other.reason ?? "none"),
      ("timestamp", Self.word(hasTimestamp), Self.word(other.hasTimestamp)),
      ("apns-id", identifier.rawValue, other.identifier.rawValue),
      ("apns-unique-id", Self.word(hasUniqueID), Self.word(other.hasUniqueID)),
      ("date", Self.word(hasDate), Self.word(other.hasDate)),
      ("retry-after", Self.word(hasRetryAfter), Self.word(other.hasRetryAfter)),
      // A different reason has a different length.
      (
        "body_bytes", "\(bodyBytes)",
        reason == other.reason && hasTimestamp == other.hasTimestamp
          ? "\(other.bodyBytes)" : "\(bodyBytes)"
      ),
    ])
  }

  public var endingText: String {
    switch ending {
    case .answered: "answered"
    case .reset(let code): "RST_STREAM \(code)"
    case .none: "none"
    }
  }

  private static func word(_ isThere: Bool) -> String { isThere ? "present" : "missing" }
}

/// A difference between the responses of two gateways.
public struct AnswerDifference: Sendable, Equatable {
  /// `status`, `reason`, `apns-id`…
  public let name: String
  /// The value in the real gateway's response, and in the simulator's.
  public let real: String
  public let simulator: String

  fileprivate static func list(
    _ pairs: [(name: String, real: String, simulator: String)]
  ) -> [AnswerDifference] {
    pairs.filter { $0.real != $0.simulator }.map {
      AnswerDifference(name: $0.name, real: $0.real, simulator: $0.simulator)
    }
  }
}
