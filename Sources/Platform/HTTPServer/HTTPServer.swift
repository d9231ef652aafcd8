// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP
import Synchronization

/// A small HTTP/1.1 server for administration and metrics, with one thread of its own on which
/// all routes run. Not for the data path.
public final class HTTPServer: Sendable {
  static let connectionLimit = 64

  private let wakeup = Wakeup()
  private let end = EndFlag()
  private nonisolated(unsafe) var thread: LoopThread?
  public let port: UInt16

  /// Starts listening.
  ///
  /// - Parameters:
  ///   - host: A numeric address; the loopback one unless told.
  ///   - port: 0 takes a free one.
  ///   - bodyLimit: Bytes that a request's body may have; a longer one is answered with 413.
  ///   - idleSeconds: A head must be complete after so long; in a body or an answer so long without a byte ends the
  ///     connection.
  ///   - names: Names besides addresses and `localhost` under which it answers (`BrowserGuard`).
  public init(
    host: String = "127.0.0.1", port: UInt16, bodyLimit: Int = 1 << 20, idleSeconds: UInt32 = 60,
    names: [String] = [], routes: [HTTPRoute]
  ) throws(HTTPServerError) {
    let router = Router(routes: routes, bodyLimit: bodyLimit)
    let server = try StreamServer(
      host: host, port: port, connections: Self.connectionLimit, idleSeconds: idleSeconds,
      identity: nil, guarding: .local(listen: host, others: names), handler: router)
    self.port = server.port
    let loop = RouterLoop(server: server, router: router)
    do throws(SystemError) {
      let poller = try Poller(capacity: 4)
      try poller.add(wakeup.fd, token: 0, .readable)
      try poller.add(server.fd, token: 1, .readable)
      let wakeup = wakeup
      let end = end
      thread = try LoopThread(name: "http") { loop.run(poller, wakeup, end) }
    } catch {
      throw HTTPServerError(description: "cannot start the server's thread: \(error)")
    }
  }

  /// Ends open connections and the thread.
  deinit {
    end.set()
    wakeup.signal()
    thread.take()?.join()
  }
}

public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  public let description: String
}

/// Says that a server's thread is to end.
private final class EndFlag: Sendable {
  private let value = Atomic(false)

  func set() { value.store(true, ordering: .relaxed) }
  var isSet: Bool { value.load(ordering: .relaxed) }
}

private struct RouterLoop {
  let server: StreamServer
  let router: Router

  func run(_ poller: Poller, _ wakeup: Wakeup, _ end: EndFlag) {
    var ready: [ReadyEvent] = []
    while !end.isSet {
      poller.wait(timeoutMilliseconds: server.timeout ?? -1, into: &ready)
      wakeup.clear()
      server.turn()
    }
  }
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

private final class Router: StreamHandler {
  private let routes: [HTTPRoute]
  private let bodyLimit: Int

  init(routes: [HTTPRoute], bodyLimit: Int) {
    self.routes = routes
    self.bodyLimit = bodyLimit
  }

  func began(_ exchange: StreamExchange) -> HTTPResponse? {
    guard exchange.announcedLength ?? 0 <= bodyLimit else { return tooLong }
    exchange.attachment = ReceivedBody()
    return nil
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    (exchange.attachment as? ReceivedBody)?.append(bytes, bodyLimit)
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let body = exchange.attachment as? ReceivedBody else { return }
    let request = HTTPRequest(
      method: exchange.method, path: exchange.path, query: exchange.head.target.query,
      body: body.bytes)
    exchange.answer(answer(request, isTooLong: body.isTooLong))
  }

  func gone(_ exchange: StreamExchange) {}

  private func answer(_ request: HTTPRequest, isTooLong: Bool) -> HTTPResponse {
    guard !isTooLong else { return tooLong }
    let covering = routes.filter { $0.covers(request.path) }
    guard !covering.isEmpty else {
      var paths: [String] = []
      for route in routes where !paths.contains(route.path) { paths.append(route.path) }
      return .text("not found; there are \(paths.joined(separator: ", "))\n", status: 404)
    }
    guard let route = covering.first(where: { $0.takes(request.method) }) else {
      var refusal = HTTPResponse.text("\(request.method) is not possible here\n", status: 405)
      refusal.headers.append(("Allow", covering.map(\.method).joined(separator: ", ")))
      return refusal
    }
    return route.handler(request)
  }

  private var tooLong: HTTPResponse {
    .text("the body is longer than \(bodyLimit) bytes\n", status: 413)
  }
}
