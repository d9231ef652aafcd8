// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewayModel
import HTTP2

/// A push relayed to the real gateway. Its memory lives until the response was handled.
final class RelayedPush {
  let request: UnsafeMutablePointer<ServerRequest>
  let facts: ComparedRequest
  /// The simulator's own response.
  let own: GatewayAnswer
  /// The `apns-id` as the client sent it.
  let identifier: UnsafeRawBufferPointer?
  /// The time at which it was accepted for relaying, in ms of the loop's clock.
  let takenAt: UInt64
  fileprivate let exchange = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
  private let memory = UnsafeMutablePointer<UInt8>.allocate(
    capacity: RelayedPush.bodyCapacity + RelayedPush.dateLength)

  private static let bodyCapacity = 16 * 1_024
  private static let dateLength = 29

  init(
    _ request: UnsafeMutablePointer<ServerRequest>, _ facts: ComparedRequest, own: GatewayAnswer,
    identifier: UnsafeRawBufferPointer?, now: UInt64
  ) {
    self.request = request
    self.facts = facts
    self.own = own
    self.identifier = identifier
    takenAt = now
    exchange.initialize(to: Exchange())
    exchange.pointee.response = memory
    exchange.pointee.responseCapacity = UInt16(Self.bodyCapacity)
    exchange.pointee.date = memory + Self.bodyCapacity
    let body = request.pointee.body
    exchange.pointee.body = body.baseAddress?.assumingMemoryBound(to: UInt8.self)
    exchange.pointee.bodyCount = UInt32(body.count)
    if let identifier, identifier.count == 36 {
      exchange.pointee.sentID = identifier.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
  }

  deinit {
    exchange.deallocate()
    memory.deallocate()
  }

  var answered: Exchange { exchange.pointee }

  /// The response's `date`; valid if it has one.
  var date: String {
    UnsafeRawBufferPointer(start: memory + Self.bodyCapacity, count: Self.dateLength).text
  }
}

/// One loop's connection to the real gateway and the pushes on it. Owned by the loop.
final class GatewayRelay {
  /// A push whose response has arrived, or that failed.
  struct Finished {
    let push: RelayedPush
    /// The cause, if there was no response.
    let failure: String?
  }

  let plan: RelayPlan
  private let poller: Poller
  private let token: UInt64
  private let scratch = ConnectionScratch()
  private let authority: UnsafeMutableRawBufferPointer
  private var headers = HeaderList()
  private var connection: HTTP2ClientConnection?
  private var startedAt: UInt64 = 0
  /// Whether TLS was established on the newest connection.
  private var wasReady = false
  private var place = 0
  private var waiting: [RelayedPush] = []
  private var open: [UnsafeMutablePointer<Exchange>: RelayedPush] = [:]
  private var completed: [UnsafeMutablePointer<Exchange>] = []
  private var failure = "the connection has ended"

  /// The timeout for a connection, and for a response, in milliseconds.
  private static let connectTime: UInt64 = 10_000
  private static let answerTime: UInt64 = 60_000

  init(_ plan: RelayPlan, _ poller: Poller, token: UInt64) {
    self.plan = plan
    self.poller = poller
    self.token = token
    authority = .allocate(byteCount: plan.authority.utf8.count, alignment: 1)
    authority.copyBytes(from: plan.authority.utf8)
  }

  deinit {
    connection?.close()
    authority.deallocate()
  }

  func take(_ push: RelayedPush) { waiting.append(push) }

  func socketReady(_ event: ReadyEvent) {
    connection?.socketReady(
      readable: event.readable, writable: event.writable, hangup: event.hangup)
  }

  /// Sends what can be sent and returns the finished pushes.
  ///
  /// - Parameters:
  ///   - now: Milliseconds of the loop's clock.
  ///   - time: Milliseconds since the epoch, for the log lines.
  func turn(now: UInt64, time: Int64) -> [Finished] {
    if connection == nil, !waiting.isEmpty { connect(now) }
    guard let connection else { return failAll() }
    if !connection.isConnected, now >= startedAt + Self.connectTime { connection.giveUp() }
    for (exchange, push) in open where now >= push.takenAt + Self.answerTime {
      connection.reset(exchange, code: HTTP2ErrorCode.cancel)
    }
    submit(on: connection)
    connection.flush()
    var finished: [Finished] = []
    for notice in connection.drainNotices() {
      plan.log.write(notice, time: time)
      if case .closed(let failure) = notice, let failure { self.failure = "\(failure)" }
    }
    connection.drainCompleted(into: &completed)
    for exchange in completed {
      guard let push = open.removeValue(forKey: exchange) else { continue }
      finished.append(Finished(push: push, failure: exchange.pointee.status > 0 ? nil : failure))
    }
    if connection.isClosed {
      self.connection = nil
      // Unsent pushes can be sent on the next connection, unless this one could not be established.
      if !wasReady { finished += failAll() }
    }
    return finished
  }

  private func failAll() -> [Finished] {
    defer { waiting = [] }
    return waiting.map { Finished(push: $0, failure: failure) }
  }

  private func connect(_ now: UInt64) {
    wasReady = false
    startedAt = now
    place += 1
    do {
      let made = try HTTP2ClientConnection(
        poller: poller, token: token, tls: plan.tls, serverName: plan.host, scratch: scratch)
      made.connect(to: plan.addresses[place % plan.addresses.count])
      connection = made
    } catch {
      failure = "\(error)"
    }
  }

  private func submit(on connection: HTTP2ClientConnection) {
    wasReady = wasReady || connection.isConnected
    var sent = 0
    while sent < waiting.count, connection.credit > 0 {
      fill(waiting[sent].request)
      guard connection.submit(headers, waiting[sent].exchange) else { break }
      open[waiting[sent].exchange] = waiting[sent]
      sent += 1
    }
    waiting.removeFirst(sent)
  }

  /// Copies the request's fields, with the real gateway's authority.
  private func fill(_ request: UnsafeMutablePointer<ServerRequest>) {
    headers.removeAll()
    for index in 0..<min(request.pointee.keptFields, HeaderList.capacity) {
      let name = request.pointee.name(index)
      let isName = name.spells(":authority") || name.spells("host")
      headers.append(
        name: name, isName ? UnsafeRawBufferPointer(authority) : request.pointee.value(index),
        .never)
    }
  }
}
