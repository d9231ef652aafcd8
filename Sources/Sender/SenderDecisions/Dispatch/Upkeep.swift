// SPDX-License-Identifier: Apache-2.0

/// When pools, connections and credentials are looked after, because time alone changes something about them.
struct Upkeep: Sendable {
  /// Between two looks at pools where something goes on, at those where nothing does, and at what waits and may have
  /// expired, in milliseconds.
  private static let interval: UInt64 = 20
  private static let roundInterval: UInt64 = 1_000
  private static let expiryInterval: UInt64 = 250

  /// When the next one of each is due, in monotonic milliseconds.
  private(set) var due: UInt64 = 0
  private var roundDue: UInt64 = 0
  private var expiryDue: UInt64 = 0

  /// - Returns: whether the others are due, too; nil when nothing is due yet.
  mutating func begin(now: UInt64) -> (isRound: Bool, isExpiry: Bool)? {
    guard now >= due else { return nil }
    due = now + Self.interval
    let (isRound, isExpiry) = (now >= roundDue, now >= expiryDue)
    if isRound { roundDue = now + Self.roundInterval }
    if isExpiry { expiryDue = now + Self.expiryInterval }
    return (isRound, isExpiry)
  }
}
