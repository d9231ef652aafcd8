// SPDX-License-Identifier: Apache-2.0

/// The faults that the gateway simulator can inject; `docs/simulator.md` describes them.
///
/// The raw value is the number in the specification: 9 for `F09`.
public enum FaultID: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case anyAnswer = 1
  case goneTimestamp
  case unexpectedAnswer
  case reasonSpelling
  case streamLimitLow
  case streamLimitChanges
  case streamReset
  case goAwayCredential
  case goAwayShutdown
  case goAwayForm
  case connectionLost
  case blackHole
  case flowControl
  case addedLatency
  case unusualFrames
  case earlyAnswer
  case tlsFailure
  case deadAddress
  case connectRefused
  case wrongClock
  case providerTokenRefused
  case tooManyRequests
  case serviceUnavailable
  case errorDisconnect
  case lostAnswer
  case headerLimits
  case idleConnection
  case streamIDsExhausted

  /// The name in scripts and reports: `goaway_shutdown`.
  public var name: String { Self.names[Int(rawValue) - 1] }

  /// The number in the specification, `F01` to `F28`; scripts may use it in place of the name.
  public var number: String { rawValue < 10 ? "F0\(rawValue)" : "F\(rawValue)" }

  public var description: String { name }

  /// The names of all faults, in the order of their numbers.
  public static let names = [
    "any_answer", "gone_timestamp", "unexpected_answer", "reason_spelling", "stream_limit_low",
    "stream_limit_changes", "stream_reset", "goaway_credential", "goaway_shutdown",
    "goaway_form", "connection_lost", "black_hole", "flow_control", "added_latency",
    "unusual_frames", "early_answer", "tls_failure", "dead_address", "connect_refused",
    "wrong_clock", "provider_token_refused", "too_many_requests", "service_unavailable",
    "error_disconnect", "lost_answer", "header_limits", "idle_connection",
    "stream_ids_exhausted",
  ]

  /// The fault with this name or number, or nil.
  public init?(_ text: String) {
    guard let found = Self.allCases.first(where: { $0.name == text || $0.number == text }) else {
      return nil
    }
    self = found
  }

  /// The title, in a few words; also the line of the table in `docs/simulator.md`.
  public var title: String { Self.titles[Int(rawValue) - 1] }

  private static let titles = [
    "any status and reason", "410 with an earlier, later or missing timestamp",
    "undocumented statuses and bodies", "variant spellings of a reason",
    "a low stream limit, raised late or never", "a stream limit that falls and flaps",
    "RST_STREAM", "GOAWAY that refuses the credential",
    "GOAWAY Shutdown with the socket left open", "GOAWAY in unusual forms",
    "the TCP connection breaks", "black holes: no answers, PINGs, SETTINGS or reads",
    "tiny and changing flow-control windows", "added latency", "answers in unusual frames",
    "an answer before the request's end", "TLS failures",
    "an address that accepts no connections", "refused and rate-limited connects",
    "a wrong clock of the gateway", "refused provider tokens", "429 for a hot device token",
    "503 or 500 to a share of requests", "disconnect after errors",
    "request processed, answer lost", "HPACK and header list limits",
    "idle connections ended or silently dropped", "stream ids exhausted",
  ]

  /// The moments at which it can happen; the first is taken unless a rule says otherwise.
  public var stages: [FaultStage] {
    switch self {
    case .anyAnswer, .goneTimestamp, .unexpectedAnswer, .reasonSpelling, .addedLatency,
      .unusualFrames, .tooManyRequests, .serviceUnavailable, .lostAnswer:
      [.request]
    case .streamLimitLow: [.connection]
    case .streamLimitChanges: [.request, .answer]
    case .streamReset: [.request]
    case .goAwayCredential: [.ready]
    case .goAwayShutdown, .goAwayForm: [.request, .ready, .answer]
    case .connectionLost: [.request, .connection, .ready, .answer]
    case .blackHole: [.request, .ready]
    case .flowControl, .headerLimits: [.connection, .request]
    case .earlyAnswer, .tlsFailure: [.connection]
    case .connectRefused: [.connection, .standing]
    case .deadAddress, .wrongClock: [.standing]
    case .providerTokenRefused: [.standing]
    case .errorDisconnect: [.answer]
    case .idleConnection: [.idle]
    case .streamIDsExhausted: [.request]
    }
  }
}

/// The moments at which the gateway asks whether a fault is due.
public enum FaultStage: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  /// A TCP connection has been accepted; TLS has not begun.
  case connection
  /// TLS is up; SETTINGS have not been sent.
  case ready
  /// A request is complete and its verdict is known, but nothing has been done about it.
  case request
  /// The answer has been handed to the stream.
  case answer
  /// Nothing has come in on the connection for a while.
  case idle
  /// Not a moment: a condition of the whole gateway that holds as long as the rule does.
  case standing

  public var description: String {
    switch self {
    case .connection: "connection"
    case .ready: "ready"
    case .request: "request"
    case .answer: "answer"
    case .idle: "idle"
    case .standing: "standing"
    }
  }

  /// The stage with this name, or nil.
  public init?(_ name: String) {
    guard let found = Self.allCases.first(where: { $0.description == name }) else { return nil }
    self = found
  }
}
