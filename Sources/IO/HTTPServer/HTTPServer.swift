// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// A small HTTP/1.1 server for administration and metrics, with one thread of its own on which
/// all routes run. Not for the data path.
public final class HTTPServer: Sendable {
  static let connectionLimit = 64

  private nonisolated(unsafe) let daemon: OpaquePointer
  private let context: Unmanaged<Router>
  /// The port that it listens on.
  public let port: UInt16

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - host: A numeric IPv4 address; the loopback one unless told.
  ///   - port: 0 takes a free one.
  ///   - bodyLimit: Bytes that a request's body may have; a longer one is answered with 413.
  ///   - idleSeconds: After so long without a byte in either direction a connection is closed.
  public init(
    host: String = "127.0.0.1", port: UInt16, bodyLimit: Int = 1 << 20, idleSeconds: UInt32 = 60,
    routes: [HTTPRoute]
  ) throws(HTTPServerError) {
    let router = Router(routes: routes, bodyLimit: bodyLimit)
    daemon = try ServerContext.listen(host: host, port: port) { address in
      martlet_http_start(
        address, port, accept, completed, connectionChanged,
        Unmanaged.passUnretained(router).toOpaque(), UInt32(Self.connectionLimit), idleSeconds)
    }
    context = Unmanaged.passRetained(router)
    self.port = martlet_http_port(daemon)
  }

  /// Ends open connections and the thread.
  deinit {
    MHD_stop_daemon(daemon)
    context.release()
  }
}

/// Why a server did not start.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  public let description: String
}

/// libmicrohttpd's access handler: called when the header is there, for each part of the body, and
/// once more at the end, always on the server's thread.
private func accept(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?,
  _ part: UnsafePointer<CChar>?, _ partCount: UnsafeMutablePointer<Int>?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let context, let connection, let url, let method, let partCount, let state else {
    return .NO
  }
  let router = Unmanaged<Router>.fromOpaque(context).takeUnretainedValue()
  guard let known = state.pointee else {
    state.pointee = Unmanaged.passRetained(ReceivedBody()).toOpaque()
    return .YES
  }
  let body = Unmanaged<ReceivedBody>.fromOpaque(known).takeUnretainedValue()
  if partCount.pointee > 0 {
    body.append(UnsafeRawBufferPointer(start: part, count: partCount.pointee), router.bodyLimit)
    partCount.pointee = 0
    return .YES
  }
  let request = HTTPRequest(
    method: String(cString: method), path: String(cString: url), query: Query.parts(of: connection),
    body: body.bytes)
  router.connections.set(connection, isBusy: true)
  return Reply.queue(router.answer(request, isTooLong: body.isTooLong), on: connection)
}

/// Frees a request's state, however it ended.
private func completed(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ how: MHD_RequestTerminationCode
) {
  if let context, let connection {
    let router = Unmanaged<Router>.fromOpaque(context).takeUnretainedValue()
    router.connections.set(connection, isBusy: false)
  }
  guard let known = state?.pointee else { return }
  Unmanaged<ReceivedBody>.fromOpaque(known).release()
  state?.pointee = nil
}

/// The body of a request while it arrives.
private final class ReceivedBody {
  private(set) var bytes: [UInt8] = []
  private(set) var isTooLong = false

  func append(_ part: UnsafeRawBufferPointer, _ limit: Int) {
    guard !isTooLong, bytes.count + part.count <= limit else {
      isTooLong = true
      bytes = []
      return
    }
    bytes.append(contentsOf: part)
  }
}

/// Finds the route of a request.
private final class Router: ServerContext, @unchecked Sendable {
  let routes: [HTTPRoute]
  let bodyLimit: Int

  init(routes: [HTTPRoute], bodyLimit: Int) {
    self.routes = routes
    self.bodyLimit = bodyLimit
    super.init(connections: HTTPServer.connectionLimit)
  }

  func answer(_ request: HTTPRequest, isTooLong: Bool) -> HTTPResponse {
    guard !isTooLong else {
      return .text("the body is longer than \(bodyLimit) bytes\n", status: 413)
    }
    let covering = routes.filter { $0.covers(request.path) }
    guard !covering.isEmpty else { return .text("not found\n", status: 404) }
    guard let route = covering.first(where: { $0.takes(request.method) }) else {
      return .text("\(request.method) is not possible here\n", status: 405)
    }
    return route.handler(request)
  }
}
