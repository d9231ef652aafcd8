// SPDX-License-Identifier: Apache-2.0

/// The memory that a rule has of earlier events: errors of a connection, requests for a device token, connections of
/// the last minute. Bounded.
struct FaultMemory: Sendable {
  private struct Window: Sendable {
    var start: UInt64
    var count: Int
  }

  private var errors: [UInt64: Int] = [:]
  private var tokens: [[UInt8]: Window] = [:]
  private var connects: [UInt64] = []

  /// Beyond so many connections or tokens everything remembered about them is forgotten.
  private static let capacity = 10_000
  private static let minute: UInt64 = 60_000

  /// Takes an event that passed the filters, and says whether the conditions on the past hold now.
  mutating func holds(_ matcher: FaultMatcher, _ event: FaultEvent) -> Bool {
    if let limit = matcher.errors, !exceeds(errors: limit, matcher, event) { return false }
    if let limit = matcher.tokenRate, !exceeds(rate: limit, matcher, event) { return false }
    if let limit = matcher.connectsPerMinute, !exceeds(connects: limit, event) { return false }
    return true
  }

  mutating func forget(_ connection: UInt64) { errors[connection] = nil }

  /// Firing starts the connection's count again.
  private mutating func exceeds(
    errors limit: Int, _ matcher: FaultMatcher, _ event: FaultEvent
  ) -> Bool {
    guard let request = event.request, request.status >= 400, request.status != 410 else {
      return false
    }
    if errors.count >= Self.capacity { errors = [:] }
    let weight = request.isBadDeviceToken ? matcher.badTokenWeight : 1
    let score = errors[event.connection, default: 0] + weight
    errors[event.connection] = score >= limit ? 0 : score
    return score >= limit
  }

  private mutating func exceeds(
    rate limit: Int, _ matcher: FaultMatcher, _ event: FaultEvent
  ) -> Bool {
    guard let request = event.request else { return false }
    if tokens.count >= Self.capacity { tokens = [:] }
    var window = tokens[request.token] ?? Window(start: event.time, count: 0)
    if event.time >= window.start + matcher.tokenWindow {
      window = Window(start: event.time, count: 0)
    }
    window.count += 1
    tokens[request.token] = window
    return window.count > limit
  }

  private mutating func exceeds(connects limit: Int, _ event: FaultEvent) -> Bool {
    connects.removeAll { $0 + Self.minute <= event.time }
    guard connects.count < limit else { return true }
    connects.append(event.time)
    return false
  }
}
