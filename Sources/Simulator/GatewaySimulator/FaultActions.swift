// SPDX-License-Identifier: Apache-2.0
import APNS
import Faults
import JSON

/// Reads what a rule of a fault script does. Each fault has its own fields; all of them have defaults
/// except where a rule would say nothing without.
enum FaultActions {
  static func action(
    _ fields: inout FaultFields, _ id: FaultID, _ stage: FaultStage, _ matcher: inout FaultMatcher
  ) throws(FaultScriptError) -> FaultAction {
    switch id {
    case .anyAnswer: try FaultAnswers.any(&fields)
    case .goneTimestamp: try FaultAnswers.gone(&fields)
    case .unexpectedAnswer: try FaultAnswers.unexpected(&fields)
    case .reasonSpelling: try FaultAnswers.spelling(&fields)
    case .tooManyRequests: try FaultAnswers.any(&fields, status: 429, reason: "TooManyRequests")
    case .serviceUnavailable:
      try FaultAnswers.any(&fields, status: 503, reason: "ServiceUnavailable")
    case .streamLimitLow:
      .limits(
        [try fields.integer("limit", 0...1_000_000) ?? 1], hold: try fields.duration("raise_after"))
    case .streamLimitChanges: try limits(&fields)
    case .streamReset: try resets(&fields)
    case .goAwayCredential, .goAwayShutdown, .goAwayForm: try FaultGoAways.action(&fields, id)
    case .connectionLost: .disconnect(try disconnect(&fields))
    case .blackHole: try blackHole(&fields, stage)
    case .flowControl: try window(&fields)
    case .addedLatency: .delay(try profile(&fields))
    case .unusualFrames: .shape(try shape(&fields))
    case .earlyAnswer: .earlyAnswer(window: try fields.integer("window", 1...65_535) ?? 1_000)
    case .tlsFailure: .tls(try tls(&fields))
    case .deadAddress: try deadAddress(&fields, matcher)
    case .connectRefused: .refuse
    case .wrongClock: try clock(&fields)
    case .providerTokenRefused: .providerTokens(try credential(&fields))
    case .errorDisconnect: try tooManyErrors(&fields, &matcher)
    case .lostAnswer: .dropAnswer(try loss(&fields))
    case .headerLimits: try headers(&fields, &matcher, stage)
    case .idleConnection: try idle(&fields, &matcher)
    case .streamIDsExhausted: usedUp(&matcher)
    }
  }

