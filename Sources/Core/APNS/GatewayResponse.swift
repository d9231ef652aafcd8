// SPDX-License-Identifier: Apache-2.0

/// An answer of APNs to one request: the status and what its body means. The body's JSON is read in IO.
public struct GatewayResponse: Equatable, Sendable {
  public let status: UInt16
  /// The reason, if the body gave one that is known.
  public let reason: Reason?
  /// With 410: when APNs last knew the token to be dead, in milliseconds since the epoch.
  public let timestamp: Int64?

  public init(status: UInt16, reason: Reason? = nil, timestamp: Int64? = nil) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
  }

  /// Whether it says that the token is dead: 410, with a reason to that effect or none that is known.
  public var isAboutDeadToken: Bool {
    status == 410 && (reason == nil || reason?.rule.kind == .token)
  }

  /// What to do with the notification. A known reason decides with its row; an unknown or missing one
  /// (APNs may add reasons, intermediaries send none) by the class of the status.
  public var verdict: Verdict {
    if status == 200 { return .delivered }
    if let rule = reason?.rule { return rule.verdict }
    switch status {
    // Whatever its words, 410 says that the token is no longer active for the topic.
    case 410: return .rejected(aboutToken: true)
    case 429: return .retryLater(.soon)
    // Only something between us and APNs answers these: the request was not judged.
    case 408, 502, 504: return .retryElsewhere
    case 500...599: return .retryLater(.quarterHour)
    default: return .rejected(aboutToken: false)
    }
  }

  /// What to do with a notification to this kind of target. An answer to a broadcast says nothing about
  /// any device token, whatever its words.
  public func verdict(for target: PushTarget) -> Verdict {
    if target == .channel, case .rejected(aboutToken: true) = verdict {
      return .rejected(aboutToken: false)
    }
    return verdict
  }

  /// What a final answer says to whoever made the request, in words.
  public var meaning: StaticString {
    if let rule = reason?.rule { return rule.kind.meaning }
    return status == 410 ? ReasonClass.token.meaning : "the answer has no reason that is known"
  }

  /// What to do with the connection.
  public var connection: ConnectionAction {
    if let rule = reason?.rule, status != 200 { return rule.connection }
    return status >= 500 ? .closeIfRepeated : .keep
  }

  /// What to do about the credential.
  public var credential: CredentialAction {
    if status == 200 { return .none }
    return reason?.rule.credential ?? .none
  }

  /// Whether a person should know; unknown reasons are worth a look, once each.
  public var alert: AlertLevel {
    if status == 200 { return .none }
    if let rule = reason?.rule { return rule.alert }
    return status == 410 ? .none : .notify
  }
}
