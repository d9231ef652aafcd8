// SPDX-License-Identifier: Apache-2.0

/// Faults of HTTP/2: streams, frames, SETTINGS and flow control.
extension Fault {
  public static let streamLimitLow = Fault(
    "stream_limit_low", "a low stream limit, raised late or never", at: [.connection],
    "`limit` (1), `raise_after` (absent: never)",
    example: #""limit": 1, "raise_after": "30s", "when": {"connection": 1}"#
  ) { fields throws(FaultScriptError) in
    .limits(
      [try fields.integer("limit", 0...1_000_000) ?? 1], hold: try fields.duration("raise_after"))
  }

  public static let streamLimitChanges = Fault(
    "stream_limit_changes", "a stream limit that falls and flaps", at: [.request, .answer],
    "`limits` (`[1]`): the next one at each firing; `hold`: time until the gateway's own limit returns (needed with 0)",
    example: #""limits": [1, 0, 1000], "hold": "500ms", "at": "answer", "when": {"every": 10}"#
  ) { fields throws(FaultScriptError) in
    let limits: [UInt32] = try fields.list("limits", [1], "must be whole numbers") { value in
      value.integer.flatMap { UInt32(exactly: $0) }
    }
    let hold = try fields.duration("hold")
    // A limit of 0 that never ends would block the connection for good.
    if limits.contains(0), hold == nil {
      throw fields.error("hold", "must say for how long, because a limit is 0")
    }
    return .limits(limits, hold: hold)
  }

  public static let streamReset = Fault(
    "stream_reset", "RST_STREAM", at: [.request],
    """
    `codes` (`["REFUSED_STREAM"]`): one of them at random; `moment`: `instead` (of an answer), `after_status`, \
    `after_answer`
    """,
    example: #""codes": ["REFUSED_STREAM", "INTERNAL_ERROR"], "when": {"probability": 0.01}"#
  ) { fields throws(FaultScriptError) in
    let codes = try fields.list(
      "codes", [7], "must be error codes of RFC 9113 such as REFUSED_STREAM", errorCode)
    switch try fields.word("moment", ["instead", "after_status", "after_answer"]) {
    case "after_status": return .ending(.afterStatus, codes: codes)
    case "after_answer": return .ending(.afterAnswer, codes: codes)
    default: return .resets(codes)
    }
  }

  public static let flowControl = Fault(
    "flow_control", "tiny and changing flow-control windows", at: [.connection, .request],
    """
    `window` (1): SETTINGS_INITIAL_WINDOW_SIZE, at `request` for open streams, too; `hold`: no WINDOW_UPDATE for this \
    time
    """,
    example: #""window": 100, "hold": "2s""#
  ) { fields throws(FaultScriptError) in
    let size: UInt32? = try fields.integer("window", 0...0x7FFF_FFFF)
    let hold = try fields.duration("hold")
    return .settings(
      FaultSettings(initialWindowSize: size ?? (hold == nil ? 1 : nil), windowHold: hold))
  }

  public static let unusualFrames = Fault(
    "unusual_frames", "answers in unusual frames", at: [.request],
    """
    `forms` (all): `many_data_frames`, `continuation`, `padding`, `trailers`, `informational` (a 103), `out_of_order` \
    (answers overtake each other)
    """,
    example: #""forms": ["out_of_order", "padding"]"#
  ) { fields throws(FaultScriptError) in
    let names = FaultShape.allCases.map(\.rawValue).joined(separator: ", ")
    return .shape(
      Set(
        try fields.list("forms", FaultShape.allCases, "must be among \(names)") { value in
          value.text.flatMap { FaultShape(rawValue: $0) }
        }))
  }

  public static let earlyAnswer = Fault(
    "early_answer", "an answer before the request's end", at: [.connection],
    """
    `window` (1000): larger bodies are answered 413 as soon as the size is known, from `content-length` or once more \
    than the window has come
    """,
    example: #""window": 1000"#
  ) { fields throws(FaultScriptError) in
    let window: UInt32 = try fields.integer("window", 1...65_535) ?? 1_000
    return .settings(FaultSettings(initialWindowSize: window, earlyAnswerLimit: Int(window)))
  }

  public static let headerLimits = Fault(
    "header_limits", "HPACK and header list limits", at: [.connection, .request],
    "`table_size`, `header_list_limit` (SETTINGS); or `when.header_list_size` at `request`: 431",
    example: #""table_size": 0"#
  ) { fields throws(FaultScriptError) in
    let tableSize: UInt32? = try fields.integer("table_size", 0...65_536)
    let listSize: UInt32? = try fields.integer("header_list_limit", 0...65_536)
    guard fields.when.headerListSize != nil else {
      guard tableSize != nil || listSize != nil else {
        throw FaultScriptError(
          "\(fields.name) needs table_size, header_list_limit or when.header_list_size")
      }
      return .settings(FaultSettings(headerTableSize: tableSize, maxHeaderListSize: listSize))
    }
    guard tableSize == nil, listSize == nil else {
      throw fields.error("when.header_list_size", "refuses requests and changes no settings")
    }
    return .answer(FaultAnswer(status: 431, body: .none))
  }

  /// The error code for a name in RFC 9113 §7 or for a number.
  static func errorCode(_ value: FaultValue) -> UInt32? {
    if let number = value.integer {
      return UInt32(exactly: number).flatMap { $0 <= 0xFFFF ? $0 : nil }
    }
    return value.text.flatMap { errorCodes.firstIndex(of: $0) }.map { UInt32($0) }
  }

  private static let errorCodes = [
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
    "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
    "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
  ]
}
