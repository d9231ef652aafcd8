// SPDX-License-Identifier: Apache-2.0

/// The effect of a rule on the gateway.
public enum FaultAction: Sendable, Equatable {
  /// Responds with this instead of the verdict.
  case answer(FaultAnswer)
  /// Lowers the stream limit to the next of these values each time (starting over after the last), for `hold` ms; nil
  /// is forever. It never exceeds the gateway's own limit.
  case limits([UInt32], hold: UInt64?)
  /// Resets the stream with one of these codes, chosen at random; the request is not processed.
  case resets([UInt32])
  /// Processes the request as usual and ends the response this way, with one of these codes if the ending takes one.
  case ending(FaultEnding, codes: [UInt32])
  case goAway(FaultGoAway)
  case disconnect(FaultDisconnect)
  case silence(FaultSilence)
  case settings(FaultSettings)
  case delay(LatencyProfile)
  case shape(Set<FaultShape>)
  case tls(FaultTLS)
  /// Refuses connections at the address (standing), or ends a connection as it starts.
  case refuse
  /// Moves the gateway's clock ahead by this many milliseconds, or back.
  case clock(Int64)
  case providerTokens(FaultCredential)
}

/// A response that a rule defines.
public struct FaultAnswer: Sendable, Equatable {
  /// 200 to 999.
  public var status: UInt16
  public var body: Body
  public var timestamp: Timestamp
  /// Sent by an intermediary in front of the gateway: without an id, and as HTML.
  public var isForeign = false
  /// Omits `apns-id`.
  public var hidesID = false
  /// The `retry-after` field; nil omits it.
  public var retryAfter: String?

  public enum Body: Sendable, Equatable {
    /// A JSON object with this reason and optional further members as JSON text (`,"key":1`).
    case reason(String, more: String)
    /// Exactly these bytes.
    case bytes([UInt8])
    /// No body.
    case none
  }

  public enum Timestamp: Sendable, Equatable {
    case none
    /// Milliseconds before (negative) or after the time of the response.
    case relative(Int64)
    /// Milliseconds since the epoch.
    case absolute(Int64)

    /// The timestamp of a response at `now`, both in ms since the epoch.
    public func time(now: Int64) -> Int64? {
      switch self {
      case .none: nil
      case .relative(let offset): now + offset
      case .absolute(let time): time
      }
    }
  }

  public init(status: UInt16, body: Body, timestamp: Timestamp = .none) {
    self.status = status
    self.body = body
    self.timestamp = timestamp
  }

  /// The body at `now` (ms since the epoch).
  public func bytes(now: Int64) -> [UInt8] {
    switch body {
    case .none: return []
    case .bytes(let bytes): return bytes
    case .reason(let reason, let more):
      let stamp = timestamp.time(now: now).map { ",\"timestamp\":\($0)" } ?? ""
      return Array("{\"reason\":\"\(reason)\"\(stamp)\(more)}".utf8)
    }
  }
}

/// How the response to a processed request ends. A waiting request carries the raw value.
public enum FaultEnding: UInt32, Sendable {
  /// The response is written.
  case regular
  /// The stream stays open without a response.
  case silence
  /// RST_STREAM with INTERNAL_ERROR instead of a response.
  case reset
  /// The TCP connection is reset instead of a response.
  case disconnect
  /// RST_STREAM after the response's header fields: the client knows the status but not the body.
  case afterStatus
  /// RST_STREAM after the complete response.
  case afterAnswer
}

/// GOAWAY frames and what happens afterwards.
public struct FaultGoAway: Sendable, Equatable {
  /// The frames, in order. They are sent as they are, even if invalid.
  public var frames: [Frame]
  public var aftermath: Aftermath

  public struct Frame: Sendable, Equatable {
    public var last: Last
    /// The HTTP/2 error code.
    public var code: UInt32 = 0
    /// The debug data.
    public var debug: [UInt8]
  }

  /// The last stream id of a frame.
  public enum Last: Sendable, Equatable {
    /// The newest stream that the client opened.
    case current
    /// A stream that the client opened this many streams before the newest.
    case before(UInt32)
    /// The stream before the request's, which is not processed; without a request the one before the newest.
    case beforeRequest
    case exactly(UInt32)
  }