  private static func limits(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultAction {
    var limits: [UInt32] = []
    for value in try fields.list("limits") ?? [1] {
      guard let limit = value.int.flatMap({ UInt32(exactly: $0) }) else {
        throw fields.error("limits", "must be whole numbers")
      }
      limits.append(limit)
    }
    let hold = try fields.duration("hold")
    // A limit of 0 that nothing ends would stop the connection for good: no answer comes any more.
    if limits.contains(0), hold == nil {
      throw fields.error("hold", "must say for how long, because a limit is 0")
    }
    return .limits(limits, hold: hold)
  }

  private static func resets(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultAction {
    var codes: [UInt32] = []
    for value in try fields.list("codes") ?? ["REFUSED_STREAM"] {
      guard let code = Self.code(value) else {
        throw fields.error("codes", "must be error codes of RFC 9113 such as REFUSED_STREAM")
      }
      codes.append(code)
    }
    let moment: FaultResetMoment =
      switch try fields.word("moment", ["instead", "after_status", "after_answer"]) {
      case "after_status": .afterStatus
      case "after_answer": .afterAnswer
      default: .instead
      }
    return .resets(codes, moment)
  }

  /// An error code by its name in RFC 9113 §7, or by its number.
  static func code(_ value: JSONValue) -> UInt32? {
    if let number = value.int { return UInt32(exactly: number).flatMap { $0 <= 0xFFFF ? $0 : nil } }
    return value.string.flatMap { name in
      codeNames.firstIndex(of: name).map { UInt32($0) }
    }
  }

  private static let codeNames = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
    "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
    "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]

  private static func disconnect(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultDisconnect {
    try fields.word("with", ["reset", "end"]) == "end" ? .end : .reset
  }

  private static func blackHole(
    _ fields: inout FaultFields, _ stage: FaultStage
  ) throws(FaultScriptError) -> FaultAction {
    switch try fields.word("what", ["answers", "reading", "pings", "settings", "everything"]) {
    case "reading": return .silence(.reading)
    case "pings": return .silence(.pings)
    case "settings":
      guard stage == .ready else {
        throw fields.error("what", "can be settings at the stage ready only")
      }
      return .silence(.settings)
    case "everything": return .silence(.everything)
    default:
      guard stage == .request else {
        throw fields.error("what", "can be answers at the stage request only")
      }
      return .silence(.answers)
    }
  }

  private static func window(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultAction {
    let size: UInt32? = try fields.integer("window", 0...0x7FFF_FFFF)
    let hold = try fields.duration("hold")
    return .window(FaultWindow(size: size ?? (hold == nil ? 1 : nil), hold: hold))
  }

  private static func profile(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> LatencyProfile {
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
  }

  private static func shape(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultShape {
    let names: [(String, FaultShape)] = [
      ("many_data_frames", .manyDataFrames), ("continuation", .continuation),
      ("padding", .padding), ("trailers", .trailers), ("informational", .informational),
      ("out_of_order", .outOfOrder),
    ]
    guard let list = try fields.list("forms") else {
      return names.reduce(into: []) { $0.formUnion($1.1) }
    }
    var shape: FaultShape = []
    for value in list {
      guard let form = names.first(where: { $0.0 == value.string })?.1 else {
        throw fields.error(
          "forms", "must be among \(names.map(\.0).joined(separator: ", "))")
      }
      shape.formUnion(form)
    }
    return shape
  }

  private static func tls(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultTLS {
    let kind = try fields.word(
      "tls",
      [
        "expired", "wrong_host", "unknown_authority", "tls_1_1", "http_1_1", "slow",
        "certificate_request",
      ])
    switch kind {
    case "expired": return .expired(try files(&fields))
    case "wrong_host": return .wrongHost(try files(&fields))
    case "unknown_authority": return .unknownAuthority(try files(&fields))
    case "tls_1_1": return .tls11
    case "http_1_1": return .http1
    case "slow": return .slow(try fields.duration("delay") ?? 5_000)
    default: return .certificateRequest
    }
  }

  private static func files(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultFiles? {
    let certificate = try fields.text("certificate")
    let key = try fields.text("certificate_key")
    switch (certificate, key) {
    case (nil, nil): return nil
    case (let certificate?, let key?): return FaultFiles(certificate: certificate, key: key)
    default: throw fields.error("certificate", "and certificate_key belong together")
    }
  }

  private static func deadAddress(
    _ fields: inout FaultFields, _ matcher: FaultMatcher
  ) throws(FaultScriptError) -> FaultAction {
    guard matcher.address != nil else {
      throw fields.error("when.address", "must say which address is dead")
    }
    return .refuse
  }

  private static func clock(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultAction {
    guard let skew = try fields.offset("skew") else {
      throw fields.error("skew", "is missing: a time with a sign such as -30m")
    }
    return .clock(skew)
  }

  private static func credential(
    _ fields: inout FaultFields
  ) throws(FaultScriptError) -> FaultCredential {
    var found: [FaultCredential] = []
    if fields.has("renewal") {
      switch try fields.word("renewal", ["off", "token", "wedge", "black_hole"]) {
      case "token": found.append(.renewal(.token))
      case "wedge": found.append(.renewal(.wedge))
      case "black_hole": found.append(.renewal(.blackHole))
      default: found.append(.renewal(.off))
      }
    }
    if let key = try fields.text("revoked") { found.append(.revoked(key: key)) }
    if let key = try fields.text("other_environment") {
      found.append(.otherEnvironment(key: key))
    }
    if let key = try fields.text("unrelated") { found.append(.unrelated(key: key)) }
    if let key = try fields.text("other_team") { found.append(.otherTeam(key: key)) }
    guard found.count == 1 else {
      throw FaultScriptError(
        "\(fields.name) needs one of renewal, revoked, other_environment, unrelated, other_team")
    }
    return found[0]
  }

  private static func tooManyErrors(
    _ fields: inout FaultFields, _ matcher: inout FaultMatcher
  ) throws(FaultScriptError) -> FaultAction {
    if matcher.errors == nil { matcher.errors = 10 }
    switch try fields.word("with", ["goaway", "reset", "end"]) {
    case "reset": return .disconnect(.reset)
    case "end": return .disconnect(.end)
    default:
      let frame = FaultGoAway.Frame(last: .current, debug: [])
      return .goAway(FaultGoAway([frame], aftermath: .close))
    }
  }

  private static func loss(_ fields: inout FaultFields) throws(FaultScriptError) -> FaultLoss {
    switch try fields.word("with", ["silence", "reset", "disconnect"]) {
    case "reset": .reset
    case "disconnect": .disconnect
    default: .silence
    }
  }

  private static func headers(
    _ fields: inout FaultFields, _ matcher: inout FaultMatcher, _ stage: FaultStage
  ) throws(FaultScriptError) -> FaultAction {
    let tableSize: UInt32? = try fields.integer("table_size", 0...65_536)
    let listSize: UInt32? = try fields.integer("header_list_limit", 0...65_536)
    guard tableSize != nil || listSize != nil || matcher.headerListSize != nil else {
      throw FaultScriptError(
        "\(fields.name) needs table_size, header_list_limit or when.header_list_size")
    }
    guard matcher.headerListSize != nil else {
      return .headers(tableSize: tableSize, listSize: listSize)
    }
    guard tableSize == nil, listSize == nil else {
      throw fields.error("when.header_list_size", "refuses requests and changes no settings")
    }
    return .answer(FaultAnswer(status: 431, body: .none))
  }

  private static func idle(
    _ fields: inout FaultFields, _ matcher: inout FaultMatcher
  ) throws(FaultScriptError) -> FaultAction {
    if matcher.idle == nil { matcher.idle = 60_000 }
    guard try fields.word("with", ["goaway", "silence"]) == "goaway" else {
      return .silence(.everything)
    }
    return .goAway(FaultGoAways.reason("IdleTimeout", last: .current, aftermath: .close))
  }

  /// The stream is refused, and GOAWAY says so: the client has to make another connection.
  private static func usedUp(_ matcher: inout FaultMatcher) -> FaultAction {
    if matcher.streamID == nil { matcher.streamID = 0x7FFF_FF00 }
    return .goAway(
      FaultGoAway([FaultGoAway.Frame(last: .before(1), debug: [])], aftermath: .drain))
  }
}
