// SPDX-License-Identifier: Apache-2.0

/// The effect of a rule on the gateway.
public enum FaultAction: Sendable, Equatable {
  /// Answers with this instead of the verdict.
  case answer(FaultAnswer)
  /// Takes the stream limit down to the next of these each time (and back to the first after the
  /// last), until `hold` ms have passed; nil is for good. The gateway's own limit stays the upper one.
  case limits([UInt32], hold: UInt64?)
  /// Resets the stream with one of these codes, chosen at random; the request is not processed.
  case resets([UInt32])
  /// The request is processed as usual, and its answer ends so, with one of these codes if it takes one.
  case ending(FaultEnding, codes: [UInt32])
  case goAway(FaultGoAway)
  case disconnect(FaultDisconnect)
  case silence(FaultSilence)
  case settings(FaultSettings)
  case delay(LatencyProfile)
  case shape(Set<FaultShape>)
  case tls(FaultTLS)
  /// The address does not accept connections (standing), or a connection ends as it begins.
  case refuse
  /// The gateway's clock is ahead by so many milliseconds, or behind.
  case clock(Int64)
  case providerTokens(FaultCredential)
}

/// An answer in the words of a rule.
public struct FaultAnswer: Sendable, Equatable {
  /// 200 to 999.
  public var status: UInt16
  public var body: Body
  public var timestamp: Timestamp
  /// Something on the way to the gateway gives it: without an id, and HTML.
  public var isForeign = false
  /// Without the id of the push.
  public var hidesID = false
  /// The field retry-after; nil leaves it out.
  public var retryAfter: String?

  public enum Body: Sendable, Equatable {
    /// The JSON object with this reason, and further members as JSON text (`,"key":1`) if any.
    case reason(String, more: String)
    /// These bytes.
    case bytes([UInt8])
    /// No body at all.
    case none
  }

  public enum Timestamp: Sendable, Equatable {
    case none
    /// Milliseconds before (negative) or after the moment of the answer.
    case relative(Int64)
    /// Milliseconds since the epoch.
    case absolute(Int64)

    /// The timestamp of an answer at `now`, both in ms since the epoch.
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

/// The end of the answer to a processed request. Its raw value is what a request carries while it waits.
public enum FaultEnding: UInt32, Sendable {
  /// The answer is written.
  case regular
  /// The stream stays open without an answer.
  case silence
  /// RST_STREAM with INTERNAL_ERROR instead of an answer.
  case reset
  /// The TCP connection is reset instead of an answer.
  case disconnect
  /// RST_STREAM after the answer's header fields: the status is known, the body is not.
  case afterStatus
  /// RST_STREAM after the whole answer.
  case afterAnswer
}

/// GOAWAY frames and what follows them.
public struct FaultGoAway: Sendable, Equatable {
  /// The frames, in order. They are written as they stand, however wrong they are.
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
    /// So many streams of the client before the newest.
    case before(UInt32)
    case exactly(UInt32)
  }

  public enum Aftermath: String, Sendable, CaseIterable {
    /// Streams up to the last one are answered, then the connection ends.
    case drain
    /// The connection ends at once.
    case close
    /// The socket stays open, and nothing comes from it any more.
    case silence
  }
}

extension FaultGoAway {
  /// One frame, with a reason in APNs' form or without debug data.
  init(_ reason: String?, last: Last = .current, aftermath: Aftermath) {
    let debug = reason.map(Self.debug) ?? []
    self.init(frames: [Frame(last: last, debug: debug)], aftermath: aftermath)
  }

  static func debug(_ reason: String) -> [UInt8] { Array("{\"reason\":\"\(reason)\"}".utf8) }
}

/// The end of a TCP connection without a word of HTTP/2.
public enum FaultDisconnect: String, Sendable, CaseIterable {
  /// RST, as after a crash.
  case reset
  /// FIN.
  case end
}

/// The part of its work that the gateway no longer does on a connection.
public enum FaultSilence: String, Sendable, CaseIterable {
  /// This request gets no answer and is not processed.
  case answers
  /// Nothing is read from the socket.
  case reading
  /// PINGs are not acknowledged.
  case pings
  /// Neither SETTINGS nor their acknowledgement are sent.
  case settings
  /// Nothing is read and nothing is written, as if the network had lost the connection.
  case everything
}

/// New values of the gateway's SETTINGS, and what it does beside them; nil leaves a value as it is.
public struct FaultSettings: Sendable, Equatable {
  /// Open streams' windows move by the difference.
  public var initialWindowSize: UInt32?
  public var headerTableSize: UInt32?
  public var maxHeaderListSize: UInt32?
  /// WINDOW_UPDATE frames are delayed for so many ms.
  public var windowHold: UInt64?
  /// Requests with a larger body than this are answered with 413 before their end.
  public var earlyAnswerLimit: Int?
}

/// Unusual forms of a regular answer.
public enum FaultShape: String, Sendable, CaseIterable {
  /// The body comes in DATA frames of one byte.
  case manyDataFrames = "many_data_frames"
  /// The header block is cut in two: HEADERS and CONTINUATION.
  case continuation
  /// Frames are padded.
  case padding
  /// Trailer fields follow the body.
  case trailers
  /// An answer with status 103 comes first.
  case informational
  /// The answer waits for a random time below 50 ms, so that answers overtake each other.
  case outOfOrder = "out_of_order"
}

/// The fault in the gateway's TLS.
public struct FaultTLS: Sendable, Hashable {
  public enum Kind: String, Sendable, CaseIterable {
    /// The certificate has expired.
    case expired
    /// The certificate is for another host.
    case wrongHost = "wrong_host"
    /// The certificate is of an unknown authority.
    case unknownAuthority = "unknown_authority"
    /// Nothing newer than TLS 1.1 is spoken.
    case tls11 = "tls_1_1"
    /// ALPN chooses `http/1.1`.
    case http1 = "http_1_1"
    /// The handshake waits.
    case slow
    /// The client is asked for a certificate of authorities that it does not know.
    case certificateRequest = "certificate_request"
  }

  public var kind: Kind
  /// Paths of PEM files that replace the certificate that the gateway makes: both or none.
  public var certificate: String?
  public var key: String?
  /// The wait of a slow handshake, in ms.
  public var delay: UInt64 = 0
}

/// The treatment of provider tokens.
public enum FaultCredential: Sendable, Equatable {
  /// The consequence of a provider token that came within 20 minutes of the one before it.
  case renewal(Renewal)
  /// The key with this id is another one than the client thinks.
  case key(String, KeyChange)

  public enum Renewal: String, Sendable, CaseIterable {
    /// Nothing: the rule is off.
    case off
    /// 429 for the new token only.
    case token
    /// 429 for every request of the connection until the time is over.
    case wedge
    /// 429 once, and no answers on that connection any more.
    case blackHole = "black_hole"
  }

  public enum KeyChange: String, Sendable, CaseIterable {
    /// It has been revoked.
    case revoked
    /// It is for the other environment.
    case otherEnvironment = "other_environment"
    /// It is not related to the one that the connection began with.
    case unrelated
    /// It belongs to a second team.
    case otherTeam = "other_team"
  }
}
