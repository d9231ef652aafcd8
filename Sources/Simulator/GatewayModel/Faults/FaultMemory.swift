// SPDX-License-Identifier: Apache-2.0

/// A rule's bounded memory of earlier events: errors of a connection, requests for a device token, connections within
/// the last minute.
struct FaultMemory: Sendable {
  private struct Window: Sendable {
    var start: UInt64
    var count: Int
  }

  private var errors: [UInt64: Int] = [:]
  private var tokens: [[UInt8]: Window] = [:]
  private var connects: [UInt64] = []

  /// The number of connections or tokens beyond which all of them are forgotten.
  private static let capacity = 10_000
  private static let minute: UInt64 = 60_000

  /// Records an event that passed the filters, and returns whether the conditions on earlier events hold now.
  mutating func holds(_ matcher: FaultMatcher, _ event: FaultEvent) -> Bool {
    if let limit = matcher.errors, !exceeds(errors: limit, matcher, event) { return false }
    if let limit = matcher.tokenRate, !exceeds(rate: limit, matcher, event) { return false }
    if let limit = matcher.connectsPerMinute, !exceeds(connects: limit, event) { return false }
    return true
  }

  mutating func forget(_ connection: UInt64) { errors[connection] = nil }

  /// Resets the connection's count when the rule fires.
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
