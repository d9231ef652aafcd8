// SPDX-License-Identifier: Apache-2.0
public import Crypto
public import EventLoop
public import HTTP

/// Something that happened to a connection as a whole.
public enum ConnectionNotice: Sendable, Equatable {
  /// It is a step nearer to TLS: at this stage now.
  case advanced(ConnectionStage)
  /// TLS is up and verified; requests may go out.
  case connected(resumed: Bool)
  /// The peer's SETTINGS; the number is how many streams it allows at once.
  case settings(maxConcurrentStreams: UInt32)
  /// The peer is leaving. Streams above the last one were not processed and have completed as such.
  /// `debug` is what the peer said: untrusted bytes, JSON or text, cut at 256.
  case goAway(lastStreamID: Int32, code: UInt32, debug: [UInt8])
  /// The answer to `ping()`, and how long it took.
  case pong(roundTripNanoseconds: UInt64)
  /// The connection is over; nil when it ended in good order (GOAWAY and nothing open, or our own
  /// close). Always the last notice.
  case closed(ConnectionFailure?)
}

/// The progress of a connection that carries no requests yet: what it waits for.
public enum ConnectionStage: UInt8, Sendable, Comparable {
  /// The TCP connection.
  case tcp
  /// The proxy's answer to CONNECT.
  case tunnel
  /// The first bytes of the peer behind our ClientHello.
  case serverHello
  /// The rest of the TLS handshake.
  case handshake
  /// The peer's SETTINGS.
  case settings

  public static func < (one: ConnectionStage, other: ConnectionStage) -> Bool {
    one.rawValue < other.rawValue
  }
}

/// Why a connection ended.
public enum ConnectionFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// The TCP connection could not be made.
  case connect(SystemError)
  /// It was not ready to carry requests in time: TCP, TLS and the peer's SETTINGS together.
  ///
  /// - Parameters:
  ///   - stage: what did not come.
  ///   - sent: bytes that the peer was sent.
  case timedOut(ConnectionStage, sent: Int)
  /// The proxy did not let us through.
  case proxy(ProxyFailure)
  /// TLS failed: an unacceptable certificate, no common protocol, a broken stream.
  case tls(TLSError)
  /// The peer broke HTTP/2, or says that we did.
  case http2(String)
  case peerClosed
  /// Reading or writing failed.
  case socket(SystemError)

  public var description: String {
    switch self {
    case .connect(let error), .socket(let error): error.description
    case .timedOut(let stage, let sent): Self.silence(stage, sent)
    case .proxy(let failure): failure.description
    case .tls(let error): error.description
    case .http2(let message): "HTTP/2 failed: \(message)"
    case .peerClosed: "the peer closed the connection"
    }
  }

  private static func silence(_ stage: ConnectionStage, _ sent: Int) -> String {
    switch stage {
    case .tcp: "no answer to TCP in time: a firewall drops it, or the host is down"
    case .tunnel: ProxyFailure.silent.description
    case .serverHello:
      "connected, but no answer to the TLS ClientHello of \(sent) bytes in time: a firewall drops it, or the path does"
        + " not take packets of that size (MTU)"
    case .handshake: "the TLS handshake was not finished in time"
    case .settings: "TLS is up, but the peer was not ready in time"
    }
  }
}
