// SPDX-License-Identifier: Apache-2.0

/// Faults that end a connection with GOAWAY.
extension Fault {
  public static let goAwayCredential = Fault(
    "goaway_credential", "GOAWAY that refuses the credential", at: [.ready],
    "`reason`: `BadCertificate`, `BadCertificateEnvironment`; last-stream-id 0, then the connection ends",
    example: #""reason": "BadCertificateEnvironment""#
  ) { fields throws(FaultScriptError) in
    let reason = try fields.word("reason", ["BadCertificate", "BadCertificateEnvironment"])
    return .goAway(FaultGoAway(reason, last: .exactly(0), aftermath: .close))
  }

  public static let goAwayShutdown = Fault(
    "goaway_shutdown", "GOAWAY Shutdown with the socket left open",
    at: [.request, .ready, .answer], example: #""when": {"nth": 1000}"#
  ) { _ in .goAway(FaultGoAway("Shutdown", aftermath: .silence)) }

  public static let goAwayForm = Fault(
    "goaway_form", "GOAWAY in unusual forms", at: [.request, .ready, .answer],
    """
    `form`: `below`, `two_step`, `twice`, `text`, `empty`, `binary`; `last` (an id) or `behind` (streams before the \
    newest); `code`; `then`: `drain`, `close`, `silence`
    """,
    example: #""form": "below", "behind": 5, "then": "drain", "when": {"every": 2000}"#
  ) { fields throws(FaultScriptError) in
    let form = try fields.word("form", ["below", "two_step", "twice", "text", "empty", "binary"])
    let code = fields.value("code")
    guard let code = code.map(errorCode) ?? 0 else {
      throw fields.error("code", "must be an error code of RFC 9113 such as NO_ERROR")
    }
    var last = form == "below" ? FaultGoAway.Last.beforeRequest : .current
    if let exact: UInt32 = try fields.integer("last", 0...0x7FFF_FFFF) {
      last = .exactly(exact)
    } else if let streams: UInt32 = try fields.integer("behind", 0...1_000_000) {
      last = .before(streams)
    }
    let (shutdown, text) = (FaultGoAway.debug("Shutdown"), "Maximum active streams violated")
    let debugs: [[UInt8]] =
      switch form {
      case "two_step": [[], shutdown]
      case "twice": [shutdown, []]
      case "text": [Array("\(text) for this endpoint.".utf8)]
      case "empty": [[]]
      case "binary": [[0xFF, 0xFE, 0x00, 0xC3, 0x28, 0x80, 0x7B]]
      default: [shutdown]
      }
    var goAway = FaultGoAway(
      frames: debugs.map { .init(last: last, code: code, debug: $0) },
      aftermath: try fields.choice("then"))
    if form == "two_step" { goAway.frames[0].last = .exactly(0x7FFF_FFFF) }
    return .goAway(goAway)
  }

  public static let errorDisconnect = Fault(
    "error_disconnect", "disconnect after errors", at: [.answer],
    "`when.errors` (10); `with`: `goaway`, `reset`, `end`",
    example: #""with": "goaway", "when": {"errors": 100, "bad_token_weight": 5}"#
  ) { fields throws(FaultScriptError) in
    fields.when.errors = fields.when.errors ?? 10
    switch try fields.word("with", ["goaway", "reset", "end"]) {
    case "reset": return .disconnect(.reset)
    case "end": return .disconnect(.end)
    default: return .goAway(FaultGoAway(nil, aftermath: .close))
    }
  }

  public static let idleConnection = Fault(
    "idle_connection", "idle connections ended or silently dropped", at: [.idle],
    "`when.idle` (1m); `with`: `goaway` (`IdleTimeout`), `silence` (no FIN)",
    example: #""with": "silence", "when": {"idle": "10m"}"#
  ) { fields throws(FaultScriptError) in
    fields.when.idle = fields.when.idle ?? 60_000
    return try fields.word("with", ["goaway", "silence"]) == "goaway"
      ? .goAway(FaultGoAway("IdleTimeout", aftermath: .close)) : .silence(.everything)
  }

  /// Refuses the stream and sends GOAWAY, so that the client has to open another connection.
  public static let streamIDsExhausted = Fault(
    "stream_ids_exhausted", "stream ids exhausted", at: [.request],
    "`when.stream_id` (2147483392): this stream is refused, and GOAWAY names the one before it",
    example: #""when": {"stream_id": 20001}"#
  ) { fields throws(FaultScriptError) in
    fields.when.streamID = fields.when.streamID ?? 0x7FFF_FF00
    return .goAway(FaultGoAway(nil, last: .beforeRequest, aftermath: .drain))
  }
}
