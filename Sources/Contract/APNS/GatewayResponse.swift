// SPDX-License-Identifier: Apache-2.0

/// An answer to one request: its status, the id in its header fields, and what its body means. The body's JSON is read
/// in IO.
public struct GatewayResponse: Equatable, Sendable {
  public let status: UInt16
  public let id: AnswerID
  public let body: AnswerBody
  /// With 410: when APNs last knew the token to be invalid, in milliseconds since the epoch.
  public let timestamp: Int64?

  /// - Parameter id: that of the push, unless said otherwise.
  public init(status: UInt16, body: AnswerBody, timestamp: Int64? = nil, id: AnswerID = .sent) {
    self.status = status
    self.body = body
    self.timestamp = timestamp
    self.id = id
  }

  /// The same with a reason that is known; nil for a body without any.
  public init(
    status: UInt16, reason: Reason? = nil, timestamp: Int64? = nil, id: AnswerID = .sent
  ) {
    self.init(
      status: status, body: reason.map { .reason($0) } ?? .nothing, timestamp: timestamp, id: id)
  }

  /// The reason, if the body gave one that is known.
  public var reason: Reason? { if case .reason(let reason) = body { reason } else { nil } }

  /// The class of the answer: what follows is decided by this.
  public var kind: AnswerKind { AnswerKind(status: status, id: id, body: body) }

  /// Not an answer of APNs, or about another push.
  public var isForeign: Bool { kind == .foreign }

  /// True if the answer says that the token is invalid: APNs' 410, with a reason to that effect or none that is known.
  public var isAboutInvalidToken: Bool {
    status == 410 && !isForeign && (reason == nil || reason?.rule.kind == .token)
  }

  /// True if it is about the provider token or certificate. APNs answers 403 for that alone, whatever its words; so it is
  /// never the end of a push.
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

  /// The action for the notification. A known reason decides with its row, another one (APNs may add reasons) by the
  /// class of the status.
  public var verdict: Verdict {
    switch kind {
    case .accepted: return .delivered
    case .foreign: return .foreign
    case .refused(let reason): return reason.rule.verdict
    case .refusedOtherwise: break
    }
    switch status {
    // Whatever its words, 410 says that the token is no longer active for the topic.
    case 410: return .rejected(aboutToken: true)
    case 403: return .credentialRefused
    case 429: return .retryLater(.throttled)
    // What only something between us and APNs says: the request was not judged.
    case 408, 502, 504: return .retryElsewhere
    case 500...599: return .retryLater(.fault)
    default: return .rejected(aboutToken: false)
    }
  }

  /// The action for a notification to this kind of target. An answer to a broadcast says nothing about any device
  /// token, whatever its words.
  public func verdict(for target: PushTarget) -> Verdict {
    if target == .channel, case .rejected(aboutToken: true) = verdict {
      return .rejected(aboutToken: false)
    }
    return verdict
  }

  /// The meaning of a final answer to whoever made the request, in words.
  public var meaning: StaticString {
    switch kind {
    case .refused(let reason): reason.rule.kind.meaning
    case .refusedOtherwise where status == 410: ReasonClass.token.meaning
    case .refusedOtherwise where status == 403: ReasonClass.credential.meaning
    case .accepted, .refusedOtherwise: "the answer has no reason that is known"
    case .foreign: "the answer is not of APNs"
    }
  }

  /// The action for the connection.
  public var connection: ConnectionAction {
    switch kind {
    case .refused(let reason): reason.rule.connection
    case .refusedOtherwise: status == 403 ? .drain : status >= 500 ? .closeIfRepeated : .keep
    case .accepted: .keep
    case .foreign: .closeIfRepeated
    }
  }

  /// The action for the credential.
  public var credential: CredentialAction {
    switch kind {
    case .refused(let reason): reason.rule.credential
    case .refusedOtherwise: status == 403 ? .stop : .none
    case .accepted, .foreign: .none
    }
  }

  /// The level at which a person is told; unknown reasons are worth a look, once each.
  public var alert: AlertLevel {
    switch kind {
    case .accepted: .none
    case .refused(let reason): reason.rule.alert
    case .refusedOtherwise: status == 410 ? .none : status == 403 ? .page : .notify
    case .foreign: .notify
    }
  }
}
