// SPDX-License-Identifier: Apache-2.0
import Contract
import Settings

/// A behaviour of the gateway, its source, and how to change it.
public struct Behaviour: Sendable {
  /// The source of a behaviour.
  public enum Mark: String, Sendable, CaseIterable {
    /// Documented by Apple.
    case documented
    /// Observed on the wire or in production and reported publicly.
    case observed
    /// Inferred, or chosen because the simulator needs a value.
    case inferred
  }

  /// The kind of value that a switch takes.
  public enum Kind: Sendable, Equatable {
    case boolean
    case choice([String])
    case count(ClosedRange<Int>)
    /// Milliseconds, written as `20m` or `1h`.
    case duration(ClosedRange<Int64>)
    /// Names separated by commas.
    case list
    /// Not switchable.
    case fixed
  }

  /// The name of the flag and of the field in `PUT /profile`; only a title if the behaviour is fixed.
  public let name: String
  public let mark: Mark
  public let kind: Kind
  /// The default as an operator writes it; for a fixed behaviour, a description.
  public let standard: String
  public let meaning: String

  /// nil if the behaviour is fixed.
  let access: Access?

  init(_ name: String, _ mark: Mark, _ access: Access, _ meaning: String) {
    (self.name, self.mark, kind, standard) = (name, mark, access.kind, access.read(GatewayRules()))
    (self.access, self.meaning) = (access, meaning)
  }

  init(_ name: String, _ mark: Mark, fixed standard: String, _ meaning: String) {
    (self.name, self.mark, kind, self.standard) = (name, mark, Kind.fixed, standard)
    (access, self.meaning) = (nil, meaning)
  }

  public var isSwitch: Bool { kind != .fixed }

  /// The values that the flag accepts.
  public var values: String {
    switch kind {
    case .boolean: "true, false"
    case .choice(let words): words.joined(separator: ", ")
    case .count(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .duration: "a duration such as 20m"
    case .list: "names separated by commas"
    case .fixed: "fixed"
    }
  }
}

extension Behaviour {
  /// The value of a switch in the rules, as an operator writes it. What is written is of this kind.
  struct Access: Sendable {
    let kind: Kind
    let read: @Sendable (GatewayRules) -> String
    let write: @Sendable (inout GatewayRules, String) throws(BehaviourError) -> Void

    static func flag(_ path: any WritableKeyPath<GatewayRules, Bool> & Sendable) -> Access {
      Access(
        kind: .boolean, read: { "\($0[keyPath: path])" },
        write: { $0[keyPath: path] = $1 == "true" })
    }

    static func number<Number: FixedWidthInteger & Sendable>(
      _ path: any WritableKeyPath<GatewayRules, Number> & Sendable, _ range: ClosedRange<Int>
    ) -> Access {
      Access(
        kind: .count(range), read: { "\($0[keyPath: path])" },
        write: { $0[keyPath: path] = Number(clamping: Int($1) ?? 0) })
    }

    static func time(_ path: any WritableKeyPath<GatewayRules, Int64> & Sendable) -> Access {
      Access(
        kind: .duration(0...31_557_600_000),
        read: { DurationText.text(milliseconds: $0[keyPath: path]) },
        write: { $0[keyPath: path] = DurationText.milliseconds(of: $1) ?? 0 })
    }

    static func word<Word: RawRepresentable<String> & CaseIterable & Sendable>(
      _ path: any WritableKeyPath<GatewayRules, Word> & Sendable
    ) -> Access {
      Access(
        kind: .choice(Word.allCases.map(\.rawValue)), read: { $0[keyPath: path].rawValue },
        write: { if let word = Word(rawValue: $1) { $0[keyPath: path] = word } })
    }

    static func reason(
      _ path: any WritableKeyPath<GatewayRules, Reason> & Sendable, _ names: [String]
    ) -> Access {
      Access(
        kind: .choice(names), read: { $0[keyPath: path].name },
        write: { if let reason = Reason($1) { $0[keyPath: path] = reason } })
    }

    static let registry = Access(
      kind: .choice(["auto", "declared"]), read: { $0.acceptsUnknownTokens ? "auto" : "declared" },
      write: { $0.acceptsUnknownTokens = $1 == "auto" })

