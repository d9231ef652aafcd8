// SPDX-License-Identifier: Apache-2.0

/// The ring of done bits: arrivals with gaps, the moving prefix, growth.
extension OffsetLedger {
  func positionPastJumps(of offset: Int64) -> Int64 {
    var position = offset - shift
    for jump in jumps {
      // Offsets inside the range share the position before its end: callers check `isSkipped` first.
      if position < jump.position { break }
      position = max(jump.position, position - jump.length)
    }
    return position
  }

  /// True if the offset lies in a range that the log skipped and that is stored as a jump.
  func isSkipped(_ offset: Int64) -> Bool {
    if jumps.isEmpty { return false }
    var position = offset - shift
    for jump in jumps {
      if position < jump.position { return false }
      if position - jump.length < jump.position { return true }
      position -= jump.length
    }
    return false
  }

  /// The next offsets from `offset` with the same state: a skipped range, or bits of one word.
  func stretch(from offset: Int64, end: Int64) -> (isDone: Bool, count: Int64) {
    let position = position(of: offset)
    if let jump = jumps.first(where: { $0.position == position }), isSkipped(offset) {
      return (true, jump.length)
    }
    let inWord = position & 63
    let word = words[Int((position & mask) >> 6)] >> UInt64(inWord)
    let isDone = word & 1 == 1
    let alike = Int64((isDone ? ~word : word).trailingZeroBitCount)
    let untilJump = jumps.first { $0.position > position }.map { $0.position - position } ?? .max
    return (isDone, min(alike, 64 - inWord, end - offset, untilJump))
  }

  func isDone(_ offset: Int64) -> Bool {
    if isSkipped(offset) { return true }
    let position = position(of: offset)
    return words[Int((position & mask) >> 6)] & (1 << UInt64(position & 63)) != 0
  }

  mutating func receivedSlowly(_ offset: Int64) -> Admission {
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
    incomplete += 1
    return .new
  }

  /// Notes that the log was read to its end offset: offsets below it that were not received are no records (transaction
  /// markers, aborted records) and count as done. So a group whose newest record is done shows no lag, whatever follows
  /// that record.
  public mutating func ended(at offset: Int64) { skip(to: offset) }

  /// Marks `nextOffset ..< offset` as done.
  mutating func skip(to offset: Int64) {
    guard offset > nextOffset else { return }
    if nextOffset < horizon {
      // The map's bits are in the ring: fill between them, then continue beyond them.
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
  mutating func advance() {
    var position = position(of: committable)
    let start = position
    let end = endPosition
    while position < end {
      let word = Int((position & mask) >> 6)
      let inWord = position & 63
      let ones = Int64((~(words[word] >> UInt64(inWord))).trailingZeroBitCount)
      let run = min(ones, 64 - inWord, end - position)
      let bits: UInt64 = run == 64 ? .max : (1 << UInt64(run)) - 1
      words[word] &= ~(bits << UInt64(inWord))
      position += run
      // The run ends within the word: the next offset is open.
      if run < 64 - inWord { break }
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
  var endPosition: Int64 {
    nextOffset - shift - jumps.reduce(0) { $0 + $1.length }
  }

  /// Nothing is open: resets positions, and frees a ring that one slow record made large.
  mutating func settle() {
    shift = 0
    if words.count > 64 * Self.initialBits / 64 {
      words = Array(repeating: 0, count: Self.initialBits / 64)
      mask = Int64(Self.initialBits - 1)
    }
  }

  /// Sets the bits of `count` offsets from `offset`, none of which lies in a jump.
  mutating func setBits(_ offset: Int64, _ count: Int64) {
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
  mutating func reserve(positions: Int64) {
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
