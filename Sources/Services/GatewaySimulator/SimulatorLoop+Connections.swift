// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import EventLoop
import HTTP2
import ServiceKit

extension SimulatorLoop {
  func accept(_ place: Int) {
    let listener = listeners[place]
    do throws(SystemError) {
      while let socket = try listener.accept() { open(socket, listener.role) }
    } catch {
      context.log.warning("cannot accept a connection", ["error": "\(error)"])
    }
  }

  private func open(_ socket: consuming Socket, _ role: ListenerRole) {
    let limit = settings.primes ? 1 : settings.maxConcurrentStreams
    var plan = ConnectionPlan(tls: tls, settings: .gateway(maxConcurrentStreams: limit))
    if !settings.isFast { connectionAccepted(&plan, from: socket.peerAddress, role) }
    guard !plan.isRefused else { return }
    let slot = freeSlots.popLast() ?? connections.count
    if slot == connections.count { connections.append(nil) }
    do throws(ConnectionFailure) {
      let http = try HTTP2ServerConnection(
        accepted: socket, poller: poller, token: UInt64(slot) + Self.firstConnectionToken,
        tls: plan.tls, settings: plan.settings, pool: pool, scratch: scratch)
      connections[slot] = GatewayConnection(
        http, slot: slot, id: shared.world.nextConnectionID(), role: role,
        limit: plan.settings.maxConcurrentStreams ?? limit)
      shared.counters.add(.connections)
      shared.counters.set(.open, connections.count - freeSlots.count)
    } catch {
      freeSlots.append(slot)
      context.log.warning("cannot serve a connection", ["error": "\(error)"])
    }
  }

  /// Puts a connection on the list of those to flush at the end of the turn.
  func touch(_ connection: GatewayConnection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection)
  }

  func flush() {
    for connection in touched {
      connection.isTouched = false
      connection.http.flush()
      connection.releaseIfIdle()
      report(connection)
      if connection.http.isClosed {
        connections[connection.slot] = nil
        freeSlots.append(connection.slot)
        shared.counters.set(.open, connections.count - freeSlots.count)
      }
    }
    touched.removeAll(keepingCapacity: true)
  }

  private func report(_ connection: GatewayConnection) {
    for notice in connection.http.takeNotices() {
      guard case .closed(let failure?) = notice, failure != .peerClosed else { continue }
      context.log.info("a connection broke", ["error": "\(failure)"])
    }
  }

  /// A stop: no new connections, no new requests, answers to the open ones.
  func drain() {
    drainEnds = now + UInt64(settings.drainTimeoutMilliseconds)
    for listener in listeners {
      poller.remove(listener.fd)
      listener.close()
    }
    for case let connection? in connections {
      connection.http.sendGoAway(debug: Array("{\"reason\":\"Shutdown\"}".utf8))
      touch(connection)
    }
    flush()
  }
}
