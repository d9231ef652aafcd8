// SPDX-License-Identifier: Apache-2.0

/// The class of a reason, which decides whatever its row does not.
public enum ReasonClass: UInt8, Sendable {
  /// The request is wrong: never resend it unchanged.
  case fix
  /// The device token is invalid.
  case token
  /// The device token or Martlet's configuration is wrong.
  case suspect
  /// Resend with another provider token or on another connection.
  case reauthenticate
  /// The credential is refused.
  case credential
  /// The app is not set up for the request, at Apple or here: once corrected, the same request is accepted.
  case configuration
  /// Resend after a delay.
  case later
  /// Resend now, on another connection.
  case move
}

extension ReasonClass {
  /// The meaning of a final answer of this class for the requester.
  public var meaning: StaticString {
    switch self {
    case .fix: "APNs refuses the request as it is; change it before you send it again"
    case .token: "the device token is no longer active for this app"
    case .suspect:
      "APNs does not know the token for this app and environment; check all three of them"
    case .reauthenticate, .credential: "APNs refuses the credential for this app"
    case .configuration:
      "the app is not set up for this topic or feature; correct that and send it again"
    case .later, .move: "APNs could not take it"
    }
  }
}

/// The subject of an answer, which decides whether it can end a push at all.
public enum ReasonSubject: UInt8, Sendable {
  /// This request, or its app.
  case push
  /// The device token.
  case token
  /// The provider token or certificate: the push itself was not judged and waits for an accepted one.
  case credential
  /// The gateway, or the connection to it.
  case gateway
}

/// The answers in which a reason may occur.
public struct ReasonOrigin: OptionSet, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Answers to device pushes.
  public static let device = ReasonOrigin(rawValue: 1)
  /// Answers to broadcasts and channel management.
  public static let broadcast = ReasonOrigin(rawValue: 2)
  /// The debug data of a GOAWAY frame.
  public static let goAway = ReasonOrigin(rawValue: 4)
}

/// One row of the decision table: everything known and decided about one APNs reason.
public struct ReasonRule: Sendable {
  public let reason: Reason
  /// The reason as spelled in APNs' JSON.
  public let name: String
  /// The HTTP status that comes with it.
  public let status: UInt16
  public let origin: ReasonOrigin
  public let kind: ReasonClass
  public let subject: ReasonSubject
  public let verdict: Verdict
  public let connection: ConnectionAction
  public let credential: CredentialAction

  fileprivate init(
    _ reason: Reason, _ name: String, _ status: UInt16, _ origin: ReasonOrigin, _ kind: ReasonClass,
    _ verdict: Verdict? = nil, connection: ConnectionAction = .keep,
    credential: CredentialAction? = nil, about subject: ReasonSubject? = nil
  ) {
    self.reason = reason
    self.name = name
    self.status = status
    self.origin = origin
    self.kind = kind
    self.subject = subject ?? kind.usualSubject
    self.verdict = verdict ?? kind.usualVerdict
    self.connection = connection
    self.credential = credential ?? (kind == .credential ? .stop : .none)
  }

  /// True if a push that ends with this answer takes its `apns-id`: later pushes with it are duplicates and not sent.
  /// Without being accepted, only a push refused because of its device takes it. If the request, the app's setup or our
  /// configuration was wrong, the push can be resent with the same id.
  public var takesID: Bool { kind == .token }
}

extension ReasonClass {
  fileprivate var usualVerdict: Verdict {
    switch self {
    case .fix: .rejected(aboutToken: false)
    case .token, .suspect: .rejected(aboutToken: true)
    case .reauthenticate: .refreshToken
    case .credential: .credentialRefused
    case .configuration: .rejected(aboutToken: false)
    case .later: .retryLater(.fault)
    case .move: .retryElsewhere
    }
  }

  fileprivate var usualSubject: ReasonSubject {
    switch self {
    case .fix, .configuration: .push
    case .token, .suspect: .token
    case .reauthenticate, .credential: .credential
    case .later, .move: .gateway
    }
  }
}

extension ReasonRule {
  /// The decision table, in the order of `Reason`'s cases.
  ///
  /// Sources: Apple, "Handling notification responses from APNs" (statuses, reasons, what is final, the 15 minutes
  /// after a 5xx) and "Handling error responses from APNs" (broadcast); the connection columns follow observations by
  /// the maintainers of Pushy and others.
  public static let table: [ReasonRule] = deviceRows + credentialRows + answerRows + channelRows

