// SPDX-License-Identifier: Apache-2.0

/// The parts of an answer that two gateways can be compared by: nothing that names a device, a key or a notification.
public struct GatewayAnswer: Sendable, Equatable {
  public enum Ending: Sendable, Equatable {
    case answered
    /// RST_STREAM with this code.
    case reset(UInt32)
    /// Nothing came, for this reason.
    case none(String)
  }

  /// What `apns-id` the answer has.
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
  /// From the request's end to the answer's.
  public var milliseconds: Int64 = 0

  public init(_ ending: Ending, status: UInt16 = 0, reason: String? = nil) {
    self.ending = ending
    self.status = status
    self.reason = reason
  }

  /// Kinds of the frames that carry it.
  public var frames: [String] {
    switch ending {
    case .answered: bodyBytes > 0 ? ["HEADERS", "DATA"] : ["HEADERS"]
    case .reset: ["RST_STREAM"]
    case .none: []
    }
  }

  /// Names of the header fields, of those that are looked at.
  public var fields: [String] {
    guard case .answered = ending else { return [] }
    let looked = [
      (":status", true), ("apns-id", identifier != .missing), ("apns-unique-id", hasUniqueID),
      ("date", hasDate), ("retry-after", hasRetryAfter),
    ]
    return looked.filter(\.1).map(\.0)
  }

  /// What is different in another gateway's answer to the same request; times are not compared.
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
      // Another reason has another length.
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

/// One difference between the answers of two gateways.
public struct AnswerDifference: Sendable, Equatable {
  /// `status`, `reason`, `apns-id`…
  public let name: String
  /// The real gateway's, and the simulator's.
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
