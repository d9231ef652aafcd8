// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import HTTP2
import ServiceKit

/// What failed in one place goes out in another: to another address of the gateway where there is one, on
/// another connection otherwise.
extension SenderLoop {
  /// The connection for a push that failed before; nil when it should wait for one to be opened elsewhere.
  func elsewhere(
    _ push: UnsafeMutablePointer<Push>, instead chosen: GatewayConnection
  ) -> GatewayConnection? {
    guard let failed = push.pointee.failedOn else { return chosen }
    let address = push.pointee.failedAddress
    var connection = chosen
    if isOn(chosen, failed) || chosen.address == address,
      let other = chosen.pool.another(than: failed, at: address), other.prepareToken(now: wall)
    {
      connection = other
    }
    guard connection.address == address else {
      counters.add(.movedAddress)
      push.pointee.failedOn = nil
      return connection
    }
    return mayWait(push, for: connection) ? nil : connection
  }

  private func isOn(_ connection: GatewayConnection, _ place: UnsafeRawPointer) -> Bool {
    UnsafeRawPointer(Unmanaged.passUnretained(connection).toOpaque()) == place
  }

  /// Whether a better place than this connection may yet be found: the time of one connect is given to it.
  private func mayWait(
    _ push: UnsafeMutablePointer<Push>, for connection: GatewayConnection
  ) -> Bool {
    guard let failed = push.pointee.failedOn,
      now - push.pointee.failedAt < UInt64(settings.connectTimeoutMilliseconds)
    else { return false }
    let pool = connection.pool
    // With all connections that there may be, none is opened elsewhere.
    let load = pool.load
    guard load.connecting > 0 || load.serving - load.aged < settings.connections.upperBound
    else { return false }
    let hasOtherAddress = pool.addresses.latest.contains {
      $0 != connection.address && !pool.addresses.isAside($0, now: now)
    }
    return hasOtherAddress || (isOn(connection, failed) && settings.connections.upperBound > 1)
  }

  /// Puts pushes back in line that now have another place to go to, or have waited for one long enough.
  func bringBack(_ pool: GatewayPool) {
    for _ in 0..<pool.apart.count {
      guard let slot = pool.apart.popFirst() else { return }
      let push = pushes[slot]
      let address = push.pointee.failedAddress
      let isThere = pool.connections.contains { $0.state.credit > 0 && $0.address != address }
      let free = pool.connections.first { $0.state.credit > 0 }
      let isOver = now - push.pointee.failedAt >= UInt64(settings.connectTimeoutMilliseconds)
      if isThere || isOver || free.map({ !mayWait(push, for: $0) }) ?? false {
        pool.waiting.prepend(slot, push.pointee.life.sendClass)
      } else {
        pool.apart.append(slot)
      }
    }
  }
}
