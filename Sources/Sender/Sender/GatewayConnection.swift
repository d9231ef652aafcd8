// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP2
import SenderDecisions
import Settings
import Telemetry

/// A provider token as the bytes of an `authorization` header, kept in place as long as somebody refers to
/// it: HTTP/2 reads the value only when the request is written.
final class Authorization {
  /// `bearer <jwt>`. A secret.
  private let memory: UnsafeMutableRawBufferPointer

  init(token: [UInt8]) {
    let value = Array("bearer ".utf8) + token
    memory = .allocate(byteCount: value.count, alignment: 1)
    memory.copyBytes(from: value)
  }

  deinit { memory.deallocate() }

  var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
}

/// One connection of a pool: its socket, and what the next requests carry. What is decided by is the `Dispatcher`'s.
final class GatewayConnection {
  let http: HTTP2ClientConnection
  /// Its name in the dispatcher.
  let id: ConnectionID
  let pool: GatewayPool
  let address: SocketAddress
  /// What its pushes carry now, and what they carried before the last change: requests that wait for the
  /// next write still refer to it.
  private(set) var authorization: Authorization?
  private var previousAuthorization: Authorization?
  /// A request was submitted.
  @exclusivity(unchecked) var hasSent = false
  /// Something was submitted since the last flush.
  @exclusivity(unchecked) var isDirty = false
  /// The gateway has said how many streams it allows: pushes may go out.
  var isReady = false
  /// Monotonic milliseconds of the last event that was told of it.
  var lastEvent: UInt64 = 0
  /// A stream was given up; it completes with the next flush.
  var hasReset = false

  init(
    _ http: HTTP2ClientConnection, _ id: ConnectionID, pool: GatewayPool, address: SocketAddress
  ) {
    self.http = http
    self.id = id
    self.pool = pool
    self.address = address
  }

  /// Where it leads, for the log: the gateway, and the proxy on the way if there is one.
  var place: [LogEvent.Field] { Self.place(of: pool, at: address) }

  static func place(of pool: GatewayPool, at address: SocketAddress) -> [LogEvent.Field] {
    pool.proxy == nil
      ? [("gateway", .text("\(address)"))]
      : [("gateway", .text("\(pool.gateway)")), ("proxy", .text("\(address)"))]
  }

  /// Puts the pool's newest provider token on.
  func changeToken() {
    previousAuthorization = authorization
    authorization = pool.authorization
  }

  /// What is logged of an end that was not in order.
  ///
  /// - Parameter quiet: milliseconds since something happened on it.
  func end(quiet: UInt64) -> (event: SenderLog, fields: [LogEvent.Field]) {
    guard isReady, http.endedIdle else { return (isReady ? .connectionLost : .notConnected, place) }
    // Usual where something on the way ends what is silent; the next push opens another one.
    let idle = DurationText.text(milliseconds: Int64(clamping: quiet / 1_000 * 1_000))
    return (.connectionCutIdle, place + [("idle", .text(idle))])
  }

  /// What is wrong, and the remedy where there is one.
  static func words(_ failure: ConnectionFailure) -> String {
    guard case .timedOut(.serverHello, _) = failure else { return "\(failure)" }
    return
      "\(failure). --tls-groups \(GatewayAccess.smallGroups) makes it small, and martlet doctor tries that"
  }
}
