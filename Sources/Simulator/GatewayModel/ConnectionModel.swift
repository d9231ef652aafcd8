// SPDX-License-Identifier: Apache-2.0
public import APNS

/// The consequence of an answer for its connection.
public struct ConnectionStep: Equatable, Sendable {
  /// SETTINGS with this many concurrent streams are to be sent.
  public var limit: UInt32?
  /// The connection is to be ended for this reason.
  public var end: Reason?

  public init(limit: UInt32? = nil, end: Reason? = nil) {
    self.limit = limit
    self.end = end
  }
}

/// One connection as the gateway sees it: how many streams it grants, how many errors it forgives, when
/// it is idle. A value: answers and times go in, what to tell the client comes out.
///
/// Times are milliseconds since the epoch of a clock that may be moved ahead and back.
public struct ConnectionModel: Sendable, Equatable {
  /// Streams that the client may have open, as last told.
  public private(set) var limit: UInt32
  /// The client has shown a certificate, or a valid provider token that lifted the first limit.
  public private(set) var isUnlocked: Bool
  public private(set) var errorScore = 0
  /// The score's minute began then.
  private var scoreBegan: Int64
  private var lastRequest: Int64
  private var isEnding = false

  private static let scorePeriod: Int64 = 60_000

  /// A connection whose TLS handshake is done.
  public init(hasCertificate: Bool, _ rules: GatewayRules, now: Int64) {
    isUnlocked = hasCertificate || !rules.primes
    limit = isUnlocked ? rules.maxConcurrentStreams : 1
    scoreBegan = now
    lastRequest = now
  }

  /// A request came in.
  public mutating func received(now: Int64) { lastRequest = now }

  /// An acceptance changes nothing: there is no limit to lift or to restore.
  public func isSettled(_ most: UInt32) -> Bool { isUnlocked && limit == most }

  /// A request was answered.
  ///
  /// - Parameters:
  ///   - reason: nil for an acceptance.
  ///   - isAuthenticated: The request had a valid provider token (or the connection a certificate).
  public mutating func answered(
    _ reason: Reason?, isAuthenticated: Bool, _ rules: GatewayRules, now: Int64
  ) -> ConnectionStep {
    if reason == nil, isSettled(rules.maxConcurrentStreams) { return ConnectionStep() }
    var step = ConnectionStep()
    let isGone = reason?.rule.status == 410
    if isAuthenticated, !isUnlocked,
      reason == nil || isGone || rules.primingEnds == .authenticated
    {
      isUnlocked = true
      step.limit = rules.maxConcurrentStreams
    }
    if let reason, !isGone {
      if let lower = reduced(rules) { step.limit = lower }
      step.end = count(reason, rules, now: now)
    } else if reason == nil, isUnlocked, let higher = restored(rules) {
      step.limit = higher
    }
    if let wanted = step.limit {
      if wanted == limit { step.limit = nil } else { limit = wanted }
    }
    return step
  }

  private func reduced(_ rules: GatewayRules) -> UInt32? {
    switch rules.throttle {
    case .off: nil
    case .aggressive: 1
    case .gradual: max(limit / 2, 1)
    }
  }

  private func restored(_ rules: GatewayRules) -> UInt32? {
    let most = rules.maxConcurrentStreams
    guard limit != most else { return nil }
    return rules.throttle == .gradual && limit < most
      ? UInt32(min(UInt64(limit) * 2, UInt64(most))) : most
  }

  /// Adds an error to the minute's score; the reason for the end when it is over the limit.
  private mutating func count(_ reason: Reason, _ rules: GatewayRules, now: Int64) -> Reason? {
    guard rules.errorLimit > 0 else { return nil }
    // The clock may have gone back.
    if now - scoreBegan >= Self.scorePeriod || now < scoreBegan {
      scoreBegan = now
      errorScore = 0
    }
    errorScore += reason == .badDeviceToken ? rules.badTokenWeight : 1
    guard errorScore > rules.errorLimit, !isEnding else { return nil }
    isEnding = true
    // Which reason APNs gives here is not known.
    return .tooManyRequests
  }

  /// True if the connection has been idle for too long: true once.
  public mutating func isIdle(openStreams: Int, _ rules: GatewayRules, now: Int64) -> Bool {
    // The clock may have gone back.
    lastRequest = min(lastRequest, now)
    guard rules.idleTimeout > 0, openStreams == 0, !isEnding,
      now - lastRequest >= rules.idleTimeout
    else { return false }
    isEnding = true
    return true
  }

  /// The limit that new rules ask for; nil when it stays.
  public mutating func changed(_ rules: GatewayRules) -> UInt32? {
    let wanted = isUnlocked || !rules.primes ? rules.maxConcurrentStreams : 1
    if !rules.primes { isUnlocked = true }
    guard wanted != limit else { return nil }
    limit = wanted
    return wanted
  }
}

/// Counts a client's connections: more than so many per minute are taken for an attack.
public struct ConnectionRate: Sendable {
  private var began: Int64 = 0
  private var counts: [String: Int] = [:]

  public init() {}

  /// True if a connection from this address may be served.
  public mutating func admits(_ address: String, _ rules: GatewayRules, now: Int64) -> Bool {
    guard rules.connectionRate > 0 else { return true }
    // The clock may have gone back.
    if now - began >= 60_000 || now < began {
      began = now
      counts = [:]
    }
    let count = counts[address, default: 0] + 1
    counts[address] = count
    return count <= rules.connectionRate
  }
}
