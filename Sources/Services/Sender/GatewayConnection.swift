// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import EventLoop
import HTTP2

/// A provider token as the bytes of an `authorization` header, kept in place as long as somebody refers to
/// it: HTTP/2 reads the value only when the request is written.
final class Authorization {
  let stamp: ProviderTokenStamp
  /// `bearer <jwt>`. A secret.
  private let memory: UnsafeMutableRawBufferPointer

  init(stamp: ProviderTokenStamp, token: [UInt8]) {
    self.stamp = stamp
    let value = Array("bearer ".utf8) + token
    memory = .allocate(byteCount: value.count, alignment: 1)
    memory.copyBytes(from: value)
  }

  deinit { memory.deallocate() }

  /// Whether this is the token.
  func carries(_ token: [UInt8]) -> Bool {
    value.dropFirst("bearer ".utf8.count).elementsEqual(token)
  }

  var value: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
}

/// One connection of a pool: the HTTP/2 connection and what the core knows about it.
final class GatewayConnection {
  let http: HTTP2ClientConnection
  /// Its place in the loop's table.
  let index: Int
  let pool: GatewayPool
  let address: SocketAddress
  @exclusivity(unchecked) var state: ConnectionStateMachine
  /// What its pushes carry now, and what they carried before the last change: requests that wait for the
  /// next write still refer to it.
  private(set) var authorization: Authorization?
  private var previousAuthorization: Authorization?
  /// Something was submitted since the last flush.
  @exclusivity(unchecked) var isDirty = false
  /// A stream was given up; it completes with the next flush.
  var hasReset = false
  /// Monotonic milliseconds of the start, of the last answer (the start before the first), and of the moment
  /// when the first of the open streams was opened.
  let startedAt: UInt64
  @exclusivity(unchecked) var lastHeard: UInt64
  @exclusivity(unchecked) var busySince: UInt64
  /// Monotonic milliseconds of the last failure that was held against the destination.
  var failedAt: UInt64 = 0
  /// Monotonic milliseconds when a PING was sent that is not answered yet.
  var pingedAt: UInt64?
  /// From when on it is to be replaced, and whether that time has come.
  let replaceAt: UInt64
  var isAged = false
  /// It failed, and its address was put aside for that.
  var wasTroubled = false
  /// The pool was told that it takes no more pushes.
  var hasLeft = false
  /// Monotonic milliseconds when it was found to be of no more use although streams are open.
  var forsakenAt: UInt64?

  init(
    _ http: HTTP2ClientConnection, index: Int, pool: GatewayPool, address: SocketAddress,
    maximumStreams: UInt64, now: UInt64, replaceAt: UInt64
  ) {
    self.http = http
    self.index = index
    self.pool = pool
    self.address = address
    state = ConnectionStateMachine(
      authentication: pool.authentication, maximumStreams: maximumStreams)
    startedAt = now
    lastHeard = now
    busySince = now
    self.replaceAt = replaceAt
  }

  /// It serves or will: it is not about to close.
  var isStaying: Bool { state.state != .draining && state.state != .closed }

  /// It takes pushes, or would if it had credit.
  var isServing: Bool {
    switch state.state {
    case .priming, .ready: true
    case .connecting, .suspect, .draining, .closed: false
    }
  }

  /// Puts the pool's newest provider token on, if the rules allow it.
  ///
  /// - Returns: false when no push may go out on this connection now.
  func prepareToken(now: Int64) -> Bool {
    guard let newest = pool.authorization else { return pool.authentication == .certificate }
    switch state.chooseToken(newest: newest.stamp, now: now) {
    case .current: return true
    case .newest:
      previousAuthorization = authorization
      authorization = newest
      return true
    case .none: return false
    }
  }
}
