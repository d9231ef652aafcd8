// SPDX-License-Identifier: Apache-2.0
import HTTP2
import ServiceKit

/// A connection and what the gateway knows about it.
final class GatewayConnection {
  let http: HTTP2ServerConnection
  let slot: Int
  var binding = ConnectionBinding()
  var isAuthenticated = false
  var isTouched = false
  /// How many streams the client has been told that it may open.
  var limit: UInt32
  /// The limit was taken back after an error.
  var isReduced = false

  init(_ http: HTTP2ServerConnection, slot: Int, limit: UInt32) {
    self.http = http
    self.slot = slot
    self.limit = limit
  }
}

/// What a loop shares with the admin port.
struct LoopShare: Sendable {
  let world: GatewayWorld
  let counters = Counters<GatewayCounter>()
  let reasons = ReasonTally()
  let log: RequestLog
}
