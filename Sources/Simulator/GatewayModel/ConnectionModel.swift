// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The effect of a response on its connection.
public struct ConnectionStep: Equatable, Sendable {
  /// The concurrent stream limit to send in SETTINGS.
  public var limit: UInt32?
  /// The reason to close the connection with.
  public var end: Reason?

  public init(limit: UInt32? = nil, end: Reason? = nil) {
    self.limit = limit
    self.end = end
  }
}

/// The gateway's state of one connection: stream limit, error score and idle time. A value type: responses and times go
/// in, actions come out.
///
/// Times are in milliseconds since the epoch, of a clock that can be moved ahead and back.
public struct ConnectionModel: Sendable, Equatable {
  /// The concurrent stream limit last sent to the client.
  public private(set) var limit: UInt32
  /// Whether the client has presented a certificate, or a valid provider token that lifted the initial limit.
  public private(set) var isUnlocked: Bool
  public private(set) var errorScore = 0
  /// The start of the score's minute.
  private var scoreBegan: Int64
  private var lastRequest: Int64
  private var isEnding = false

  private static let scorePeriod: Int64 = 60_000

  /// Creates the model of a connection whose TLS handshake is complete.
  public init(hasCertificate: Bool, _ rules: GatewayRules, now: Int64) {
    isUnlocked = hasCertificate || !rules.primes
    limit = isUnlocked ? rules.maxConcurrentStreams : 1
    scoreBegan = now
    lastRequest = now
  }

  public mutating func received(now: Int64) { lastRequest = now }

  /// Whether an accepted push changes nothing: there is no limit to lift or to restore.
  public func isSettled(_ most: UInt32) -> Bool { isUnlocked && limit == most }

  /// Records the response to a request.
  ///
  /// - Parameters:
  ///   - reason: nil if the push was accepted.
  ///   - isAuthenticated: The request had a valid provider token, or the connection a certificate.
  public mutating func answered(
    _ reason: Reason?, isAuthenticated: Bool, _ rules: GatewayRules, now: Int64
  ) -> ConnectionStep {
    if reason == nil, isSettled(rules.maxConcurrentStreams) { return ConnectionStep() }
    var step = ConnectionStep()
    let isGone = reason?.rule.status == 410
    if isAuthenticated, !isUnlocked, reason == nil || isGone || rules.primingEnds == .authenticated
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

  /// Adds an error to the minute's score; returns the reason to close the connection with once it exceeds the limit.
  private mutating func count(_ reason: Reason, _ rules: GatewayRules, now: Int64) -> Reason? {
    guard rules.errorLimit > 0 else { return nil }
    // The clock may have been moved back.
    if now - scoreBegan >= Self.scorePeriod || now < scoreBegan {
      scoreBegan = now
      errorScore = 0
    }
    errorScore += reason == .badDeviceToken ? rules.badTokenWeight : 1
    guard errorScore > rules.errorLimit, !isEnding else { return nil }
    isEnding = true
    // The reason that APNs uses here is not known.
    return .tooManyRequests
  }

  /// Whether the connection has been idle for too long; true only once.
  public mutating func isIdle(openStreams: Int, _ rules: GatewayRules, now: Int64) -> Bool {
    // The clock may have been moved back.
    lastRequest = min(lastRequest, now)
    guard rules.idleTimeout > 0, openStreams == 0, !isEnding, now - lastRequest >= rules.idleTimeout
    else { return false }
    isEnding = true
    return true
  }

  /// Returns the stream limit that new rules require; nil if it is unchanged.
  public mutating func changed(_ rules: GatewayRules) -> UInt32? {
    let wanted = isUnlocked || !rules.primes ? rules.maxConcurrentStreams : 1
    if !rules.primes { isUnlocked = true }
    guard wanted != limit else { return nil }
    limit = wanted
    return wanted
  }
}

/// Counts a client's connections: too many per minute are treated as an attack.
public struct ConnectionRate: Sendable {
  private var began: Int64 = 0
  private var counts: [String: Int] = [:]

  public init() {}

  /// Returns whether a connection from this address may be served.
  public mutating func admits(_ address: String, _ rules: GatewayRules, now: Int64) -> Bool {
    guard rules.connectionRate > 0 else { return true }
    // The clock may have been moved back.
    if now - began >= 60_000 || now < began {
      began = now
      counts = [:]
    }
    let count = counts[address, default: 0] + 1
    counts[address] = count
    return count <= rules.connectionRate
  }
}
