// SPDX-License-Identifier: Apache-2.0
import Contract
import Waiting

/// How APNs behaves now.
struct GatewayMood {
  /// Every answer is a 5xx, or there is none.
  enum Whole: CaseIterable { case well, unavailable, silent }

  var whole = Whole.well
  /// Addresses that take no connection, and such that take one and never say anything.
  var refusing: Set<Int> = []
  var mute: Set<Int> = []
  /// Apps that every credential is refused for.
  var refusedApps: Set<UInt64> = []
  /// Now and then an answer takes a minute.
  var hasSlowAnswers = true
  /// Apps whose pushes get no answer.
  var hangingApps: Set<UInt64> = []
  /// Every connection ends with GOAWAY before it accepts a push.
  var turnsAway = false
  /// One answer in so many is a random reason; 0 for none.
  var faults = 0
}

/// What the gateway's connections know of the world.
struct GatewayView: ~Copyable {
  var mood: GatewayMood
  /// Devices that are throttled.
  var throttled: Set<UInt64>
  /// Devices without the app, by since when (milliseconds since the epoch).
  var unregistered: [DeviceOfApp: Int64]
  var now: UInt64
}

/// What arrives at the sender on one connection.
enum GatewayMessage {
  case connected
  case settings(limit: Int)
  case accepted(slot: UInt32)
  case refused(slot: UInt32, GatewayResponse, retryAfter: UInt32)
  /// RST_STREAM, with REFUSED_STREAM or another code.
  case reset(slot: UInt32, isUnprocessed: Bool)
  /// Streams that are named come back unprocessed.
  case goAway(Reason?, refused: [UInt32])
  case pong
  /// The socket is gone.
  case lost

  /// What is left of it when a stream is given up.
  func without(_ given: UInt32) -> GatewayMessage? {
    switch self {
    case .accepted(let slot), .refused(let slot, _, _), .reset(let slot, _):
      slot == given ? nil : self
    case .goAway(let reason, let refused):
      .goAway(reason, refused: refused.filter { $0 != given })
    case .connected, .settings, .pong, .lost: self
    }
  }
}

/// A request on the way.
struct GatewayRequest {
  var slot: UInt32
  var notification: Int
  var app: UInt64
  var device: UInt64
}

/// The gateway's end of one connection: it keeps APNs' rules and checks the sender's.
struct ConnectionModel {
  private struct Stream {
    let request: GatewayRequest
    let answersAt: UInt64
  }

  /// Messages on their way, in order.
  private var outbox: [(at: UInt64, message: GatewayMessage)] = []
  private var streams: [Stream] = []
  private var fullLimit: Int
  private var limit: Int
  private let isMute: Bool
  private let needsPriming: Bool
  private var hasSlowAnswers: Bool
  private var hasAccepted = false
  private var isGoingAway = false
  private var token: ProviderTokenStamp?
  private var tokenSince: UInt64 = 0
  /// Pushes that it has accepted since they were collected, and those of them whose answer will never arrive.
  var accepted: [Int] = []

  init(
    address: Int, isCertificate: Bool, mood: GatewayMood, now: UInt64,
    _ chance: inout SeededGenerator
  ) {
    fullLimit = chance.oneIn(4) ? chance.within(1...4) : chance.within(5...60)
    needsPriming = !isCertificate
    hasSlowAnswers = mood.hasSlowAnswers
    limit = isCertificate ? fullLimit : 1
    isMute = mood.mute.contains(address)
    let delay = UInt64(chance.within(5...300))
    if mood.refusing.contains(address) {
      outbox = [(now + delay, .lost)]
    } else if !isMute {
      outbox = [(now + delay, .connected)]
      if mood.turnsAway {
        outbox.append((now + delay, .goAway(nil, refused: [])))
        isGoingAway = true
      } else {
        outbox.append((now + delay, .settings(limit: limit)))
      }
    }
  }

  /// The next message that has arrived.
  mutating func receive(now: UInt64) -> GatewayMessage? {
    guard let first = outbox.first, first.at <= now else { return nil }
    return outbox.removeFirst().message
  }

  private mutating func send(
    _ message: GatewayMessage, now: UInt64, _ chance: inout SeededGenerator
  ) {
    outbox.append((max(outbox.last?.at ?? 0, now + UInt64(chance.below(40))), message))
  }

  /// A request arrives.
  ///
  /// - Parameter token: the provider token that it carries, if any.
  /// - Returns: the rule of APNs that it breaks, or nil.
  mutating func request(
    _ request: GatewayRequest, _ token: ProviderTokenStamp?, hangs: Set<UInt64>, now: UInt64,
    _ chance: inout SeededGenerator
  ) -> String? {
    if let token {
      // The same token under another generation is the same to APNs.
      if let before = self.token, before.issuedAt != token.issuedAt {
        if token.issuedAt < before.issuedAt { return "a connection's token went back" }
        if now - tokenSince < 20 * 60_000 { return "two tokens within 20 minutes" }
        tokenSince = now
      }
      if self.token == nil { tokenSince = now }
      self.token = token
      if (Int64(now) + World.epoch) / 1_000 - token.issuedAt >= 3_600 {
        return "a token of more than an hour"
      }
    }
    if isMute || hangs.contains(request.app) { return nil }
    if isGoingAway {
      send(.reset(slot: request.slot, isUnprocessed: true), now: now, &chance)
      return nil
    }
    // Refused, not an error: SETTINGS that lower the limit cross with requests.
    guard streams.count < limit else {
      send(.reset(slot: request.slot, isUnprocessed: true), now: now, &chance)
      return nil
    }
    let wait = hasSlowAnswers && chance.oneIn(300) ? 60_000 : chance.within(5...150)
    streams.append(Stream(request: request, answersAt: now + UInt64(wait)))
    return nil
  }

