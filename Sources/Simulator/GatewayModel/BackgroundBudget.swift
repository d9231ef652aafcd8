// SPDX-License-Identifier: Apache-2.0
public import APNS

/// The background pushes that each device takes of each app: so many within an hour (Apple, "Pushing background updates
/// to your App": two or three).
public struct BackgroundBudget: Sendable {
  /// Milliseconds.
  public static let interval: Int64 = 3_600_000

  private struct Place: Hashable {
    let token: [UInt8]
    let app: [UInt8]
  }

  /// The times of those that were taken within the last hour, oldest first.
  private var taken: [Place: [Int64]] = [:]
  /// So many devices are told apart; further ones take every push.
  private static let capacity = 100_000

  public init() {}

  /// True if the device takes a push that reaches it at `now` (ms).
  public mutating func takes(
    token: [UInt8], app: [UInt8], type: PushType?, _ rules: GatewayRules, now: Int64
  ) -> Bool {
    guard rules.backgroundBudget > 0, type == .background else { return true }
    let place = Place(token: token, app: app)
    guard taken[place] != nil || taken.count < Self.capacity else { return true }
    var times = taken[place, default: []]
    // One that is ahead of the clock has been set back with it.
    times.removeAll { $0 <= now - Self.interval || $0 > now }
    defer { taken[place] = times }
    guard times.count < rules.backgroundBudget else { return false }
    times.append(now)
    return true
  }
}