    static let checks = Access(
      kind: .list, read: { PushCheck.text($0.checks) },
      write: { (rules, text) throws(BehaviourError) in rules.checks = try PushCheck.order(text) })
  }
}

public struct BehaviourError: Error, Sendable, Equatable, CustomStringConvertible {
  public let name: String
  public let problem: String

  public var description: String { "\(name): \(problem)" }
}

extension Behaviour {
  /// All behaviours that can be switched, and the fixed ones worth knowing.
  public static let table: [Behaviour] =
    connection + providerTokens + certificates + requests + devices + channels

  private static let anyCount = 0...1_000_000_000

  private static let connection: [Behaviour] = [
    .init(
      "max-concurrent-streams", .observed, .number(\.maxConcurrentStreams, 1...1_000_000),
      "Requests that one connection may have open."),
    .init(
      "priming", .documented, .flag(\.primes),
      "A connection without a certificate may have one request open until a valid provider token arrives."
    ),
    .init(
      "priming-ends", .inferred, .word(\.primingEnds),
      "What lifts that limit: a 200 or 410, or any answer to a request with a valid provider token."
    ),
    .init(
      "throttle", .observed, .word(\.throttle),
      "After an error other than 410: one open request until the next 200; half as many after each error"
        + " and twice as many after each 200; or no change."),
    .init(
      "error-limit", .inferred, .number(\.errorLimit, anyCount),
      "Errors within a minute after which the connection gets a GOAWAY; 0 means never. Apple documents the"
        + " disconnection, but not the number."),
    .init(
      "bad-token-weight", .inferred, .number(\.badTokenWeight, 1...1_000_000),
      "How many other errors one BadDeviceToken counts as. Apple documents that it weighs more."),
    .init(
      "idle-timeout", .inferred, .time(\.idleTimeout),
      "A connection without a request for this time is ended; 0s means never."),
    .init(
      "idle-end", .observed, .word(\.idleEnd),
      "How an idle connection ends: a GOAWAY with IdleTimeout, or silence: nothing is read or answered."
    ),
    .init(
      "goaway-form", .observed, .word(\.goAwayForm),
      "Debug data of a GOAWAY: the reason as JSON, as plain text, or JSON and then a second frame without any."
    ),
    .init(
      "settings-order", .inferred, .word(\.settingsOrder),
      "SETTINGS with a changed stream limit go out after the answer that changed it, or before it."),
    .init(
      "stream-above-limit", .observed, .word(\.streamAboveLimit),
      "A stream above the announced limit is reset with REFUSED_STREAM, and the next frame on it with STREAM_CLOSED"
        + " (reset); or the connection ends with a GOAWAY of that code, as with gateways of 2016 (goaway)."
    ),
    .init(
      "frames on closed streams", .inferred, fixed: "STREAM_CLOSED",
      "DATA or HEADERS on a stream that the client has ended, or that is closed, get RST_STREAM with STREAM_CLOSED"
        + " (RFC 9113 §5.1); on a stream that the gateway has reset they are ignored."),
    .init(
      "connection-rate", .inferred, .number(\.connectionRate, anyCount),
      "Connections per minute from one address; more are reset. 0 means no limit. Apple documents that it"
        + " treats rapid reconnecting as an attack."),
    .init(
      "capacity", .inferred, .number(\.capacity, anyCount),
      "Requests a second that the gateway works on, one after the other: further ones wait for their answers. 0 means no"
        + " limit."),
    .init(
      "queue", .inferred, .number(\.queue, anyCount),
      "Requests that wait at most where there is a capacity; more are answered 503 ServiceUnavailable at once."
    ),
    .init(
      "settings", .observed, fixed: "4096 / 65535 / 16384 / 8000",
      "HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE and MAX_HEADER_LIST_SIZE of the SETTINGS."
    ),
    .init(
      "header list limit", .inferred, fixed: "431",
      "A request whose header list exceeds the announced limit is answered 431 without a body and not checked."
    ),
    .init(
      "floods", .inferred, fixed: "GOAWAY",
      "A client that resets 1,000 streams more than were answered, sends PINGs or SETTINGS faster than it"
        + " reads the answers, or never ends a header block gets a GOAWAY with ENHANCE_YOUR_CALM."),
    .init(
      "410 is no error", .documented, fixed: "always",
      "Unregistered and ExpiredToken neither slow a connection down nor count towards its end."),
    .init(
      "start without ALPN", .observed, fixed: "accepted",
      "A client that offers no protocol in the TLS handshake is served HTTP/2 anyway."),
    .init(
      "ALPN without h2", .observed, fixed: "dropped",
      "A client that offers other protocols only completes the TLS handshake; then the connection is closed."
    ),
  ]

