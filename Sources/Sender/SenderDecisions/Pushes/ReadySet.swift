// SPDX-License-Identifier: Apache-2.0

/// Which of a loop's sources have something to take, one bit each.
///
/// A loop with hundreds of partitions looks at the few that have records, not at all of them in every turn.
public struct ReadySet: Sendable {
  var words: [UInt64] = []

  public init() {}

  /// - Parameter number: 0 and above; the set grows to it.
  public mutating func insert(_ number: Int) {
    while words.count <= number >> 6 { words.append(0) }
    words[number >> 6] |= 1 << UInt64(number & 63)
  }

  /// Inserts the numbers below `count`.
  public mutating func insertAll(below count: Int) {
    for number in 0..<count { insert(number) }
  }

  /// Numbers that are not in the set are ignored.
  public mutating func remove(_ number: Int) {
    guard number >> 6 < words.count else { return }
    words[number >> 6] &= ~(1 << UInt64(number & 63))
  }

  public func contains(_ number: Int) -> Bool {
    number >> 6 < words.count && words[number >> 6] & 1 << UInt64(number & 63) != 0
  }

  /// The smallest member in `range`; nil when there is none.
  public func first(in range: Range<Int>) -> Int? {
    var place = range.lowerBound >> 6
    guard !range.isEmpty, place < words.count else { return nil }
    var word = words[place] & (.max << UInt64(range.lowerBound & 63))
    while word == 0 {
      place += 1
      guard place < words.count else { return nil }
      word = words[place]
    }
    let found = place << 6 + word.trailingZeroBitCount
    return found < range.upperBound ? found : nil
  }
}
