// SPDX-License-Identifier: Apache-2.0

/// The class of a reason; the class decides what is not said in a row of its own.
public enum ReasonClass: UInt8, Sendable {
  /// The request is wrong: never send it again unchanged.
  case fix
  /// The device token is invalid.
  case token
  /// The device token or our own configuration is wrong.
  case suspect
  /// Resend with another provider token or on another connection.
  case reauthenticate
  /// The credential is refused.
  case credential
  /// The app is not set up for what it asks for, at Apple or here: once that is corrected, the same request is taken.
  case configuration
  /// Resend after a delay.
  case later
  /// Resend now, elsewhere.
  case move
}

extension ReasonClass {
  /// The meaning of an answer of this kind, where it is final, to whoever made the request.
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

/// What an answer is about; that decides whether it can be the end of a push at all.
public enum ReasonSubject: UInt8, Sendable {
  /// This request, or the app that it is for.
  case push
  /// The device token.
  case token
  /// The provider token or certificate: it says nothing about the push, which waits for one that is accepted.
  case credential
  /// The gateway, or the connection to it.
  case gateway
}

/// The answers in which a reason may be seen.
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

/// One row of the decision table: all that is known and decided about one reason of APNs.
public struct ReasonRule: Sendable {
  public let reason: Reason
  /// The spelling in APNs' JSON.
  public let name: String
  /// The HTTP status it comes with.
  public let status: UInt16
  public let origin: ReasonOrigin
  public let kind: ReasonClass
  public let subject: ReasonSubject
  public let verdict: Verdict
  public let connection: ConnectionAction
  public let credential: CredentialAction
  public let alert: AlertLevel

  fileprivate init(
    _ reason: Reason, _ name: String, _ status: UInt16, _ origin: ReasonOrigin, _ kind: ReasonClass,
    _ verdict: Verdict? = nil, connection: ConnectionAction = .keep,
    credential: CredentialAction? = nil, about subject: ReasonSubject? = nil,
    alert: AlertLevel? = nil
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
    self.alert = alert ?? kind.usualAlert
  }

  /// True if the `apns-id` of a push that ends with this answer counts as taken: a push with it is a repeat, and not sent.
  /// Only what the device itself refuses is taken without having been accepted. What the request, the app's settings or
  /// ours were wrong about can be sent again under the same id.
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

  fileprivate var usualAlert: AlertLevel {
    switch self {
    case .fix: .notify
    case .token, .move: .none
    case .suspect, .later: .onSpike
    case .reauthenticate: .onRepeat
    case .credential, .configuration: .page
    }
  }
}

extension ReasonRule {
  /// The decision table, in the order of `Reason`'s cases.
  ///
  /// Sources: Apple, "Handling notification responses from APNs" (statuses, reasons, what is final, the
  /// 15 minutes after a 5xx) and "Handling error responses from APNs" (broadcast); the columns about
  /// the connection follow what the maintainers of Pushy and others observed.
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
    // Says that this topic and credential do not fit; the credential's other topics go on.
    .init(.topicDisallowed, "TopicDisallowed", 400, [.device, .broadcast], .configuration),
  ]

  private static let everywhere: ReasonOrigin = [.device, .broadcast, .goAway]

  // All that comes with 403 is about the credential. Which apps it is refused for shows in what it serves.
  private static let credentialRows: [ReasonRule] = [
    .init(.badCertificate, "BadCertificate", 403, everywhere, .credential, connection: .close),
    .init(
      .badCertificateEnvironment, "BadCertificateEnvironment", 403, everywhere, .credential,
      connection: .close),
    // The connection stays wedged after this, also for a fresh token.
    .init(
      .expiredProviderToken, "ExpiredProviderToken", 403, everywhere, .reauthenticate,
      connection: .close, credential: .refresh),
    .init(.forbidden, "Forbidden", 403, .device, .credential, connection: .drain),
    .init(
      .invalidProviderToken, "InvalidProviderToken", 403, [.device, .broadcast], .credential,
      connection: .drain),
    // Each request has one, or its connection a certificate: they are not taken for what they are.
    .init(
      .missingProviderToken, "MissingProviderToken", 403, [.device, .broadcast], .credential,
      connection: .drain),
    // The token is fine, but belongs to another key than the connection was bound to.
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
      .later, .retryElsewhere, connection: .drain, credential: .freeze, about: .credential,
      alert: .notify),
    .init(
      .tooManyRequests, "TooManyRequests", 429, [.device, .broadcast], .later,
      .retryLater(.throttled)),
    .init(
      .internalServerError, "InternalServerError", 500, [.device, .broadcast], .later,
      connection: .closeIfRepeated, credential: .refreshIfOld),
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

  /// Hashes of the names, row for row: what an answer is looked up by.
  static let hashes: [UInt64] = table.map { hash($0.name.utf8.span) }

  /// FNV-1a, 64 bit.
  static func hash(_ bytes: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<bytes.count { hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3 }
    return hash
  }
}
