// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@testable import ConsumerGroup

@Suite struct OffsetMapTests {
  private static let partition = "push.notifications/3"

  private func bytes(_ text: String?) -> [UInt8] { Array((text ?? "").utf8) }

  @Test func `the checksum is CRC-32C`() {
    var sum = CRC32C()
    sum.add(Array("123456789".utf8))
    #expect(sum.value == 0xE306_9283, "the check value of RFC 3720's polynomial")
  }

  @Test func `a known map has a known text`() throws {
    let text = OffsetMap.encode(of: Self.partition, base: 100, [101..<104, 140..<1_000])
    #expect(text?.hasPrefix("holes2:BCjB7a:") == true, "\(text ?? "")")
    let characters: Int = "holes2:".count + 6 + 1 + 8
    #expect(text?.utf8.count == characters)
    #expect(
      try OffsetMap.decode(bytes(text), of: Self.partition, base: 100) == [101..<104, 140..<1_000])
  }

  @Test func `nothing completed above is no text`() {
    #expect(OffsetMap.encode(of: Self.partition, base: 7, []) == nil)
  }

  @Test func `a map may touch the offset and begin at zero`() throws {
    for runs in [[0..<1], [0..<70], [1..<2], [0..<1, 2..<3]] as [[Range<Int64>]] {
      #expect(
        try OffsetMap.decode(
          bytes(OffsetMap.encode(of: Self.partition, base: 0, runs)), of: Self.partition, base: 0)
          == runs)
    }
  }

  /// Every pattern of twelve offsets, at every room for the text.
  @Test func `every small pattern comes back or comes back shorter`() throws {
    for pattern in 0..<4_096 {
      let runs = Self.runs(of: pattern, base: 50)
      for room in [4_096, 16 + 8, 16 + 4, 16 + 2, 17, 10] {
        let text = OffsetMap.encode(of: Self.partition, base: 50, runs, charactersAtMost: room)
        #expect((text?.utf8.count ?? 0) <= room)
        let back =
          text == nil ? [] : try OffsetMap.decode(bytes(text), of: Self.partition, base: 50)
        #expect(runs.starts(with: back), "pattern \(pattern), room \(room): \(back)")
        if room == 4_096 { #expect(back == runs, "pattern \(pattern)") }
      }
    }
  }

  private static func runs(of pattern: Int, base: Int64) -> [Range<Int64>] {
    var runs: [Range<Int64>] = []
    for bit in 0..<12 where pattern >> bit & 1 == 1 {
      let offset = base + Int64(bit)
      if let last = runs.last, last.upperBound == offset {
        runs[runs.count - 1] = last.lowerBound..<offset + 1
      } else {
        runs.append(offset..<offset + 1)
      }
    }
    return runs
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `what is read was completed however much there is`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let base = Int64(random.below(1 << 40))
    var runs: [Range<Int64>] = []
    var position = base
    for _ in 0..<random.below(3_000) {
      let wide = random.oneIn(50) ? 1 << 15 : 40
      let lower = position + 1 + Int64(random.below(wide))
      position = lower + 1 + Int64(random.below(wide))
      runs.append(lower..<position)
    }
    guard let text = OffsetMap.encode(of: Self.partition, base: base, runs) else { return }
    #expect(text.utf8.count <= 4_096, "seed \(seed)")
    #expect(text.utf8.allSatisfy { $0 > 32 && $0 < 127 }, "seed \(seed)")
    let back = try OffsetMap.decode(bytes(text), of: Self.partition, base: base)
    #expect(runs.starts(with: back), "seed \(seed)")
    #expect(!back.isEmpty)
  }

  /// The bound that `PartitionBounds` states: this many runs always fit.
  @Test func `a thousand runs of usual lengths fit`() throws {
    let bounds = PartitionBounds()
    var runs: [Range<Int64>] = []
    var position: Int64 = 5
    // The longest stretches that three digits and one say, as far as a map reaches.
    for number in 0..<bounds.runsAtMost {
      let lower = position + 32
      position = lower + (number < 250 ? 32_768 : 32)
      runs.append(lower..<position)
    }
    let text = try #require(OffsetMap.encode(of: Self.partition, base: 5, runs))
    #expect(try OffsetMap.decode(bytes(text), of: Self.partition, base: 5) == runs)
  }

  @Test func `a map ends where its reach ends`() throws {
    let far = OffsetMap.spanAtMost
    let text = OffsetMap.encode(of: Self.partition, base: 0, [1..<2, 9..<far, far + 1..<far + 2])
    #expect(try OffsetMap.decode(bytes(text), of: Self.partition, base: 0) == [1..<2, 9..<far])
  }

  // MARK: What is refused

  @Test func `foreign text is refused`() {
    for text in [
      "", "x", "AQ==", "holes1:BA:00000000", "holes3:BA:00000000", "\u{1}\u{2}", "{\"epoch\":1}",
    ] {
      #expect(throws: OffsetMap.Problem.foreign) {
        try OffsetMap.decode(Array(text.utf8), of: Self.partition, base: 0)
      }
    }
    let long = Array(repeating: UInt8(ascii: "B"), count: 4_097)
    #expect(throws: OffsetMap.Problem.tooLong) {
      try OffsetMap.decode(long, of: Self.partition, base: 0)
    }
  }

  @Test func `a map of another offset is refused`() {
    let text = bytes(OffsetMap.encode(of: Self.partition, base: 100, [105..<110]))
    for base in [99, 101, 0, Int64.max] as [Int64] {
      #expect(throws: OffsetMap.Problem.corrupt) {
        try OffsetMap.decode(text, of: Self.partition, base: base)
      }
    }
  }

  @Test func `a map of another partition is refused`() throws {
    let runs: [Range<Int64>] = [105..<110, 120..<121]
    let partitions = [
      "push.notifications/3", "push.notifications/30", "push.notifications.bulk/3",
      "push.notifications/2", "/3", "",
    ]
    for (place, partition) in partitions.enumerated() {
      let text = bytes(OffsetMap.encode(of: partition, base: 100, runs))
      for (other, name) in partitions.enumerated() {
        guard other != place else {
          #expect(try OffsetMap.decode(text, of: name, base: 100) == runs)
          continue
        }
        #expect(throws: OffsetMap.Problem.corrupt, "\(partition) in \(name)") {
          try OffsetMap.decode(text, of: name, base: 100)
        }
      }
    }
  }

  @Test func `a map that reaches beyond the end of the log is refused`() throws {
    let text = bytes(OffsetMap.encode(of: Self.partition, base: 3, [5..<100]))
    #expect(try OffsetMap.decode(text, of: Self.partition, base: 3, logEnd: 100) == [5..<100])
    for end in [99, 4, 0] as [Int64] {
      #expect(throws: OffsetMap.Problem.beyondLog) {
        try OffsetMap.decode(text, of: Self.partition, base: 3, logEnd: end)
      }
    }
  }

  /// Lesson: a text that is cut or changed anywhere must never make a record count as done.
  @Test func `every cut and every changed bit is refused`() {
    let text = bytes(
      OffsetMap.encode(of: Self.partition, base: 77, [79..<90, 95..<96, 200..<4_000]))
    for count in 0..<text.count {
      #expect(throws: OffsetMap.Problem.self, "\(count) characters") {
        try OffsetMap.decode(Array(text[..<count]), of: Self.partition, base: 77)
      }
    }
    for place in text.indices {
      for bit in 0..<8 {
        var changed = text
        changed[place] ^= 1 << UInt8(bit)
        #expect(throws: OffsetMap.Problem.self, "bit \(bit) of \(place)") {
          try OffsetMap.decode(changed, of: Self.partition, base: 77)
        }
      }
    }
  }

  /// Texts with a valid checksum that make no sense: they would reserve memory without end.
  @Test func `absurd lengths are refused`() {
    for runs in ["B", "B_", "_____B", "ABgggggB", "A_______", "A____I", "B!C", "BC="] {
      var text = OffsetMap.prefix + Array(runs.utf8)
      var sum = CRC32C()
      sum.add(text)
      sum.add(Array("@3 \(Self.partition)".utf8))
      let digits = String(sum.value, radix: 16)
      text += Array((":" + String(repeating: "0", count: 8 - digits.count) + digits).utf8)
      #expect(throws: OffsetMap.Problem.absurd, "\(runs)") {
        try OffsetMap.decode(text, of: Self.partition, base: 3)
      }
    }
  }

  // MARK: With a ledger

  /// The promise: what a new owner skips was completed, and the committed offset passes nothing open.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `a succession of owners completes every record and skips none that is open`(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    let count = 400 + Int64(random.below(400))
    var completed: Set<Int64> = []
    var committed: (offset: Int64, text: String?) = (0, nil)
    for owner in 0..<40 {
      let map =
        committed.text == nil
        ? []
        : try OffsetMap.decode(bytes(committed.text), of: Self.partition, base: committed.offset)
      let start = ResumePoint(next: committed.offset, joining: map)
      var ledger = OffsetLedger(nextOffset: start.next!, completedAbove: start.completedAbove)
      var open: [Int64] = []
      var offset = start.next!
      // Each owner is killed at some point; the last one goes on to the end.
      var steps = owner == 39 ? Int.max : random.below(900)
      while steps > 0, offset < count || !open.isEmpty {
        steps -= 1
        if offset < count, open.isEmpty || random.oneIn(2) {
          switch ledger.received(offset) {
          case .new: open.append(offset)
          case .alreadyCompleted: #expect(completed.contains(offset), "seed \(seed)")
          case .alreadyReceived: Issue.record("seed \(seed): \(offset) came twice")
          }
          offset += 1
        } else if !open.isEmpty {
          let done = open.remove(at: random.below(open.count))
          ledger.completed(done)
          completed.insert(done)
        }
        if random.oneIn(16) || steps == 0 {
          let runs = ledger.completedRuns(limit: 1_000)
          let room = random.oneIn(3) ? 16 + random.below(12) : 4_096
          committed = (
            ledger.committable,
            OffsetMap.encode(
              of: Self.partition, base: ledger.committable, runs, charactersAtMost: room)
          )
          let passes = (0..<committed.offset).first { !completed.contains($0) }
          #expect(passes == nil, "seed \(seed): the commit passes \(passes ?? -1)")
        }
      }
    }
    #expect(completed.count == Int(count), "seed \(seed)")
  }
}
