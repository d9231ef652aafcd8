// SPDX-License-Identifier: Apache-2.0
import APNS
import HTTP2
import ServiceKit

/// What a listener plays: which gateway, and which of its two services.
struct ListenerRole: Sendable, Equatable {
  enum Service: Sendable { case device, management }

  let environment: Environment
  let service: Service
}

/// A connection and what the gateway knows about it.
final class GatewayConnection {
  let http: HTTP2ServerConnection
  let slot: Int
  /// Counts up over all loops of the gateway; never used again.
  let id: UInt64
  let role: ListenerRole
  var binding = ConnectionBinding()
  var isAuthenticated = false
  var isTouched = false
  /// TLS is up and SETTINGS are on their way.
  var isReady = false
  /// How many streams the client has been told that it may open.
  var limit: UInt32
  /// The limit was taken back after an error.
  var isReduced = false
  /// Memory that answers of this connection point to; free when no stream is open.
  private var held: [UnsafeMutableRawBufferPointer] = []

  init(
    _ http: HTTP2ServerConnection, slot: Int, id: UInt64, role: ListenerRole, limit: UInt32
  ) {
    self.http = http
    self.slot = slot
    self.id = id
    self.role = role
    self.limit = limit
  }

  deinit { release() }

  /// Memory for an answer, to be kept until its stream has closed.
  func hold(_ bytes: some Collection<UInt8>) -> UnsafeRawBufferPointer {
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(bytes.count, 1), alignment: 1)
    memory.copyBytes(from: bytes)
    held.append(memory)
    return UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])
  }

  /// Gives back what was held once no answer can need it any more.
  func releaseIfIdle() {
    if !held.isEmpty, http.openStreams == 0 { release() }
  }

  private func release() {
    for memory in held { memory.deallocate() }
    held = []
  }
}

/// What a loop shares with the admin port.
struct LoopShare: Sendable {
  let world: GatewayWorld
  let counters = Counters<GatewayCounter>()
  let reasons = ReasonTally()
  let log: RequestLog
}
