// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The pace of an app or a group in one loop: its bucket, the pushes that wait for it in slots, and where those go for
/// which there is no room.
///
/// Others share the partitions, so what is too much is moved aside unsent. Each tier gets what can go until the next
/// longer one gives its records back, and the longest the rest: so there is always something to send, and a push is moved
/// a bounded number of times for each delay of the longest tier that it waits.
struct PaceLine: Sendable {
  /// So much of its rate may wait in slots, in milliseconds.
  private static let patience: Double = 5_000

  let hash: UInt64
  /// The pace of the whole fleet, in pushes a millisecond.
  var whole: Double
  var bucket: PaceBucket
  var waiting = SlotQueue()
  /// By tier, but for the longest: pushes moved there that have not come back yet.
  private var aside: [RecentCount]

  init(_ hash: UInt64, _ rate: PaceRate, now: UInt64) {
    self.hash = hash
    whole = rate.perMillisecond
    bucket = PaceBucket(now: now)
    aside = RetryTier.allCases.dropLast().map { RecentCount($0.delay) }
  }

  /// True if another push may wait in its slot.
  var hasRoom: Bool { Double(waiting.count + 1) <= bucket.rate * Self.patience }

  /// The tier for a push that cannot wait here.
  mutating func tier(now: UInt64) -> RetryTier {
    for (place, tier) in RetryTier.allCases.dropLast().enumerated()
    where Double(aside[place].count(now: now)) < bucket.rate * Double(tier.next.delay) {
      aside[place].add(now: now)
      return tier
    }
    return .longest
  }
}

/// The number of events in the last stretch of time, to within an eighth of it.
struct RecentCount: Sendable {
  private var parts = InlineArray<8, Int>(repeating: 0)
  private var total = 0
  /// The length of a part in milliseconds, and the number of the newest since time began.
  private let length: UInt64
  private var newest: UInt64 = 0

  init(_ milliseconds: Int64) { length = UInt64(milliseconds) / 8 }

  mutating func count(now: UInt64) -> Int {
    let part = now / length
    if part >= newest + 8 {
      parts = InlineArray(repeating: 0)
      total = 0
      newest = part
    }
    while newest < part {
      newest += 1
      total -= parts[Int(newest % 8)]
      parts[Int(newest % 8)] = 0
    }
    return total
  }

  mutating func add(now: UInt64) {
    _ = count(now: now)
    parts[Int(newest % 8)] += 1
    total += 1
  }
}
