// SPDX-License-Identifier: Apache-2.0

/// Something that the gateway does, where that is known from, and how to change it.
package struct Behaviour: Sendable {
  /// Where it is known from.
  package enum Mark: String, Sendable, CaseIterable {
    /// Apple says so.
    case documented
    /// Seen on the wire or in production, and reported publicly.
    case observed
    /// Concluded, or chosen because something has to be.
    case inferred
  }

  /// What a switch takes.
  package enum Kind: Sendable, Equatable {
    case boolean
    case choice([String])
    case count(ClosedRange<Int>)
    /// Milliseconds; written `20m`, `1h`.
    case duration(ClosedRange<Int64>)
    /// Names separated by commas.
    case list
    /// Cannot be changed.
    case fixed
  }

  /// The name of the flag and of the field in `PUT /profile`; of a fixed one only a title.
  package let name: String
  package let mark: Mark
  package let kind: Kind
  /// As an operator would write it; what it does, for a fixed one.
  package let standard: String
  package let meaning: String

  init(_ name: String, _ mark: Mark, _ kind: Kind, _ standard: String, _ meaning: String) {
    self.name = name
    self.mark = mark
    self.kind = kind
    self.standard = standard
    self.meaning = meaning
  }

  package var isSwitch: Bool { kind != .fixed }

  /// What may stand after the flag.
  package var values: String {
    switch kind {
    case .boolean: "true, false"
    case .choice(let words): words.joined(separator: ", ")
    case .count(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .duration: "a time, such as 20m"
    case .list: "names separated by commas"
    case .fixed: "fixed"
    }
  }
}

/// What is wrong with a behaviour's value.
package struct BehaviourError: Error, Sendable, Equatable, CustomStringConvertible {
  package let name: String
  package let problem: String

  package init(name: String, problem: String) {
    self.name = name
    self.problem = problem
  }

  package var description: String { "\(name): \(problem)" }
}

extension Behaviour {
  /// Everything that can be switched, and what is worth knowing of the rest.
  package static let table: [Behaviour] =
    connection + providerTokens + certificates + requests + devices + channels

  private static let anyCount = 0...1_000_000_000
  private static let anyTime: ClosedRange<Int64> = 0...31_557_600_000

  private static let connection: [Behaviour] = [
    .init(
      "max-concurrent-streams", .observed, .count(1...1_000_000), "1000",
      "Requests that one connection may have open."),
    .init(
      "priming", .documented, .boolean, "true",
      "A connection without a certificate may have one request open until a valid provider token came."
    ),
    .init(
      "priming-ends", .inferred, .choice(["success", "authenticated"]), "success",
      "What lifts that limit: a 200 or 410, or any answer to a request with a valid provider token."
    ),
    .init(
      "throttle", .observed, .choice(["aggressive", "gradual", "off"]), "aggressive",
      "After an error other than 410: one open request until the next 200; half as many after each error"
        + " and twice as many after each 200; or no change."),
    .init(
      "error-limit", .inferred, .count(anyCount), "1000",
      "Errors within a minute after which the connection gets a GOAWAY; 0 for never. That errors lead to"
        + " disconnection is documented, the number is not."),
    .init(
      "bad-token-weight", .inferred, .count(1...1_000_000), "5",
      "How many other errors one BadDeviceToken counts for. That it weighs more is documented."),
    .init(
      "idle-timeout", .inferred, .duration(anyTime), "1h",
      "A connection without a request for so long is ended; 0s for never."),
    .init(
      "idle-end", .observed, .choice(["goaway", "silent"]), "goaway",
      "How: a GOAWAY with IdleTimeout, or nothing is read or answered any more."),
    .init(
      "goaway-form", .observed, .choice(["json", "text", "twice"]), "json",
      "A GOAWAY's words: the reason as JSON, as plain text, or the frame with JSON two times."),
    .init(
      "connection-rate", .inferred, .count(anyCount), "0",
      "Connections a minute from one address; more are reset. 0 for no limit. That rapid reconnecting is"
        + " taken for an attack is documented."),
    .init(
      "settings", .observed, .fixed, "4096 / 65535 / 16384 / 8000",
      "HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE and MAX_HEADER_LIST_SIZE of the SETTINGS."
    ),
    .init(
      "header list limit", .inferred, .fixed, "431",
      "A request whose header list is larger than announced is answered 431 without a body, and not judged."
    ),
    .init(
      "floods", .inferred, .fixed, "GOAWAY",
      "A client that resets 1,000 streams more than were answered, sends PINGs or SETTINGS faster than it"
        + " reads the answers, or never ends a header block gets a GOAWAY with ENHANCE_YOUR_CALM."),
    .init(
      "410 is no error", .documented, .fixed, "always",
      "Unregistered and ExpiredToken neither slow a connection down nor count towards its end."),
    .init(
      "start without ALPN", .observed, .fixed, "accepted",
      "A client that offers no protocol in the TLS handshake is served HTTP/2 all the same."),
  ]

  private static let providerTokens: [Behaviour] = [
    .init(
      "token-update-rule", .observed, .choice(["wedge", "token", "blackhole", "off"]), "wedge",
      "A new provider token too soon gets TooManyProviderTokenUpdates; then every request does until the"
        + " time is up (wedge), or only those with the new token (token), or nothing is answered"
        + " (blackhole)."),
    .init(
      "token-update-interval", .documented, .duration(anyTime), "20m",
      "The shortest time between two provider tokens."),
    .init(
      "token-update-scope", .observed, .choice(["connection", "team", "address"]), "connection",
      "Where tokens are compared: on one connection (documented), for a team on this gateway, or for a"
        + " client's address."),
    .init(
      "expired-token", .observed, .choice(["wedge", "answer"]), "wedge",
      "After ExpiredProviderToken the connection gives that answer for ever, or only to expired tokens."
    ),
    .init(
      "token-lifetime", .documented, .fixed, "1h",
      "An older provider token is ExpiredProviderToken; one from more than an hour ahead is invalid"
        + " (inferred)."),
    .init(
      "provider-token-form", .observed, .choice(["lenient", "strict"]), "lenient",
      "Lenient takes signatures in DER, base64 with padding, `Bearer`, and an `iat` as a text or with a"
        + " fraction, too; strict only what is documented."),
    .init(
      "key-binding", .documented, .boolean, "true",
      "A key that is not related to the connection's first one is UnrelatedKeyIdInToken."),
    .init(
      "team-binding", .observed, .fixed, "InvalidProviderToken",
      "What a provider token of another team than the connection's first one is answered."),
    .init(
      "revoked-key", .documented, .choice(["Forbidden", "InvalidProviderToken"]), "Forbidden",
      "What a provider token of a revoked key is answered."),
    .init(
      "key-environment-reason", .documented,
      .choice(["BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken"]),
      "BadEnvironmentKeyIdInToken",
      "How the answer to a key of the other environment is spelt; the second is in clients' lists."),
    .init(
      "foreign-topic", .inferred, .choice(["TopicDisallowed", "InvalidProviderToken"]),
      "TopicDisallowed", "What a topic that the key may not use is answered."),
    .init(
      "topic-snapshot", .documented, .boolean, "true",
      "A connection knows the topics that its key had at the first push; later ones need a new one."
    ),
  ]

  private static let certificates: [Behaviour] = [
    .init(
      "bad-certificate", .observed, .choice(["goaway", "status", "alert"]), "goaway",
      "An expired or foreign client certificate, or one of the other environment: GOAWAY with last stream"
        + " 0, a 403 to each request, or (not for the environment) a TLS alert."),
    .init(
      "revoked certificate", .documented, .fixed, "TLS alert",
      "A client certificate that PUT /certs revoked is refused in the handshake."),
    .init(
      "certificate-topic", .documented, .choice(["BadTopic", "TopicDisallowed"]), "BadTopic",
      "What a topic that the certificate does not list is answered."),
  ]

  private static let requests: [Behaviour] = [
    .init(
      "checks", .inferred, .list, PushCheck.text(PushCheck.standardOrder),
      "The checks of a device push in their order; one that is left out is not made."),
    .init(
      "apns-id-form", .inferred, .choice(["lenient", "strict"]), "lenient",
      "Lenient takes an apns-id in capitals, too."),
    .init(
      "made-apns-id", .inferred, .choice(["upper", "lower"]), "upper",
      "The case of an apns-id that the gateway makes; a given one is echoed byte for byte."),
    .init(
      "json-check", .inferred, .choice(["off", "lenient", "strict"]), "lenient",
      "Lenient accepts a body that is no JSON object and marks it in GET /requests; strict answers"
        + " PayloadEmpty, and InvalidPushType when body and push type do not fit."),
    .init(
      "token-rate", .inferred, .count(anyCount), "0",
      "Pushes a second to one device token; more are TooManyRequests. 0 for no limit. That there is one is"
        + " documented."),
    .init(
      "unique id", .documented, .fixed, "sandbox",
      "apns-unique-id stands in the sandbox's answers, and in those to broadcasts."),
  ]

  private static let devices: [Behaviour] = [
    .init(
      "registry", .inferred, .choice(["auto", "declared"]), "auto",
      "auto: a device token that was not declared is active; declared: it is a bad one."),
    .init(
      "shortest-device-token", .inferred, .count(2...512), "64",
      "Digits that a device token must have at least unless it was declared; fewer are BadDeviceToken. Apple"
        + " names no length; no token shorter than 32 bytes is known."),
    .init(
      "storage", .documented, .fixed, "one, 30 days",
      "For a device that cannot be reached one notification an app is kept, at most 30 days; expiration 0"
        + " is never kept."),
    .init(
      "store-keeps-older", .documented, .count(0...100), "0",
      "How often, in percent, the notification that is kept already wins over a newer one. That this"
        + " happens is documented, how often is not."),
  ]

  private static let channels: [Behaviour] = [
    .init(
      "channel-limit", .documented, .count(0...1_000_000), "10000",
      "Channels of one app in one environment; the next is CannotCreateChannelConfig."),
    .init(
      "channel storage", .documented, .fixed, "one, 8 hours",
      "A channel with storage policy 1 keeps its newest message, at most 8 hours."),
  ]
}
