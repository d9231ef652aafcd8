// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Waiting

/// One sender: a book of provider tokens, some connections, and a clock that is set now and then.
final class SimulatedSender {
  /// A connection, and what APNs has seen on it (true time).
  private struct Connection {
    var machine = ConnectionStateMachine(authentication: .providerToken)
    /// When TLS will be up.
    var connectsAt: Int64
    var seen: ProviderTokenStamp?
    var seenSince: Int64 = 0
  }

  private var book = ProviderTokenBook()
  private var connections: [Connection] = []
  /// Records of the topic that it has read.
  private var position = 0
  /// Cut off from the topic until this time.
  private var isCutOffUntil: Int64 = 0
  /// Milliseconds by which its clock is ahead of true time.
  private var skew: Int64
  private var newestEver: ProviderTokenStamp?
  /// Since when it has nothing that may be sent; nil while it has.
  private(set) var holdsSince: Int64?
  private(set) var tokenChanges = 0

  init(skew: Int64, connections count: Int, now: Int64) {
    self.skew = skew
    connections = (0..<count).map { _ in Connection(connectsAt: now) }
  }

  /// The process starts again: nothing of the old one is left but its place.
  func restart(now: Int64, random: inout SeededGenerator) {
    book = ProviderTokenBook()
    position = 0
    newestEver = nil
    isCutOffUntil = now + Int64(random.within(1_000...10_000))
    for index in connections.indices {
      connections[index] = Connection(connectsAt: now + Int64(random.within(500...5_000)))
    }
  }

  /// The broker's messages do not reach it for a while.
  func cutOff(until time: Int64) { isCutOffUntil = max(isCutOffUntil, time) }

  /// Its clock is set, by so many milliseconds.
  func setClock(by step: Int64) { skew = max(-5_000, min(5_000, skew + step)) }

  /// One turn: read the topic, look after connections, push on each of them.
  ///
  /// - Returns: the invariant that broke, or nil.
  func turn(_ topic: [TopicRecord], now: Int64, random: inout SeededGenerator) -> String? {
    let wall = now + skew
    if now >= isCutOffUntil { read(topic, now: now, wall: wall, random: &random) }
    var canSend = false
    for index in connections.indices {
      live(index, now: now, random: &random)
      if let broken = push(index, now: now, wall: wall, canSend: &canSend) { return broken }
    }
    holdsSince = canSend ? nil : holdsSince ?? now
    return nil
  }

  private func read(
    _ topic: [TopicRecord], now: Int64, wall: Int64, random: inout SeededGenerator
  ) {
    // A record takes up to 3 s to arrive.
    while position < topic.count, topic[position].appendedAt + Int64(random.below(3_000)) <= now {
      let entry = ProviderTokenBook.Entry(
        credential: "team/key/any", teamID: "team", keyID: "key", scope: .any, apps: ["*"],
        stamp: topic[position].stamp, token: [1])
      _ = book.apply(entry, now: wall)
      position += 1
    }
    _ = book.refresh(now: wall)
  }

  private func live(_ index: Int, now: Int64, random: inout SeededGenerator) {
    switch connections[index].machine.state {
    case .connecting, .negotiating:
      if now >= connections[index].connectsAt { connections[index].machine.connected() }
    case .closed, .draining:
      connections[index] = Connection(connectsAt: now + Int64(random.within(500...5_000)))
    case .priming, .ready, .suspect:
      // Connections live for hours, some for less.
      if random.oneIn(2_000) { _ = connections[index].machine.goAway() }
      if random.oneIn(4_000) { connections[index].machine.closed() }
    }
  }

  private func push(_ index: Int, now: Int64, wall: Int64, canSend: inout Bool) -> String? {
    guard connections[index].machine.credit > 0, !book.entries.isEmpty else { return nil }
    let newest = book.stamp(0)
    if let newestEver, newest < newestEver { return "a sender's newest token went back" }
    newestEver = newest
    guard connections[index].machine.chooseToken(newest: newest, now: wall) != .none else {
      return nil
    }
    guard let token = connections[index].machine.token else { return "a push without a token" }
    canSend = true
    connections[index].machine.opened(now: wall)
    _ = connections[index].machine.accepted()
    connections[index].machine.settings(limit: 1_000)
    return seen(token, index, now: now, wall: wall)
  }

  /// What APNs sees: the token of a request, in true time.
  private func seen(_ token: ProviderTokenStamp, _ index: Int, now: Int64, wall: Int64) -> String? {
    if wall - token.issuedAt * 1_000 >= 55 * 60_000 { return "a token of 55 minutes was used" }
    // Clocks of signer and sender are up to 5 s off each, and `iat` is 5 s earlier than the minting.
    if now - token.issuedAt * 1_000 >= 55 * 60_000 + 15_000 {
      return "APNs sees a token of more than 55 minutes"
    }
    if token.issuedAt * 1_000 > now + 5_000 { return "a token from the future was used" }
    guard let before = connections[index].seen, before != token else {
      if connections[index].seen == nil {
        connections[index].seen = token
        connections[index].seenSince = now
      }
      return nil
    }
    if token < before { return "a connection's token went back" }
    if now - connections[index].seenSince < 20 * 60_000 {
      return "a connection saw two tokens within 20 minutes"
    }
    connections[index].seen = token
    connections[index].seenSince = now
    tokenChanges += 1
    return nil
  }
}