  private static let providerTokens: [Behaviour] = [
    .init(
      "token-update-rule", .observed, .word(\.tokenUpdateRule),
      "A new provider token too soon gets TooManyProviderTokenUpdates. Afterwards every request gets it until"
        + " the interval has passed (wedge), or only requests with the new token (token), or nothing is"
        + " answered (blackhole)."),
    .init(
      "token-update-interval", .documented, .time(\.tokenUpdateInterval),
      "The shortest time between two provider tokens."),
    .init(
      "token-update-scope", .observed, .word(\.tokenUpdateScope),
      "Where tokens are compared: on one connection (documented), for a team on this gateway, or for a"
        + " client's address."),
    .init(
      "expired-token", .observed, .word(\.expiredToken),
      "After ExpiredProviderToken the connection always gives that answer, or only to expired tokens."
    ),
    .init(
      "provider-token-clock", .inferred, .word(\.tokenClock),
      "The clock for the age of provider tokens and the time between two: the gateway's, which POST /clock/advance moves,"
        + " or the machine's, so that hours pass for devices alone."),
    .init(
      "token-lifetime", .documented, fixed: "1h",
      "An older provider token gets ExpiredProviderToken; one dated more than an hour ahead is invalid"
        + " (inferred)."),
    .init(
      "provider-token-form", .observed, .word(\.providerTokenForm),
      "Lenient takes signatures in DER, base64 with padding, `Bearer`, and an `iat` as a text or with a"
        + " fraction, too; strict only what is documented."),
    .init(
      "key-binding", .documented, .flag(\.bindsKeys),
      "A key that is not related to the connection's first one gets UnrelatedKeyIdInToken."),
    .init(
      "team-binding", .observed, fixed: "InvalidProviderToken",
      "The answer to a provider token of a different team than the connection's first one."),
    .init(
      "revoked-key", .documented, .reason(\.revokedKey, ["Forbidden", "InvalidProviderToken"]),
      "The answer to a provider token of a revoked key."),
    .init(
      "key-environment-reason", .documented,
      .reason(\.keyEnvironmentReason, ["BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken"]),
      "The spelling of the answer to a key of the other environment; clients' lists have the second."
    ),
    .init(
      "foreign-topic", .inferred,
      .reason(\.foreignTopic, ["TopicDisallowed", "InvalidProviderToken"]),
      "The answer to a topic that the key may not use."),
    .init(
      "topic-snapshot", .documented, .flag(\.snapshotsTopics),
      "A connection knows the topics that its key had at the first push; later topics need a new connection."
    ),
  ]

  private static let certificates: [Behaviour] = [
    .init(
      "bad-certificate", .observed, .word(\.badCertificate),
      "An expired or foreign client certificate, or one of the other environment: GOAWAY with last stream"
        + " 0, a 403 to each request, or (not for the environment) a TLS alert."),
    .init(
      "revoked certificate", .documented, fixed: "TLS alert",
      "A client certificate that PUT /certs revoked is refused in the handshake."),
    .init(
      "certificate-topic", .documented,
      .reason(\.certificateTopic, ["BadTopic", "TopicDisallowed"]),
      "The answer to a topic that the certificate does not list."),
  ]

