// SPDX-License-Identifier: Apache-2.0

/// The effect of a rule on the gateway.
public enum FaultAction: Sendable, Equatable {
  /// Answers with this instead of the verdict.
  case answer(FaultAnswer)
  /// Takes the stream limit down to the next of these each time (and back to the first after the
  /// last), until `hold` ms have passed; nil is for good. The gateway's own limit stays the upper one.
  case limits([UInt32], hold: UInt64?)
  /// Resets the stream with one of these codes, chosen at random.
  case resets([UInt32], FaultResetMoment)
  case goAway(FaultGoAway)
  case disconnect(FaultDisconnect)
  case silence(FaultSilence)
  case window(FaultWindow)
  case delay(LatencyProfile)
  case shape(FaultShape)
  /// Requests whose body does not fit into this window are answered with 413 before their end.
  case earlyAnswer(window: UInt32)
  case tls(FaultTLS)
  /// The address does not accept connections (standing), or a connection ends as it begins.
  case refuse
  /// The gateway's clock is ahead by so many milliseconds, or behind.
  case clock(Int64)
  case providerTokens(FaultCredential)
  /// The request is processed as usual, and its answer never sent.
  case dropAnswer(FaultLoss)
  /// New values of the gateway's SETTINGS.
  case headers(tableSize: UInt32?, listSize: UInt32?)
}

/// An answer in the words of a rule.
public struct FaultAnswer: Sendable, Equatable {
  /// 100 to 999.
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
      let time: Int64? =
        switch timestamp {
        case .none: nil
        case .relative(let offset): now + offset
        case .absolute(let time): time
        }
      let stamp = time.map { ",\"timestamp\":\($0)" } ?? ""
      return Array("{\"reason\":\"\(reason)\"\(stamp)\(more)}".utf8)
    }
  }
}

/// GOAWAY frames and what follows them.
public struct FaultGoAway: Sendable, Equatable {
  /// The frames, in order. They are written as they stand, however wrong they are.
  public var frames: [Frame]
  public var aftermath: Aftermath

  public struct Frame: Sendable, Equatable {
    public var last: Last
    /// The HTTP/2 error code.
    public var code: UInt32
    /// The debug data.
    public var debug: [UInt8]

    public init(last: Last, code: UInt32 = 0, debug: [UInt8]) {
      self.last = last
      self.code = code
      self.debug = debug
    }
  }

  /// The last stream id of a frame.
  public enum Last: Sendable, Equatable {
    /// The newest stream that the client opened.
    case current
    /// So many streams of the client before the newest.
    case before(UInt32)
    case exactly(UInt32)
  }

  public enum Aftermath: Sendable, Equatable {
    /// Streams up to the last one are answered, then the connection ends.
    case drain
    /// The connection ends at once.
    case close
    /// The socket stays open, and nothing comes from it any more.
    case silent
  }

  public init(_ frames: [Frame], aftermath: Aftermath) {
    self.frames = frames
    self.aftermath = aftermath
  }
}

/// When a stream is reset.
public enum FaultResetMoment: Sendable, Equatable {
  /// Instead of an answer; the request is not processed.
  case instead
  /// After the answer's header fields: the status is known, the body is not.
  case afterStatus
  /// After the whole answer.
  case afterAnswer
}

/// The end of a TCP connection without a word of HTTP/2.
public enum FaultDisconnect: Sendable, Equatable {
  /// RST, as after a crash.
  case reset
  /// FIN.
  case end
}

/// The part of its work that the gateway no longer does on a connection.
public enum FaultSilence: Sendable, Equatable {
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

/// Flow control of the gateway's receiving side.
public struct FaultWindow: Sendable, Equatable {
  /// The new SETTINGS_INITIAL_WINDOW_SIZE; open streams' windows move by the difference.
  public var size: UInt32?
  /// WINDOW_UPDATE frames are delayed for so many ms.
  public var hold: UInt64?

  public init(size: UInt32?, hold: UInt64?) {
    self.size = size
    self.hold = hold
  }
}

/// Unusual forms of a regular answer.
public struct FaultShape: OptionSet, Sendable, Equatable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// The body comes in DATA frames of one byte.
  public static let manyDataFrames = FaultShape(rawValue: 1)
  /// The header block is cut in two: HEADERS and CONTINUATION.
  public static let continuation = FaultShape(rawValue: 2)
  /// Frames are padded.
  public static let padding = FaultShape(rawValue: 4)
  /// Trailer fields follow the body.
  public static let trailers = FaultShape(rawValue: 8)
  /// An answer with status 103 comes first.
  public static let informational = FaultShape(rawValue: 16)
  /// The answer waits for a random time below 50 ms, so that answers overtake each other.
  public static let outOfOrder = FaultShape(rawValue: 32)
}

/// The fault in the gateway's TLS.
public enum FaultTLS: Sendable, Hashable {
  /// The certificate has expired. Files (PEM) replace the certificate that the gateway makes.
  case expired(FaultFiles?)
  /// The certificate is for another host.
  case wrongHost(FaultFiles?)
  /// The certificate is of an unknown authority.
  case unknownAuthority(FaultFiles?)
  /// Nothing newer than TLS 1.1 is spoken.
  case tls11
  /// ALPN chooses `http/1.1`.
  case http1
  /// The handshake waits for so many ms.
  case slow(UInt64)
  /// The client is asked for a certificate of authorities that it does not know.
  case certificateRequest
}

/// A certificate and its key: paths of PEM files.
public struct FaultFiles: Sendable, Hashable {
  public var certificate: String
  public var key: String

  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}

/// The treatment of provider tokens.
public enum FaultCredential: Sendable, Equatable {
  /// The consequence of a provider token that came within 20 minutes of the one before it.
  case renewal(Renewal)
  /// The key with this id has been revoked.
  case revoked(key: String)
  /// The key with this id is for the other environment.
  case otherEnvironment(key: String)
  /// The key with this id is not related to the one that the connection began with.
  case unrelated(key: String)
  /// The key with this id belongs to a second team.
  case otherTeam(key: String)

  public enum Renewal: Sendable, Equatable {
    /// Nothing: the rule is off.
    case off
    /// 429 for the new token only.
    case token
    /// 429 for every request of the connection until the time is over.
    case wedge
    /// 429 once, and no answers on that connection any more.
    case blackHole
  }
}

/// The way in which the answer to a processed request is lost.
public enum FaultLoss: Sendable, Equatable {
  /// The stream stays open without an answer.
  case silence
  /// RST_STREAM with INTERNAL_ERROR.
  case reset
  /// The TCP connection is reset.
  case disconnect
}
