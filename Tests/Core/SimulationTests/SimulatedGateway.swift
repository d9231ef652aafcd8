// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import TestSupport

/// What arrives at the sender on one connection.
enum GatewayMessage {
  case connected
  case settings(limit: Int)
  case answer(stream: Int, GatewayResponse)
  /// RST_STREAM with REFUSED_STREAM.
  case refused(stream: Int)
  /// RST_STREAM with another code.
  case reset(stream: Int)
  case goAway(lastStream: Int)
  case pong
  /// The socket is gone.
  case lost
}

/// The gateway's end of one connection: it keeps APNs' rules, moves its limit, goes away, falls silent, refuses.
struct SimulatedGateway {
  private struct Stream {
    let id: Int
    let push: Int
    let answersAt: UInt64
  }

  /// Messages on their way, in order.
  private var outbox: [(at: UInt64, message: GatewayMessage)] = []
  private var streams: [Stream] = []
  private var limit: Int
  private let fullLimit: Int
  private var isPrimed = false
  private var isSilent = false
  private var lastStream: Int?
  private(set) var token: ProviderTokenStamp?
  private var tokenSince: UInt64 = 0
  /// Pushes that this connection has accepted.
  var accepted: [Int] = []

  init(now: UInt64, random: inout SeededGenerator) {
    fullLimit = random.oneIn(4) ? random.within(1...4) : random.within(5...60)
    limit = 1
    let delay = UInt64(random.within(5...300))
    if random.oneIn(20) {
      outbox.append((now + delay, .lost))
    } else {
      outbox.append((now + delay, .connected))
      outbox.append((now + delay, .settings(limit: 1)))
    }
  }

  /// The next message that has arrived.
  mutating func receive(now: UInt64) -> GatewayMessage? {
    guard let first = outbox.first, first.at <= now else { return nil }
    return outbox.removeFirst().message
  }

  private mutating func send(
    _ message: GatewayMessage, now: UInt64, random: inout SeededGenerator
  ) {
    guard !isSilent else { return }
    outbox.append((max(outbox.last?.at ?? 0, now + UInt64(random.below(40))), message))
  }

  /// A request arrives.
  ///
  /// - Returns: the rule of APNs that it breaks, or nil.
  mutating func request(
    _ push: Int, stream: Int, token: ProviderTokenStamp, now: UInt64, random: inout SeededGenerator
  ) -> String? {
    if let before = self.token, before != token {
      if token < before { return "a connection's token went back" }
      if now - tokenSince < 20 * 60_000 { return "two tokens within 20 minutes" }
      tokenSince = now
    }
    if self.token == nil { tokenSince = now }
    self.token = token
    if let lastStream, stream > lastStream { return nil }
    // Refused, not an error: SETTINGS that lower the limit cross with requests.
    guard streams.count < limit else {
      send(.refused(stream: stream), now: now, random: &random)
      return nil
    }
    let wait = random.oneIn(300) ? 60_000 : random.within(5...150)
    streams.append(Stream(id: stream, push: push, answersAt: now + UInt64(wait)))
    return nil
  }

  mutating func ping(now: UInt64, random: inout SeededGenerator) {
    send(.pong, now: now, random: &random)
  }

  /// The sender gave a stream up.
  mutating func cancel(stream: Int) { streams.removeAll { $0.id == stream } }

  /// Answers what is due and, unless it is `kind`, misbehaves.
  mutating func turn(now: UInt64, kind: Bool, random: inout SeededGenerator) {
    var index = 0
    while index < streams.count {
      guard streams[index].answersAt <= now else {
        index += 1
        continue
      }
      let stream = streams.remove(at: index)
      answer(stream, now: now, kind: kind, random: &random)
    }
    if !kind { misbehave(now: now, random: &random) }
  }

  private mutating func answer(
    _ stream: Stream, now: UInt64, kind: Bool, random: inout SeededGenerator
  ) {
    if !kind && random.oneIn(12) {
      if random.oneIn(4) { return send(.reset(stream: stream.id), now: now, random: &random) }
      let reason = Reason.allCases[random.below(Reason.allCases.count)]
      let response = GatewayResponse(status: reason.rule.status, reason: reason)
      return send(.answer(stream: stream.id, response), now: now, random: &random)
    }
    accepted.append(stream.push)
    send(.answer(stream: stream.id, GatewayResponse(status: 200)), now: now, random: &random)
    if !isPrimed {
      isPrimed = true
      limit = fullLimit
      send(.settings(limit: limit), now: now, random: &random)
    }
  }

  private mutating func misbehave(now: UInt64, random: inout SeededGenerator) {
    switch random.below(4_000) {
    case 0..<20 where isPrimed:
      // Down to one or to none, and up again.
      let choices = [0, 1, fullLimit, random.below(fullLimit) + 1]
      limit = choices[random.below(choices.count)]
      send(.settings(limit: limit), now: now, random: &random)
    case 20..<24 where lastStream == nil:
      let newest = streams.map(\.id).max() ?? 0
      let last = random.oneIn(2) ? newest : random.below(newest + 1)
      lastStream = last
      streams.removeAll { $0.id > last }
      send(.goAway(lastStream: last), now: now, random: &random)
    case 24: isSilent = true
    case 25..<27:
      outbox.removeAll()
      outbox.append((now, .lost))
      isSilent = true
    default: break
    }
  }

  /// It behaves from now on: a limit of none comes up again.
  mutating func recover(now: UInt64, random: inout SeededGenerator) {
    guard isPrimed, limit < fullLimit else { return }
    limit = fullLimit
    send(.settings(limit: limit), now: now, random: &random)
  }
}
