// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// What a `StreamServer` tells its owner. All calls come from `StreamServer.turn`, on its thread.
public protocol StreamHandler: AnyObject {
  /// The header of a request is there. An answer ends it here, before its body is read; nil lets the body come.
  func began(_ exchange: StreamExchange) -> HTTPResponse?
  /// A part of the body is there. Returns how many bytes were taken; if not all, the exchange was paused, and the rest
  /// comes again when it goes on.
  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int
  /// The body is complete. The exchange is paused until `answer` is called.
  func ended(_ exchange: StreamExchange)
  /// The exchange is over: answered, or the client has gone.
  func gone(_ exchange: StreamExchange)
}

/// An HTTP/1.1 server whose bodies are handled as they arrive, on the thread of its owner, which polls it together with
/// other things. Bodies may be of any length, and an exchange may wait for something else before it is answered.
public final class StreamServer {
  /// What is to be told about TLS: certificate chain and key, PEM.
  public struct Identity: Sendable {
    public let certificate: [UInt8]
    public let key: [UInt8]

    public init(certificate: [UInt8], key: [UInt8]) {
      self.certificate = certificate
      self.key = key
    }
  }

  /// Bytes that a connection may buffer: also the longest part of a body.
  private static let connectionMemory = 160 << 10

  private let daemon: OpaquePointer
  private let core: Unmanaged<StreamCore>
  /// The port that it listens on.
  public let port: UInt16

  /// Starts listening; nothing is accepted before the first `turn`.
  ///
  /// - Parameters:
  ///   - host: a numeric IPv4 address.
  ///   - port: 0 takes a free one.
  ///   - connections: how many may be open, at least 32; a further one ends the oldest that has no complete request.
  ///   - idleSeconds: after so long without a byte a connection is closed. Paused ones are not idle.
  ///   - identity: for TLS; nil for plain text.
  ///   - handler: not kept alive by the server.
  public init(
    host: String, port: UInt16, connections: Int, idleSeconds: UInt32, identity: Identity?,
    handler: any StreamHandler
  ) throws(HTTPServerError) {
    let core = StreamCore(handler, connections: connections)
    daemon = try ServerContext.listen(host: host, port: port) { address in
      Self.withText(identity?.certificate) { certificate in
        Self.withText(identity?.key) { key in
          martlet_http_start_polled(
            address, port, acceptStream, completedStream, connectionChanged,
            Unmanaged.passUnretained(core).toOpaque(), UInt32(connections), idleSeconds,
            Self.connectionMemory, certificate, key)
        }
      }
    }
    self.core = Unmanaged.passRetained(core)
    self.port = martlet_http_port(daemon)
  }

  private static func withText<R>(
    _ bytes: [UInt8]?, _ body: (UnsafePointer<CChar>?) -> R
  ) -> R {
    guard let bytes else { return body(nil) }
    return (bytes + [0]).withUnsafeBytes {
      body($0.baseAddress?.assumingMemoryBound(to: CChar.self))
    }
  }

  /// Ends all connections, answered or not.
  deinit {
    core.takeUnretainedValue().goOnForClose()
    MHD_stop_daemon(daemon)
    core.release()
  }

  /// The descriptor to watch for reading; then comes a `turn`.
  public var fd: Int32 { martlet_http_poll_fd(daemon) }

  /// Milliseconds after which a `turn` is due without any event; nil if none is.
  public var timeout: Int32? {
    var milliseconds: UInt64 = 0
    guard MHD_get_timeout(daemon, &milliseconds) == .YES else { return nil }
    return Int32(min(milliseconds, 60_000))
  }

  /// Open connections.
  public var connections: Int { core.takeUnretainedValue().connections.count }

  /// Accepts, reads and writes what can be without waiting.
  public func turn() { MHD_run(daemon) }

  /// Takes no further connections; those that are open go on.
  public func stopListening() {
    let socket = MHD_quiesce_daemon(daemon)
    if socket >= 0 { close(socket) }
  }
}

/// One request and its answer.
public final class StreamExchange {
  public let method: String
  /// Without the query, percent-decoded.
  public let path: String
  /// The owner's own, until `gone`.
  public var attachment: AnyObject?
  fileprivate let connection: OpaquePointer
  fileprivate var response: HTTPResponse?
  public private(set) var isPaused = false

  fileprivate init(_ connection: OpaquePointer, method: String, path: String) {
    self.connection = connection
    self.method = method
    self.path = path
  }

  /// The value of a header field, whatever the case of its name. Valid until `gone`.
  public func header(_ name: String) -> String? {
    MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { String(cString: $0) }
  }

  /// The value of an argument of the query, percent-decoded; nil without it. Valid until `gone`.
  public func argument(_ name: String) -> String? {
    MHD_lookup_connection_value(connection, .GET_ARGUMENT_KIND, name).map { String(cString: $0) }
  }

  /// Nothing more of it is read or answered until it goes on.
  public func pause() {
    guard !isPaused else { return }
    isPaused = true
    MHD_suspend_connection(connection)
  }

  /// Ends a pause.
  public func goOn() {
    guard isPaused else { return }
    isPaused = false
    MHD_resume_connection(connection)
  }

  /// Answers a request whose body is complete.
  public func answer(_ response: HTTPResponse) {
    self.response = response
    goOn()
  }
}

/// What the callbacks know.
private final class StreamCore: ServerContext {
  unowned let handler: any StreamHandler
  var open: [ObjectIdentifier: StreamExchange] = [:]

  init(_ handler: any StreamHandler, connections: Int) {
    self.handler = handler
    super.init(connections: connections)
  }

  /// libmicrohttpd cannot stop while a connection is suspended.
  func goOnForClose() {
    for exchange in open.values { exchange.goOn() }
  }
}

/// libmicrohttpd's access handler: called when the header is there, for each part of the body, and at its end.
private func acceptStream(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?,
  _ part: UnsafePointer<CChar>?, _ partCount: UnsafeMutablePointer<Int>?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let url, let method, let partCount, let state else {
    return .NO
  }
  let core = Unmanaged<StreamCore>.fromOpaque(context).takeUnretainedValue()
  guard let known = state.pointee else {
    let exchange = StreamExchange(
      connection, method: String(cString: method), path: String(cString: url))
    state.pointee = Unmanaged.passRetained(exchange).toOpaque()
    core.open[ObjectIdentifier(exchange)] = exchange
    guard let response = core.handler.began(exchange) else { return .YES }
    return Reply.queue(response, on: connection)
  }
  let exchange = Unmanaged<StreamExchange>.fromOpaque(known).takeUnretainedValue()
  if partCount.pointee > 0 {
    let bytes = UnsafeRawBufferPointer(start: part, count: partCount.pointee)
    partCount.pointee -= core.handler.received(bytes, exchange)
    return .YES
  }
  if let response = exchange.response {
    exchange.response = nil
    return Reply.queue(response, on: connection)
  }
  core.connections.set(connection, isBusy: true)
  exchange.pause()
  core.handler.ended(exchange)
  return .YES
}

private func completedStream(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ how: MHD_RequestTerminationCode
) {
  guard let context, let connection, let known = state?.pointee else { return }
  let core = Unmanaged<StreamCore>.fromOpaque(context).takeUnretainedValue()
  core.connections.set(connection, isBusy: false)
  let exchange = Unmanaged<StreamExchange>.fromOpaque(known).takeRetainedValue()
  state?.pointee = nil
  core.open[ObjectIdentifier(exchange)] = nil
  core.handler.gone(exchange)
}
