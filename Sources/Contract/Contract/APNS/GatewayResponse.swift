// SPDX-License-Identifier: Apache-2.0

/// An answer to one request: its status, the id in its header fields, and the meaning of its body. The body's JSON is
/// parsed in IO.
public struct GatewayResponse: Equatable, Sendable {
  public let status: UInt16
  public let id: AnswerID
  public let body: AnswerBody
  /// For 410: when APNs last saw the token invalid, in milliseconds since the epoch.
  public let timestamp: Int64?

  /// - Parameter id: the id compared with the push's; the same by default.
  public init(status: UInt16, body: AnswerBody, timestamp: Int64? = nil, id: AnswerID = .sent) {
    self.status = status
    self.body = body
    self.timestamp = timestamp
    self.id = id
  }

  /// An answer with a known reason; nil for a body without one.
  public init(
    status: UInt16, reason: Reason? = nil, timestamp: Int64? = nil, id: AnswerID = .sent
  ) {
    self.init(
      status: status, body: reason.map { .reason($0) } ?? .nothing, timestamp: timestamp, id: id)
  }

  /// The reason, if the body has a known one.
  public var reason: Reason? { if case .reason(let reason) = body { reason } else { nil } }

  /// The class of the answer, which decides everything below.
  public var kind: AnswerKind { AnswerKind(status: status, id: id, body: body) }

  /// True if the answer is not from APNs, or is about another push.
  public var isForeign: Bool { kind == .foreign }

  /// True if the answer reports an invalid token: a 410 from APNs whose reason says so or is unknown.
  public var isAboutInvalidToken: Bool {
    status == 410 && !isForeign && (reason == nil || reason?.rule.kind == .token)
  }

  /// True if it is about the provider token or certificate. APNs answers 403 only for that, whatever the reason; so it
  /// never ends a push.
  public var isAboutCredential: Bool {
    switch kind {
    case .refused(let reason): reason.rule.subject == .credential
    case .refusedOtherwise: status == 403
    case .accepted, .foreign: false
    }
  }

  /// True if the `apns-id` of a push that ends with this answer counts as taken (`ReasonRule.takesID`).
  public var takesID: Bool {
    switch kind {
    case .refused(let reason): reason.rule.takesID
    case .refusedOtherwise: status == 410
    case .accepted, .foreign: true
    }
  }

  /// The action for the notification. A known reason decides by its row; an unknown one (APNs may add reasons) by the
  /// class of the status.
  public var verdict: Verdict {
    switch kind {
    case .accepted: return .delivered
    case .foreign: return .foreign
    case .refused(let reason): return reason.rule.verdict
    case .refusedOtherwise: break
    }
    switch status {
    // Whatever the reason, 410 says that the token is no longer active for the topic.
    case 410: return .rejected(aboutToken: true)
    case 403: return .credentialRefused
    case 429: return .retryLater(.throttled)
    // Only intermediaries use these: the request was not judged.
    case 408, 502, 504: return .retryElsewhere
    case 500...599: return .retryLater(.fault)
    default: return .rejected(aboutToken: false)
    }
  }

  /// The action for a notification to this kind of target. An answer to a broadcast is never evidence about a device
  /// token.
  public func verdict(for target: PushTarget) -> Verdict {
    if target == .channel, case .rejected(aboutToken: true) = verdict {
      return .rejected(aboutToken: false)
    }
    return verdict
  }

  /// The meaning of a final answer for the requester, in words.
  public var meaning: StaticString {
    switch kind {
    case .refused(let reason): reason.rule.kind.meaning
    case .refusedOtherwise where status == 410: ReasonClass.token.meaning
    case .refusedOtherwise where status == 403: ReasonClass.credential.meaning
    case .accepted, .refusedOtherwise: "the answer has no reason that is known"
    case .foreign: "the answer is not of APNs"
    }
  }

  public var connection: ConnectionAction {
    switch kind {
    case .refused(let reason): reason.rule.connection
    case .refusedOtherwise: status == 403 ? .drain : status >= 500 ? .closeIfRepeated : .keep
    case .accepted: .keep
    case .foreign: .closeIfRepeated
    }
  }

  public var credential: CredentialAction {
    switch kind {
    case .refused(let reason): reason.rule.credential
    case .refusedOtherwise: status == 403 ? .stop : .none
    case .accepted, .foreign: .none
    }
  }
}
