// SPDX-License-Identifier: Apache-2.0

/// Which records of one Kafka partition are done, when they finish in any order.
///
/// The offset that may be committed is the end of the contiguous prefix of completed records. What is
/// completed above it is one bit per offset in a ring, so a record costs a few nanoseconds and the memory
/// is the span between the oldest open record and the newest one divided by eight. Offsets that the log
/// skips (transaction markers, compaction, retention) count as done.
///
/// One owner thread; a new value per assignment, so that a late answer of a lost assignment has no ledger
/// to land in.
package struct OffsetLedger: Sendable {
  /// What `received(_:)` says about a record.
  package enum Admission: UInt8, Sendable {
    /// First sight: the record is now open and has to be completed.
    case new
    /// Done before (below the committed prefix, or in the map of an earlier assignment): skip it.
    case alreadyCompleted
    /// Received before and still open, as after a seek: skip it, its completion is on the way.
    case alreadyReceived
  }

  /// A stretch of offsets that the log skipped, too long to be worth a bit each.
  @usableFromInline struct Jump: Sendable {
    /// The ring position of the first offset after the stretch.
    @usableFromInline var position: Int64
    @usableFromInline var length: Int64
  }

  /// Bits of an empty ring.
  static let initialBits = 1_024
  /// A skipped stretch longer than this, with records open below it, is stored as a jump.
  static let longestStretchInBits: Int64 = 1_024

  /// One past the contiguous prefix of completed offsets: what may be committed.
  @usableFromInline package internal(set) var committable: Int64
  /// One past the newest offset received (or known to be skipped).
  @usableFromInline package internal(set) var nextOffset: Int64
  /// Records received and not completed: the figure to bound, not the span.
  @usableFromInline package internal(set) var holes = 0
  /// The offset last reported to `markCommitted(_:)`.
  @usableFromInline package internal(set) var committed: Int64
  /// Records completed since the ledger began.
  @usableFromInline package internal(set) var completions: UInt64 = 0

  /// Done bits; an offset's position modulo the ring's size is its bit. Everything outside
  /// `committablePosition ..< max(nextPosition, horizon)` is zero.
  @usableFromInline var words: [UInt64]
  @usableFromInline var mask: Int64
  /// Position = offset − shift, for offsets below the first jump.
  @usableFromInline var shift: Int64 = 0
  @usableFromInline var jumps: [Jump] = []
  /// One past the highest offset that the map given at the start calls completed.
  @usableFromInline var horizon: Int64

  /// Starts at the committed offset.
  ///
  /// - Parameters:
  ///   - nextOffset: the first offset that is not known complete.
  ///   - completedAbove: ranges of offsets, in any order, that an earlier assignment completed above it.
  package init(nextOffset: Int64, completedAbove: [Range<Int64>] = []) {
    committable = nextOffset
    self.nextOffset = nextOffset
    committed = nextOffset
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

  /// Offsets between the committable one and the newest one, holes and completed ones alike.
  @inlinable package var span: Int64 { nextOffset - committable }

  /// True when a commit would move the group's offset.
  @inlinable package var isDirty: Bool { committable != committed }

  /// Bytes of the ring: the ledger's memory.
  package var ringBytes: Int { words.count * 8 }

  /// Notes that a commit up to `offset` was acknowledged.
  package mutating func markCommitted(_ offset: Int64) {
    committed = max(committed, offset)
  }

  /// Takes a record in; offsets between the last record and this one are gaps of the log and count as done.
  @inlinable package mutating func received(_ offset: Int64) -> Admission {
    if _fastPath(offset == nextOffset && canAppend) {
      nextOffset += 1
      holes += 1
      return .new
    }
    return receivedSlowly(offset)
  }

  /// Closes a record.
  ///
  /// - Returns: false, and nothing changes, when the record was not open (never received, or completed before).
  @discardableResult
  @inlinable package mutating func completed(_ offset: Int64) -> Bool {
    guard offset >= committable, offset < nextOffset else { return false }
    let position = position(of: offset)
    let word = Int((position & mask) >> 6)
    let bit: UInt64 = 1 << UInt64(position & 63)
    guard words[word] & bit == 0, !isSkipped(offset) else { return false }
    words[word] |= bit
    holes -= 1
    completions &+= 1
    if offset == committable { advance() }
    return true
  }

  /// The completed ranges above `committable`, lowest first, at most `limit` of them.
  package func completedRuns(limit: Int) -> [Range<Int64>] {
    var runs: [Range<Int64>] = []
    let end = max(nextOffset, horizon)
    var offset = committable
    while offset < end, runs.count < limit {
      guard isDone(offset) else {
        offset += 1
        continue
      }
      let start = offset
      while offset < end, isDone(offset) { offset += 1 }
      runs.append(start..<offset)
    }
    return runs
  }

  // MARK: - The fast path's pieces

  /// True when the next offset needs neither a larger ring nor a look at the map.
  @inlinable var canAppend: Bool {
    nextOffset >= horizon && jumps.isEmpty && nextOffset - committable <= mask
  }

  @inlinable func position(of offset: Int64) -> Int64 {
    if _fastPath(jumps.isEmpty) { return offset - shift }
    return positionPastJumps(of: offset)
  }
}

extension OffsetLedger {
  @usableFromInline func positionPastJumps(of offset: Int64) -> Int64 {
    var position = offset - shift
    for jump in jumps {
      // Offsets inside the stretch share the position before its end: callers ask `isSkipped` first.
      if position < jump.position { break }
      position = max(jump.position, position - jump.length)
    }
    return position
  }

  /// True when the offset lies in a stretch that the log skipped and that is stored as a jump.
  @usableFromInline func isSkipped(_ offset: Int64) -> Bool {
    if jumps.isEmpty { return false }
    var position = offset - shift
    for jump in jumps {
      if position < jump.position { return false }
      if position - jump.length < jump.position { return true }
      position -= jump.length
    }
    return false
  }

  private func isDone(_ offset: Int64) -> Bool {
    if isSkipped(offset) { return true }
    let position = position(of: offset)
    return words[Int((position & mask) >> 6)] & (1 << UInt64(position & 63)) != 0
  }

  @usableFromInline mutating func receivedSlowly(_ offset: Int64) -> Admission {
    if offset < committable { return .alreadyCompleted }
    if offset < nextOffset { return isDone(offset) ? .alreadyCompleted : .alreadyReceived }
    skip(to: offset)
    reserve(positions: position(of: offset) + 1 - position(of: committable))
    let done = offset < horizon && isDone(offset)
    nextOffset = offset + 1
    if done {
      advance()
      return .alreadyCompleted
    }
    holes += 1
    return .new
  }

  /// Marks `nextOffset ..< offset` as done.
  private mutating func skip(to offset: Int64) {
    guard offset > nextOffset else { return }
    if nextOffset < horizon {
      // The map's bits are in the ring: fill between them, then go on beyond them.
      let end = min(offset, horizon)
      setBits(nextOffset, end - nextOffset)
      nextOffset = end
      advance()
    }
    let gap = offset - nextOffset
    guard gap > 0 else { return }
    if committable == nextOffset {
      committable = offset
      shift = 0
    } else if gap > Self.longestStretchInBits {
      jumps.append(Jump(position: position(of: nextOffset), length: gap))
    } else {
      let first = nextOffset
      reserve(positions: position(of: first) + gap - position(of: committable))
      setBits(first, gap)
    }
    nextOffset = offset
  }

  /// Moves the committable offset over everything done, clearing the bits it passes.
  @usableFromInline mutating func advance() {
    var position = position(of: committable)
    let start = position
    let end = endPosition
    while position < end {
      let word = Int((position & mask) >> 6)
      let inWord = position & 63
      let ones = Int64((~(words[word] >> UInt64(inWord))).trailingZeroBitCount)
      let run = min(ones, 64 - inWord, end - position)
      if run == 0 { break }
      let bits: UInt64 = run == 64 ? .max : (1 << UInt64(run)) - 1
      words[word] &= ~(bits << UInt64(inWord))
      position += run
    }
    committable += position - start
    while let jump = jumps.first, jump.position <= position {
      committable += jump.length
      shift += jump.length
      jumps.removeFirst()
    }
    if committable == nextOffset && nextOffset >= horizon { settle() }
  }

  /// One past the last position in use below `nextOffset`.
  private var endPosition: Int64 {
    nextOffset - shift - jumps.reduce(0) { $0 + $1.length }
  }

  /// Nothing is open: positions may start anew, and a ring that one slow record made large is given back.
  private mutating func settle() {
    shift = 0
    if words.count > 64 * Self.initialBits / 64 {
      words = Array(repeating: 0, count: Self.initialBits / 64)
      mask = Int64(Self.initialBits - 1)
    }
  }

  /// Sets the bits of `count` offsets from `offset`, none of which lies in a jump.
  private mutating func setBits(_ offset: Int64, _ count: Int64) {
    var position = position(of: offset)
    let end = position + count
    while position < end {
      let inWord = position & 63
      let run = min(64 - inWord, end - position)
      let bits: UInt64 = run == 64 ? .max : (1 << UInt64(run)) - 1
      words[Int((position & mask) >> 6)] |= bits << UInt64(inWord)
      position += run
    }
  }

  /// Makes the ring hold at least `positions` bits.
  private mutating func reserve(positions: Int64) {
    guard positions > mask + 1 else { return }
    var bits = mask + 1
    while bits < positions { bits *= 2 }
    let first = position(of: committable)
    var larger = [UInt64](repeating: 0, count: Int(bits / 64))
    // The old ring's bits, word by word; its first position need not be a multiple of 64.
    var position = first & ~63
    let end = first + mask + 1
    while position < end {
      var word = words[Int((position & mask) >> 6)]
      if position < first { word &= ~0 << UInt64(first - position) }
      if position + 64 > end { word &= (1 << UInt64(end - position)) - 1 }
      larger[Int((position & (bits - 1)) >> 6)] |= word
      position += 64
    }
    words = larger
    mask = bits - 1
  }
}
