// SPDX-License-Identifier: Apache-2.0

/// The position in its lane of a push with a `supersede` key, carried by its records on retry topics as
/// `PARTITION/OFFSET/MOVES/TIER`: when due, the push goes back to its lane, whose partition's owner compares positions
/// to see whether a newer push with the key has been sent since.
public struct LanePosition: Sendable, Equatable {
  /// The lane's partition, and the offset of the push's first record in it.
  public var partition: Int32
  public var offset: Int64
  /// The number of moves to a retry topic: two records of one move count as one sending.
  public var moves: UInt16
  /// The retry topic that it waited in last.
  public var tier: RetryTier

  public init(partition: Int32, offset: Int64, moves: UInt16, tier: RetryTier) {
    self.partition = partition
    self.offset = offset
    self.moves = moves
    self.tier = tier
  }

  /// The most bytes of its text.
  public static let longest = 40

  public var text: String { "\(partition)/\(offset)/\(moves)/\(tier.suffix)" }

  /// The position in a text; nil if it is malformed.
  public init?(_ text: Span<UInt8>) {
    guard text.count <= Self.longest else { return nil }
    var index = 0
    guard let partition = Self.number(text, &index), let partition = Int32(exactly: partition),
      let offset = Self.number(text, &index), let moves = Self.number(text, &index),
      let moves = UInt16(exactly: moves)
    else { return nil }
    let rest = text.extracting(index..<text.count)
    for tier in RetryTier.allCases where rest.spells(tier.suffix.description) {
      self.init(partition: partition, offset: offset, moves: moves, tier: tier)
      return
    }
    return nil
  }

  /// Reads digits up to a slash, and skips it.
  private static func number(_ text: Span<UInt8>, _ index: inout Int) -> Int64? {
    let start = index
    var value: Int64 = 0
    while index < text.count, text[index] &- 0x30 < 10 {
      let (tens, overflows) = value.multipliedReportingOverflow(by: 10)
      let (sum, exceeds) = tens.addingReportingOverflow(Int64(text[index] &- 0x30))
      if overflows || exceeds { return nil }
      value = sum
      index += 1
    }
    guard index > start, index < text.count, text[index] == UInt8(ascii: "/") else { return nil }
    index += 1
    return value
  }
}