  mutating func ping(now: UInt64, isSilent: Bool, _ chance: inout SeededGenerator) {
    if !isMute, !isSilent { send(.pong, now: now, &chance) }
  }

  /// The sender gave a stream up. What is on its way about it concerns nobody any more: the number of a stream is never
  /// used again, only the slot is.
  mutating func cancel(_ slot: UInt32) {
    streams.removeAll { $0.request.slot == slot }
    outbox = outbox.compactMap { entry in entry.message.without(slot).map { (entry.at, $0) } }
  }

  /// Answers what is due, and misbehaves as its mood is.
  mutating func turn(_ world: borrowing GatewayView, _ chance: inout SeededGenerator) {
    let (mood, now) = (world.mood, world.now)
    guard mood.whole != .silent else { return }
    var index = 0
    while index < streams.count {
      guard streams[index].answersAt <= now else {
        index += 1
        continue
      }
      answer(streams.remove(at: index).request, world, &chance)
    }
    if mood.faults > 0 { misbehave(now, &chance) }
  }

  private mutating func answer(
    _ request: GatewayRequest, _ world: borrowing GatewayView, _ chance: inout SeededGenerator
  ) {
    let (mood, now) = (world.mood, world.now)
    func refuse(_ reason: Reason, _ retryAfter: UInt32 = 0) -> GatewayMessage {
      .refused(
        slot: request.slot, GatewayResponse(status: reason.rule.status, reason: reason),
        retryAfter: retryAfter)
    }
    if mood.whole == .unavailable {
      return send(refuse(.serviceUnavailable, chance.oneIn(8) ? 3 : 0), now: now, &chance)
    }
    if mood.refusedApps.contains(request.app) {
      return send(refuse(.invalidProviderToken), now: now, &chance)
    }
    if let since = world.unregistered[.init(app: request.app, device: request.device)] {
      return send(
        .refused(
          slot: request.slot, GatewayResponse(status: 410, reason: .unregistered, timestamp: since),
          retryAfter: 0), now: now, &chance)
    }
    if world.throttled.contains(request.device) {
      return send(refuse(.tooManyRequests), now: now, &chance)
    }
    if mood.faults > 0, chance.oneIn(mood.faults) {
      if chance.oneIn(4) {
        // Accepted or not: the client cannot know.
        if chance.oneIn(2) { accepted.append(request.notification) }
        return send(.reset(slot: request.slot, isUnprocessed: false), now: now, &chance)
      }
      // One in nine is not of APNs, and one in nine an unknown reason.
      if chance.oneIn(9) {
        let status = chance.pick([200, 204, 301, 403, 404, 407, 410, 429, 502] as [UInt16])
        return send(
          .refused(
            slot: request.slot, GatewayResponse(status: status, id: .none),
            retryAfter: chance.oneIn(4) ? 3 : 0), now: now, &chance)
      }
      if chance.oneIn(9) {
        let status = chance.pick([400, 403, 404, 418, 429, 500, 503, 599] as [UInt16])
        return send(
          .refused(
            slot: request.slot, GatewayResponse(status: status, body: .otherReason), retryAfter: 0),
          now: now, &chance)
      }
      return send(refuse(chance.pick(Reason.allCases)), now: now, &chance)
    }
    accepted.append(request.notification)
    send(.accepted(slot: request.slot), now: now, &chance)
    guard !hasAccepted else { return }
    hasAccepted = true
    if needsPriming {
      limit = fullLimit
      send(.settings(limit: limit), now: now, &chance)
    }
  }

  private mutating func misbehave(_ now: UInt64, _ chance: inout SeededGenerator) {
    switch chance.below(4_000) {
    case 0..<20 where hasAccepted:
      limit = chance.pick([0, 1, fullLimit, chance.below(fullLimit) + 1])
      send(.settings(limit: limit), now: now, &chance)
    case 20..<24 where !isGoingAway:
      isGoingAway = true
      let cut = chance.below(streams.count + 1)
      let refused = streams[cut...].map(\.request.slot)
      streams.removeSubrange(cut...)
      let reason = chance.oneIn(4) ? chance.pick(Reason.allCases) : nil
      send(.goAway(reason, refused: refused), now: now, &chance)
    case 25..<27:
      outbox = [(now, .lost)]
    default: break
    }
  }

  /// Streams of a connection that behaves, at least: on fewer a backlog would take longer than a run may.
  private static let enough = 20

  /// It behaves from now on: it answers soon, and a low limit comes up.
  mutating func recover(now: UInt64, _ chance: inout SeededGenerator) {
    hasSlowAnswers = false
    fullLimit = max(fullLimit, Self.enough)
    guard hasAccepted, limit < fullLimit else { return }
    limit = fullLimit
    send(.settings(limit: limit), now: now, &chance)
  }
}
