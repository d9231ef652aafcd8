// SPDX-License-Identifier: Apache-2.0

/// Faults of TCP, TLS and time.
extension Fault {
  public static let connectionLost = Fault(
    "connection_lost", "the TCP connection breaks", at: [.request, .connection, .ready, .answer],
    "`with`: `reset`, `end` (FIN)", example: #""with": "reset", "when": {"probability": 0.001}"#
  ) { fields throws(FaultScriptError) in .disconnect(try fields.choice("with")) }

  public static let blackHole = Fault(
    "black_hole", "black holes: no answers, PINGs, SETTINGS or reads", at: [.request, .ready],
    """
    `what`: `answers` (this request gets none; at request only), `reading`, `pings` (at ready by default), `settings` \
    (nothing at all after TLS; at ready only), `everything`
    """,
    example: #""what": "pings""#
  ) { fields throws(FaultScriptError) in
    let what: FaultSilence = try fields.choice("what")
    // These kinds start when the connection does.
    if !fields.has("at"), what == .pings || what == .settings { fields.stage = .ready }
    if what == .settings, fields.stage != .ready {
      throw fields.error("what", "can be settings at the stage ready only")
    }
    if what == .answers, fields.stage != .request {
      throw fields.error("what", "can be answers at the stage request only")
    }
    return .silence(what)
  }

  public static let addedLatency = Fault(
    "added_latency", "added latency", at: [.request],
    """
    `profile`: `constant` (`time`), `lognormal` (`median`, `p99`), `bimodal` (`fast`, `slow`, `share`), `stall` \
    (`period`, `duration`), `slow_start` (`initial`, `duration`)
    """,
    example: #""profile": "lognormal", "median": "40ms", "p99": "900ms""#
  ) { fields throws(FaultScriptError) in
    let profile: LatencyProfile =
      switch try fields.word(
        "profile", ["constant", "lognormal", "bimodal", "stall", "slow_start"])
      {
      case "lognormal":
        .logNormal(
          median: try fields.duration("median") ?? 50, p99: try fields.duration("p99") ?? 500)
      case "bimodal":
        .bimodal(
          fast: try fields.duration("fast") ?? 20, slow: try fields.duration("slow") ?? 2_000,
          share: try fields.share("share") ?? 0.05)
      case "stall":
        .stall(
          period: try fields.duration("period") ?? 600_000,
          duration: try fields.duration("duration") ?? 120_000)
      case "slow_start":
        .slowStart(
          initial: try fields.duration("initial") ?? 1_000,
          duration: try fields.duration("duration") ?? 30_000)
      default: .constant(try fields.duration("time") ?? 100)
      }
    return .delay(profile)
  }

  public static let tlsFailure = Fault(
    "tls_failure", "TLS failures", at: [.connection],
    """
    `tls`: `expired`, `wrong_host`, `unknown_authority`, `tls_1_1`, `http_1_1`, `slow` (`delay`), \
    `certificate_request`; `certificate` and `certificate_key`: PEM files in place of generated ones
    """,
    example: #""tls": "expired", "when": {"connection": 2}"#
  ) { fields throws(FaultScriptError) in
    var tls = FaultTLS(kind: try fields.choice("tls"))
    switch tls.kind {
    case .expired, .wrongHost, .unknownAuthority:
      tls.certificate = try fields.text("certificate")
      tls.key = try fields.text("certificate_key")
      if (tls.certificate == nil) != (tls.key == nil) {
        throw fields.error("certificate", "and certificate_key belong together")
      }
    case .slow: tls.delay = try fields.duration("delay") ?? 5_000
    default: break
    }
    return .tls(tls)
  }

  public static let connectRefused = Fault(
    "connect_refused", "refused and rate-limited connects", at: [.connection, .standing],
    "closed at once, or at `standing` all listeners shut; usually `when.connects_per_minute`",
    example: #""when": {"connects_per_minute": 30}"#
  ) { _ in .refuse }
}
