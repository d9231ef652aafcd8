// SPDX-License-Identifier: Apache-2.0

/// Tracks which records of one Kafka partition are done, when they finish in any order.
///
/// The offset to commit is the end of the contiguous prefix of completed records. Completions above it are one bit per
/// offset in a ring, so a record costs a few nanoseconds, and the memory is the span from the oldest open record to the
/// newest one divided by eight. Offsets that the log skips (transaction markers, compaction, retention) count as done.
///
/// Owned by one thread; a new value per assignment, so that a late completion of a lost assignment finds no ledger.
public struct OffsetLedger: Sendable {
  /// The result of `received(_:)` for a record.
  public enum Admission: UInt8, Sendable {
    /// Received for the first time: the record is now open and must be completed.
    case new
    /// Completed before (below the committed prefix, or in the map of an earlier assignment): skip it.
    case alreadyCompleted
    /// Received before and still open, as after a seek: skip it, its completion will follow.
    case alreadyReceived
  }

  /// A range of offsets that the log skipped, too long for one bit each.
  struct Jump: Sendable {
    /// The ring position of the first offset after the range.
    var position: Int64
    var length: Int64
  }

  /// The number of bits of an empty ring.
  static let initialBits = 1_024
  /// A skipped range longer than this, with records open below it, is stored as a jump.
  static let longestStretchInBits: Int64 = 1_024

  /// One past the contiguous prefix of completed offsets: the offset to commit.
  public internal(set) var committable: Int64
  /// One past the newest offset received (or known to be skipped).
  public internal(set) var nextOffset: Int64
  /// Records received and not completed: the number to bound, instead of the span.
  public internal(set) var incomplete = 0
  /// Records completed since the ledger was created.
  public internal(set) var completions: UInt64 = 0

  /// Done bits; an offset's position modulo the ring's size is its bit. Everything outside
  /// `committablePosition ..< max(nextPosition, horizon)` is zero.
  var words: [UInt64]
  var mask: Int64
  /// Position = offset − shift, for offsets below the first jump.
  var shift: Int64 = 0
  var jumps: [Jump] = []
  /// One past the highest completed offset in the map given at the start.
  var horizon: Int64

  /// Starts at the committed offset.
  ///
  /// - Parameters:
  ///   - nextOffset: the first offset that is not known to be completed.
  ///   - completedAbove: ranges of offsets, in any order, that an earlier assignment completed above it.
  public init(nextOffset: Int64, completedAbove: [Range<Int64>] = []) {
    committable = nextOffset
    self.nextOffset = nextOffset
    horizon = completedAbove.map(\.upperBound).max() ?? nextOffset
    horizon = max(horizon, nextOffset)
    words = Array(repeating: 0, count: Self.initialBits / 64)
    mask = Int64(Self.initialBits - 1)
    reserve(positions: horizon - nextOffset)
    for range in completedAbove {
      let lower = max(range.lowerBound, nextOffset)
      if lower < range.upperBound { setBits(lower, range.upperBound - lower) }
    }
  }

  /// The number of offsets between the committable one and the newest one, completed or not.
  public var span: Int64 { nextOffset - committable }

  /// True while the next record lies below the end of the map given at the start.
  public var isBelowMap: Bool { nextOffset < horizon }

  /// One past the highest known offset: received, or completed in an earlier assignment. A log that ends before it was
  /// replaced.
  public var knownEnd: Int64 { max(nextOffset, horizon) }

  /// Notes a received record; offsets between the last record and this one are gaps in the log and count as done.
  public mutating func received(_ offset: Int64) -> Admission {
    if _fastPath(offset == nextOffset && canAppend) {
      nextOffset += 1
      incomplete += 1
      return .new
    }
    return receivedSlowly(offset)
  }

  /// Completes a record.
  ///
  /// - Returns: false, without any change, if the record was not open (never received, or completed before).
  @discardableResult
  public mutating func completed(_ offset: Int64) -> Bool {
    guard offset >= committable, offset < nextOffset else { return false }
    let position = position(of: offset)
    let word = Int((position & mask) >> 6)
    let bit: UInt64 = 1 << UInt64(position & 63)
    guard words[word] & bit == 0, !isSkipped(offset) else { return false }
    words[word] |= bit
    incomplete -= 1
    completions &+= 1
    if offset == committable { advance() }
    return true
  }

  /// The completed ranges above `committable`, lowest first, at most `limit` of them.
  public func completedRuns(limit: Int) -> [Range<Int64>] {
    var runs: [Range<Int64>] = []
    let end = knownEnd
    var offset = committable
    if offset < end { runs.reserveCapacity(min(limit, 64)) }
    var start: Int64?
    while offset < end, runs.count < limit {
      let stretch = stretch(from: offset, end: end)
      if stretch.isDone {
        start = start ?? offset
      } else if let first = start {
        runs.append(first..<offset)
        start = nil
      }
      offset += stretch.count
    }
    if let first = start, runs.count < limit { runs.append(first..<end) }
    return runs
  }

  /// True if the next offset needs neither a larger ring nor a check of the map.
  var canAppend: Bool {
    nextOffset >= horizon && jumps.isEmpty && nextOffset - committable <= mask
  }

  func position(of offset: Int64) -> Int64 {
    if _fastPath(jumps.isEmpty) { return offset - shift }
    return positionPastJumps(of: offset)
  }
}