  public enum Aftermath: String, Sendable, CaseIterable {
    /// Streams up to the last one get a response, then the connection ends.
    case drain
    /// The connection ends at once.
    case close
    /// The socket stays open, and nothing more is sent.
    case silence
  }
}

extension FaultGoAway {
  /// Creates one frame with a reason in APNs' format or without debug data.
  init(_ reason: String?, last: Last = .current, aftermath: Aftermath) {
    let debug = reason.map(Self.debug) ?? []
    self.init(frames: [Frame(last: last, debug: debug)], aftermath: aftermath)
  }

  static func debug(_ reason: String) -> [UInt8] { Array("{\"reason\":\"\(reason)\"}".utf8) }
}

/// How a TCP connection ends without an HTTP/2 frame.
public enum FaultDisconnect: String, Sendable, CaseIterable {
  /// RST, as after a crash.
  case reset
  /// FIN.
  case end
}

/// The part of its work that the gateway stops doing on a connection.
public enum FaultSilence: String, Sendable, CaseIterable {
  /// This request gets no response and is not processed.
  case answers
  /// Nothing is read from the socket.
  case reading
  /// PINGs are not acknowledged.
  case pings
  /// Neither SETTINGS nor their acknowledgement are sent.
  case settings
  /// Nothing is read or written, as if the network had lost the connection.
  case everything
}

/// New values of the gateway's SETTINGS and related behaviour; nil leaves a value unchanged.
public struct FaultSettings: Sendable, Equatable {
  /// The windows of open streams change by the difference.
  public var initialWindowSize: UInt32?
  public var headerTableSize: UInt32?
  public var maxHeaderListSize: UInt32?
  /// The delay of WINDOW_UPDATE frames, in ms.
  public var windowHold: UInt64?
  /// Requests with a larger body are answered with 413 before their end.
  public var earlyAnswerLimit: Int?
}

/// Unusual forms of a regular response.
public enum FaultShape: String, Sendable, CaseIterable {
  /// The body is sent in DATA frames of one byte.
  case manyDataFrames = "many_data_frames"
  /// The header block is split in two: HEADERS and CONTINUATION.
  case continuation
  /// Frames are padded.
  case padding
  /// Trailer fields follow the body.
  case trailers
  /// A 103 response is sent first.
  case informational
  /// The response waits a random time below 50 ms, so that responses overtake each other.
  case outOfOrder = "out_of_order"
}

/// A fault in the gateway's TLS.
public struct FaultTLS: Sendable, Hashable {
  public enum Kind: String, Sendable, CaseIterable {
    /// The certificate has expired.
    case expired
    /// The certificate is for another host.
    case wrongHost = "wrong_host"
    /// The certificate was issued by an unknown authority.
    case unknownAuthority = "unknown_authority"
    /// No TLS version newer than 1.1 is supported.
    case tls11 = "tls_1_1"
    /// ALPN selects `http/1.1`.
    case http1 = "http_1_1"
    /// The handshake is delayed.
    case slow
    /// The client is asked for a certificate from authorities that it does not know.
    case certificateRequest = "certificate_request"
  }

  public var kind: Kind
  /// Paths of PEM files that replace the certificate that the gateway generates: both or none.
  public var certificate: String?
  public var key: String?
  /// The delay of a slow handshake, in ms.
  public var delay: UInt64 = 0
}

/// A fault in the handling of provider tokens.
public enum FaultCredential: Sendable, Equatable {
  /// What happens when a provider token is replaced within 20 minutes.
  case renewal(Renewal)
  /// The key with this id is not what the client thinks.
  case key(String, KeyChange)

  public enum Renewal: String, Sendable, CaseIterable {
    /// Nothing: the rule is off.
    case off
    /// 429 for the new token only.
    case token
    /// 429 for every request of the connection until the interval has passed.
    case wedge
    /// 429 once, then no responses on that connection.
    case blackHole = "black_hole"
  }

  public enum KeyChange: String, Sendable, CaseIterable {
    /// It has been revoked.
    case revoked
    /// It is for the other environment.
    case otherEnvironment = "other_environment"
    /// It is not related to the key that the connection started with.
    case unrelated
    /// It belongs to a second team.
    case otherTeam = "other_team"
  }
}
