// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Records
import Synchronization
import TestSupport

/// An HTTP server on the loopback that answers as it is told. A connection is closed after its answer.
final class HookReceiver: Sendable {
  struct Request: Sendable {
    let path: String
    /// Names in lower case.
    let headers: [String: String]
    let body: [UInt8]

    var id: String { headers["webhook-id"] ?? "" }
    var events: [JSONValue] { (try? JSONParser().parse(body))?["data"]?.array ?? [] }
  }

  struct Reply: Sendable {
    var status = 200
    var headers: [String] = []
    /// Milliseconds before it.
    var delay: UInt32 = 0
    /// Bytes of the body.
    var length = 0
    /// Milliseconds between two bytes of the body.
    var bytePause: UInt32 = 0
  }

  private struct State {
    var requests: [Request] = []
    var connections = 0
  }

  let port: UInt16
  private let listener: Int32
  private let state = Mutex(State())
  private let isOver = Atomic(false)
  private let reply: @Sendable (Request, Int) -> Reply

  /// - Parameters:
  ///   - port: that of an earlier one; nil takes a free one.
  ///   - reply: for a request, and how many came before it.
  init(
    port: UInt16? = nil, _ reply: @escaping @Sendable (Request, Int) -> Reply = { _, _ in Reply() }
  ) throws {
    self.reply = reply
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = try (port ?? FreePort.find()).bigEndian
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let handle = listener
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(handle, $0, length) == 0 && listen(handle, 128) == 0
          && getsockname(handle, $0, &length) == 0
      }
    }
    guard isBound else { throw SystemError(code: errno, attempt: "cannot listen for webhooks") }
    self.port = UInt16(bigEndian: address.sin_port)
    let thread = try LoopThread(name: "hooks") { [weak self] in
      while true {
        let connection = accept(handle, nil, nil)
        guard connection >= 0, let self, !self.isOver.load(ordering: .acquiring) else {
          if connection >= 0 { close(connection) }
          close(handle)
          return
        }
        self.serve(connection)
      }
    }
    thread.detach()
  }

  deinit { stop() }

  var url: String { "http://127.0.0.1:\(port)/hook" }
  var requests: [Request] { state.withLock { $0.requests } }
  var connections: Int { state.withLock { $0.connections } }
  /// The events of the requests that were answered with 200, by the ids of their notifications, in the order of arrival.
  func ids(_ isAccepted: (Request) -> Bool = { _ in true }) -> [String] {
    requests.filter(isAccepted).flatMap(\.events).compactMap { $0["data"]?["id"]?.string }
  }

  /// Listens no more.
  func stop() {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func serve(_ connection: Int32) {
    state.withLock { $0.connections += 1 }
    let thread = try? LoopThread(name: "hook") { [weak self] in
      defer { close(connection) }
      guard let request = Self.read(connection), let self else { return }
      let before = self.state.withLock { state in
        state.requests.append(request)
        return state.requests.count - 1
      }
      Self.answer(connection, self.reply(request, before))
    }
    thread?.detach()
  }

  private static func read(_ connection: Int32) -> Request? {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = recv(connection, &piece, piece.count, 0)
      guard count > 0 else { return nil }
      bytes += piece[..<count]
      if let request = parse(bytes) { return request }
    }
  }

  private static func parse(_ bytes: [UInt8]) -> Request? {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].dropFirst()) : ""
    }
    let body = bytes[end.upperBound...]
    guard body.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
    return Request(
      path: String(lines[0].split(separator: " ")[1]), headers: headers, body: Array(body))
  }

  private static func answer(_ connection: Int32, _ reply: Reply) {
    if reply.delay > 0 { usleep(reply.delay * 1_000) }
    let head =
      (["HTTP/1.1 \(reply.status) Answer", "Content-Length: \(reply.length)", "Connection: close"]
      + reply.headers).joined(separator: "\r\n") + "\r\n\r\n"
    var rest = Array(head.utf8)
    if reply.bytePause == 0 { rest += [UInt8](repeating: 0x78, count: reply.length) }
    while !rest.isEmpty {
      let count = send(connection, rest, rest.count, Int32(MSG_NOSIGNAL))
      guard count > 0 else { return }
      rest.removeFirst(count)
    }
    var byte: UInt8 = 0x78
    for _ in 0..<(reply.bytePause == 0 ? 0 : reply.length) {
      usleep(reply.bytePause * 1_000)
      guard send(connection, &byte, 1, Int32(MSG_NOSIGNAL)) == 1 else { return }
    }
  }
}