  private static let requests: [Behaviour] = [
    .init(
      "checks", .inferred, .checks,
      "The checks of a device push in their order; checks that are left out are not made."),
    .init(
      "apns-id-form", .inferred, .word(\.identifierForm),
      "Lenient takes an apns-id in capitals, too."),
    .init(
      "made-apns-id", .inferred, .word(\.madeIdentifier),
      "The case of an apns-id that the gateway generates; a given one is echoed byte for byte."),
    .init(
      "json-check", .inferred, .word(\.jsonCheck),
      "Lenient accepts a body that is not a JSON object and marks it in GET /requests; strict answers"
        + " PayloadEmpty, and InvalidPushType when body and push type do not fit."),
    .init(
      "token-rate", .inferred, .number(\.tokenRate, anyCount),
      "Pushes per second to one device token; more get TooManyRequests. 0 means no limit. Apple documents that"
        + " there is a limit."),
    .init(
      "content-type", .observed, .word(\.contentType),
      "Whether a refusal has content-type application/json. Published captures show only :status and apns-id."
    ),
    .init(
      "date", .inferred, .word(\.datedAnswers),
      "Which answers carry a date header with the gateway's time. Apple documents none; a proxy on the way may add it."
    ),
    .init(
      "unique id", .documented, fixed: "sandbox",
      "apns-unique-id is in the sandbox's answers, and in answers to broadcasts; in lower case (observed)."
    ),
  ]

  private static let devices: [Behaviour] = [
    .init(
      "registry", .inferred, .registry,
      "auto: a device token that was not declared is active; declared: it is bad."),
    .init(
      "shortest-device-token", .inferred, .number(\.shortestDeviceToken, 2...512),
      "The fewest digits of a device token that was not declared; fewer get BadDeviceToken. Apple names no"
        + " length; no token shorter than 32 bytes is known."),
    .init(
      "stored-notifications", .documented, .word(\.storedNotifications),
      "For a device that is offline, one notification per app is stored, or one for each of its collapse ids:"
        + " Apple's pages disagree."),
    .init(
      "absent-expiration", .documented, .word(\.absentExpiration),
      "A notification without apns-expiration is stored, for 30 days, or tried once: Apple's pages disagree."
    ),
    .init(
      "storage", .documented, fixed: "30 days",
      "A notification is stored for at most 30 days; one with expiration 0 is never stored."),
    .init(
      "gone-liveactivity", .observed, .word(\.goneLiveActivity),
      "The reason of the 410 to a Live Activity's token: that which was declared, or always ExpiredToken."
    ),
    .init(
      "store-keeps-older", .documented, .number(\.storeKeepsOlder, 0...100),
      "How often, in percent, the stored notification wins over a newer one. Apple documents that this"
        + " happens, but not how often."),
    .init(
      "background-budget", .documented, .number(\.backgroundBudget, 0...1_000_000),
      "Background pushes an hour that a device takes of an app; it drops further ones, and nobody is told. 0 means any"
        + " number. Apple documents two or three an hour."),
    .init(
      "live-activity-budget", .documented, .number(\.liveActivityBudget, 0...1_000_000),
      "Pushes with priority 10 an hour to one Live Activity that its device shows; it drops further ones, and nobody is"
        + " told. 0 means any number. Apple documents that there is a budget, which priority 5 does not use, but no number."
    ),
    .init(
      "push-to-start-budget", .inferred, .number(\.pushToStartBudget, 0...1_000_000),
      "Live Activities an hour that pushes start with one push-to-start token; the device drops further starts. 0 means any"
        + " number."),
    .init(
      "activity-lifetime", .documented, .time(\.activityLifetime),
      "The time after which the system ends a Live Activity: GET /delivered marks later updates. It begins with the first"
        + " push to its token. 0s means never."),
    .init(
      "gone-delay", .inferred, .time(\.goneDelay),
      "The time from the removal of an app to the first 410; until then pushes are accepted and lost. Apple documents that"
        + " the answer comes some time after the removal, but not when."),
  ]

  private static let channels: [Behaviour] = [
    .init(
      "channel-limit", .documented, .number(\.channelLimit, 0...1_000_000),
      "Channels of one app in one environment; the next gets CannotCreateChannelConfig."),
    .init(
      "channel storage", .documented, fixed: "one, 8 hours",
      "A channel with storage policy 1 stores its newest message for at most 8 hours."),
  ]
}
