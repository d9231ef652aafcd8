// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import HTTP2
import Pipeline
import ServiceKit

/// Pushes go out: from a pool's line to the connection with the most free streams.
extension SenderLoop {
  /// Dispatches the pools where something has changed; the others could not send more than they did before.
  func dispatchAll() {
    var position = 0
    while position < touchedPools.count {
      let index = Int(touchedPools[position])
      position += 1
      guard let pool = pools[index] else { continue }
      pool.isTouched = false
      if !pool.waiting.isEmpty { dispatch(pool) }
    }
    touchedPools.removeAll(keepingCapacity: true)
  }

  /// Something has changed for a pool: pushes came, answers did, a connection or a provider token.
  func touch(_ pool: GatewayPool) {
    if !pool.isTouched {
      pool.isTouched = true
      touchedPools.append(pool.index)
    }
    activate(pool)
  }

  /// Something goes on in a pool: each upkeep looks after it until all of it is settled.
  func activate(_ pool: GatewayPool) {
    guard !pool.isActive else { return }
    pool.isActive = true
    activePools.append(pool.index)
  }

  /// Sends what waits, as far as there is stream credit and a usable provider token.
  func dispatch(_ pool: GatewayPool) {
    let capacity = pool.capacity
    let line = pool.waiting.count
    var passed = 0
    while var connection = pool.mostFree() {
      guard connection.prepareToken(now: wall) else {
        // A connection that may not change its token yet drains; another one may serve.
        if connection.state.credit == 0 { continue }
        return
      }
      guard let slot = pool.waiting.next(capacity: capacity, now: now) else { return }
      let push = pushes[slot]
      let sendClass = push.pointee.life.sendClass
      if isExpired(push) {
        pool.waiting.ended(sendClass)
        finish(slot, .expired)
        continue
      }
      // APNs may have throttled the device while this stood in line.
      if deviceHolds.mayHold(now: now), isThrottled(slot) {
        pool.waiting.ended(sendClass)
        continue
      }
      if pool.waiting.health.hasRefusedApps, mustWait(slot, push, pool) {
        passed += 1
        if passed >= line { return }
        continue
      }
      if push.pointee.failedOn != nil {
        guard let other = elsewhere(push, instead: connection) else {
          pool.waiting.ended(sendClass)
          pool.apart.append(slot)
          continue
        }
        connection = other
      }
      guard send(slot, push, on: connection) else {
        pool.waiting.ended(sendClass)
        pool.waiting.prepend(slot, sendClass)
        return
      }
    }
  }

  /// Opens a stream. False when the connection has none after all.
  private func send(
    _ slot: UInt32, _ push: UnsafeMutablePointer<Push>, on connection: GatewayConnection
  ) -> Bool {
    connection.pool.fillHeaders(for: push, on: connection)
    let exchange = UnsafeMutableRawPointer(push).assumingMemoryBound(to: Exchange.self)
    guard connection.http.submit(connection.pool.headers, exchange) else {
      // Whatever the reason (stream ids used up, a GOAWAY not heeded yet): no more streams here.
      perform(connection.state.unusable(), on: connection)
      return false
    }
    if connection.state.openStreams == 0 { connection.busySince = now }
    connection.state.opened()
    push.pointee.connection = Unmanaged.passUnretained(connection)
    push.pointee.sentAt = wall
    if push.pointee.life.attempts == 0 { connection.pool.waiting.budget.sent() }
    push.pointee.life.send()
    deadlines.insert(slot, now: now)
    if !connection.isDirty {
      connection.isDirty = true
      dirty.append(connection)
    }
    return true
  }

  /// One write for each connection that has something to say.
  func flushConnections() {
    guard !dirty.isEmpty else { return }
    let flushing = dirty
    dirty.removeAll(keepingCapacity: true)
    for connection in flushing {
      connection.isDirty = false
      connection.http.flush()
      // A reset stream completes with the write, which no event of the socket follows.
      if connection.hasReset || connection.http.isClosed {
        connection.hasReset = false
        heed(connection)
      }
    }
  }

  /// Gives up on answers whose time has passed; what that means is decided when the stream has closed.
  func expireDeadlines() {
    while let slot = deadlines.expire(now: now) {
      counters.add(.timedOut)
      let push = pushes[slot]
      guard let connection = push.pointee.connection?.takeUnretainedValue() else { continue }
      // Others were answered since it was sent: the connection lives, this one request is ignored.
      if connection.lastHeard + deadlines.timeout > now { counters.add(.silentStreams) }
      push.pointee.life.timeOut()
      let exchange = UnsafeMutableRawPointer(push).assumingMemoryBound(to: Exchange.self)
      connection.http.reset(exchange, code: HTTP2ErrorCode.cancel)
      connection.hasReset = true
      markDirty(connection)
    }
  }

  func markDirty(_ connection: GatewayConnection) {
    guard !connection.isDirty else { return }
    connection.isDirty = true
    dirty.append(connection)
  }
}
