// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Testing

/// What the gateway does, and what the loop hears of it.
extension ScriptedLoop {
  /// All addresses answer so.
  func answer(_ reply: @escaping (ScriptedRequest) -> ScriptedReply) {
    for address in gateways.indices { gateways[address].reply = reply }
  }

  /// All connects end so.
  func connect(_ deed: ConnectDeed) {
    for address in gateways.indices { gateways[address].connect = { _ in deed } }
  }

  /// What is held is answered now.
  func answerHeld(_ reply: ScriptedReply = .accepted(after: 0)) {
    for id in sockets.keys {
      for index in sockets[id]!.streams.indices {
        if case .hold = sockets[id]!.streams[index].reply {
          sockets[id]!.streams[index].reply = reply
        }
      }
    }
  }

  /// Something comes on a connection (from 1), or on all of them.
  func tell(_ notice: ScriptedSocket.Notice, on connection: Int? = nil) {
    for id in sockets.keys where connection == nil || sockets[id]!.number == connection {
      sockets[id]!.notices.append(notice)
    }
  }

  /// Nothing is heard on a connection (from 1) any more.
  func silence(_ connection: Int) {
    for id in sockets.keys where sockets[id]!.number == connection { sockets[id]!.isSilent = true }
  }

  // MARK: Connections

  static func address(_ place: Int) -> PeerAddress {
    PeerAddress(bytes: [10, 0, 0, UInt8(place + 1)], port: 443)!
  }

  func hear(_ id: ConnectionID) {
    guard let socket = sockets[id], !socket.isSilent else { return }
    guard socket.isUp else { return establish(id, socket) }
    while let notice = sockets[id]?.notices.first {
      sockets[id]!.notices.removeFirst()
      take(notice, id)
    }
    for stream in sockets[id]?.streams ?? [] where stream.isDue(now) { deal(stream, id) }
  }

  private func take(_ notice: ScriptedSocket.Notice, _ id: ConnectionID) {
    switch notice {
    case .limit(let limit):
      sockets[id]!.limit = limit
      dispatcher.handle(.touched(limit: limit), of: id)
      dispatcher.handle(.settings(limit: limit), of: id)
    case .goAway(let last, let reason):
      dispatcher.handle(.touched(limit: sockets[id]!.limit), of: id)
      for stream in sockets[id]!.streams where stream.number > last {
        unanswered(stream.slot, id, isUnprocessed: true)
      }
      dispatcher.handle(.goAway(reason), of: id)
    case .broken: lose(id, isFailure: true)
    }
    perform()
  }

  private func deal(_ stream: ScriptedSocket.Stream, _ id: ConnectionID) {
    // An earlier one may have ended the connection, or this stream.
    guard sockets[id]?.isSilent == false, let place = sockets[id]?.place(of: stream.slot) else {
      return
    }
    dispatcher.handle(.touched(limit: sockets[id]!.limit), of: id)
    switch stream.reply {
    case .answer(let response, _, let retryAfter):
      close(stream.slot, id)
      if response.kind == .accepted {
        dispatcher.accepted(stream.slot)
      } else {
        dispatcher.refused(stream.slot, response, retryAfter: retryAfter)
      }
      perform()
    case .hold, .unwritten: break
    case .refusedStream: unanswered(stream.slot, id, isUnprocessed: true)
    case .reset: unanswered(stream.slot, id, isUnprocessed: false)
    case .goAway(let last, let reason):
      sockets[id]!.streams[place].reply = .accepted(after: 0)
      take(.goAway(last: last, reason), id)
    case .broken: lose(id, isFailure: true)
    case .silence: sockets[id]!.isSilent = true
    }
  }

  private func establish(_ id: ConnectionID, _ socket: ScriptedSocket) {
    switch socket.deed {
    case .served: settle(id)
    case .refused: lose(id, isFailure: true)
    case .silence, .unreachable: break
    case .noHello: come(id, isMade: false)
    case .noSettings: come(id, isMade: true)
    case .slow(let stage):
      let stages = (now - socket.startedAt) / stage
      if stages > 0 { come(id, isMade: stages > 1) }
      if stages > 2 { settle(id) }
    case .goAway(let reason):
      come(id, isMade: true)
      dispatcher.handle(.goAway(reason), of: id)
    }
    perform()
  }

  /// TCP is up, and TLS.
  private func come(_ id: ConnectionID, isMade: Bool) {
    if sockets[id]?.isReached == false {
      sockets[id]!.isReached = true
      dispatcher.handle(.advanced, of: id)
    }
    if isMade, sockets[id]?.isMade == false {
      sockets[id]!.isMade = true
      dispatcher.handle(.connected, of: id)
    }
  }

  private func settle(_ id: ConnectionID) {
    come(id, isMade: true)
    let limit = gateways[sockets[id]!.address].streams
    sockets[id]!.isUp = true
    sockets[id]!.limit = limit
    dispatcher.handle(.settings(limit: limit), of: id)
    dispatcher.handle(.touched(limit: limit), of: id)
  }

  private func close(_ slot: UInt32, _ id: ConnectionID) {
    if let place = sockets[id]?.place(of: slot) { sockets[id]!.streams.remove(at: place) }
  }

  private func unanswered(
    _ slot: UInt32, _ id: ConnectionID, isUnprocessed: Bool, isLost: Bool = false
  ) {
    close(slot, id)
    dispatcher.unanswered(slot, isUnprocessed: isUnprocessed, isLost: isLost)
    perform()
  }

  private func lose(_ id: ConnectionID, isFailure: Bool) {
    guard let socket = sockets[id] else { return }
    for stream in socket.streams { unanswered(stream.slot, id, isUnprocessed: false, isLost: true) }
    sockets[id] = nil
    dispatcher.handle(.closed(isFailure: isFailure), of: id)
    perform()
  }

  /// What the dispatcher gave up ends with the turn, and PINGs are answered.
  func endStreams() {
    while let (slot, id) = resets.popLast() {
      guard let place = sockets[id]?.place(of: slot) else { continue }
      var isUnwritten = false
      if case .unwritten = sockets[id]!.streams[place].reply { isUnwritten = true }
      unanswered(slot, id, isUnprocessed: isUnwritten)
    }
    while let id = pings.popLast() {
      guard sockets[id]?.isSilent == false else { continue }
      dispatcher.handle(.ponged, of: id)
      perform()
    }
    while let (id, isFailure) = closing.popLast() { lose(id, isFailure: isFailure) }
  }
}