  private static let deviceRows: [ReasonRule] = [
    .init(.badCollapseId, "BadCollapseId", 400, .device, .fix),
    .init(.badDeviceToken, "BadDeviceToken", 400, .device, .suspect),
    .init(.badExpirationDate, "BadExpirationDate", 400, [.device, .broadcast], .fix),
    .init(.badMessageId, "BadMessageId", 400, [.device, .broadcast], .fix),
    .init(.badPriority, "BadPriority", 400, [.device, .broadcast], .fix),
    .init(.badTopic, "BadTopic", 400, .device, .configuration),
    .init(.deviceTokenNotForTopic, "DeviceTokenNotForTopic", 400, .device, .suspect),
    .init(.duplicateHeaders, "DuplicateHeaders", 400, .device, .fix),
    .init(.idleTimeout, "IdleTimeout", 400, [.device, .goAway], .move, connection: .close),
    .init(.invalidPushType, "InvalidPushType", 400, [.device, .broadcast], .fix),
    .init(.missingDeviceToken, "MissingDeviceToken", 400, .device, .fix),
    .init(.missingTopic, "MissingTopic", 400, .device, .fix),
    .init(.payloadEmpty, "PayloadEmpty", 400, [.device, .broadcast], .fix),
    // The topic and the credential do not match; other topics of the credential are not affected.
    .init(.topicDisallowed, "TopicDisallowed", 400, [.device, .broadcast], .configuration),
  ]

  private static let everywhere: ReasonOrigin = [.device, .broadcast, .goAway]

  // Every 403 is about the credential. The apps it serves show for which of them it is refused.
  private static let credentialRows: [ReasonRule] = [
    .init(.badCertificate, "BadCertificate", 403, everywhere, .credential, connection: .close),
    .init(
      .badCertificateEnvironment, "BadCertificateEnvironment", 403, everywhere, .credential,
      connection: .close),
    // The connection stays unusable after this, even with a fresh token.
    .init(
      .expiredProviderToken, "ExpiredProviderToken", 403, everywhere, .reauthenticate,
      connection: .close, credential: .refresh),
    .init(.forbidden, "Forbidden", 403, .device, .credential, connection: .drain),
    .init(
      .invalidProviderToken, "InvalidProviderToken", 403, [.device, .broadcast], .credential,
      connection: .drain),
    // Each request carries a token, or its connection a certificate: APNs does not recognize it.
    .init(
      .missingProviderToken, "MissingProviderToken", 403, [.device, .broadcast], .credential,
      connection: .drain),
    // The token is valid, but of another key than the connection was bound to.
    .init(
      .unrelatedKeyIdInToken, "UnrelatedKeyIdInToken", 403, .device, .reauthenticate,
      .retryElsewhere, connection: .drain),
    .init(
      .badEnvironmentKeyIdInToken, "BadEnvironmentKeyIdInToken", 403, .device, .credential,
      connection: .close),
    .init(
      .badEnvironmentKeyInToken, "BadEnvironmentKeyInToken", 403, .device, .credential,
      connection: .close),
    .init(.topicMismatch, "TopicMismatch", 403, .broadcast, .credential),
  ]

  private static let answerRows: [ReasonRule] = [
    .init(.badPath, "BadPath", 404, [.device, .broadcast], .fix),
    .init(.methodNotAllowed, "MethodNotAllowed", 405, [.device, .broadcast], .fix),
    .init(.expiredToken, "ExpiredToken", 410, .device, .token),
    .init(.unregistered, "Unregistered", 410, .device, .token),
    .init(.payloadTooLarge, "PayloadTooLarge", 413, [.device, .broadcast], .fix),
    .init(
      .tooManyProviderTokenUpdates, "TooManyProviderTokenUpdates", 429, [.device, .broadcast],
      .later, .retryElsewhere, connection: .drain, credential: .freeze, about: .credential),
    .init(
      .tooManyRequests, "TooManyRequests", 429, [.device, .broadcast], .later,
      .retryLater(.throttled)),
    .init(
      .internalServerError, "InternalServerError", 500, [.device, .broadcast], .later,
      connection: .closeIfRepeated),
    .init(.serviceUnavailable, "ServiceUnavailable", 503, [.device, .broadcast], .later),
    // Apple's page on broadcasts writes it with a space.
    .init(.serviceUnavailableSpaced, "Service Unavailable", 503, .broadcast, .later),
    .init(.shutdown, "Shutdown", 503, everywhere, .move, connection: .close),
  ]

  private static let channelRows: [ReasonRule] = [
    .init(.featureNotEnabled, "FeatureNotEnabled", 400, .broadcast, .configuration),
    .init(.missingChannelId, "MissingChannelId", 400, .broadcast, .fix),
    .init(.badChannelId, "BadChannelId", 400, .broadcast, .fix),
    .init(.channelNotRegistered, "ChannelNotRegistered", 400, .broadcast, .fix),
    .init(.badRequestParams, "BadRequestParams", 400, .broadcast, .fix),
    .init(.badRequestPayload, "BadRequestPayload", 400, .broadcast, .fix),
    .init(.missingPushType, "MissingPushType", 400, .broadcast, .fix),
    .init(
      .cannotCreateChannelConfig, "CannotCreateChannelConfig", 400, .broadcast, .configuration),
    .init(.missingChannelQueueSize, "MissingChannelQueueSize", 400, .broadcast, .fix),
  ]

  /// Hashes of the names, one per row, to look up an answer's reason.
  static let hashes: [UInt64] = table.map { hash($0.name.utf8.span) }

  /// FNV-1a, 64 bit.
  static func hash(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<bytes.count { hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
    return hash
  }
}
