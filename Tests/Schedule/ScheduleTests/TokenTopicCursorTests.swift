// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import Contract

/// How far a topic of device tokens was read, as text.
@Suite struct TokenTopicCursorTests {
  @Test func `a cursor is written and read back`() throws {
    var cursor = TokenTopicCursor([1: 55..<60, 0: 10..<90])
    #expect(cursor.description == "0:10.0-90,1:55.0-60")
    cursor.advance(0, to: 17, lines: 3)
    #expect(cursor.description == "0:17.3-90,1:55.0-60")
    #expect(TokenTopicCursor(cursor.description) == cursor)
    #expect(cursor.lines(0, 17) == 3 && cursor.lines(0, 18) == 0 && cursor.lines(2, 17) == 0)
    cursor.finish()
    #expect(cursor.description == "0:90.0-90,1:60.0-60")
    #expect(cursor.stretches.values.allSatisfy { $0.isDone })
    #expect(TokenTopicCursor([0: 5..<5]).stretches[0]?.isDone == true)
  }

  @Test func `a cursor does not go back`() {
    var cursor = TokenTopicCursor([0: 10..<90])
    cursor.advance(0, to: 17, lines: 3)
    for (offset, lines) in [(17, 2), (16, 9), (0, 0)] {
      cursor.advance(0, to: Int64(offset), lines: lines)
      #expect(cursor.description == "0:17.3-90")
    }
    cursor.advance(1, to: 5)
    #expect(cursor.description == "0:17.3-90")
    cursor.advance(0, to: 18)
    #expect(cursor.description == "0:18.0-90")
    cursor.advance(0, to: 95)
    cursor.finish()
    #expect(cursor.description == "0:95.0-90")
  }

  @Test(arguments: [
    "", "0", "0:1.0", "0:1-5", "0:1.0-5,", ",0:1.0-5", "0:1.0-5,0:2.0-5", "a:1.0-5", "-1:1.0-5",
    "0:-1.0-5", "0:1.-1-5", "0:1.0--5", "0:1.0-5-6", "0:1.0.0-5", "0:0:1.0-5", " 0:1.0-5",
    "0:99999999999999999999.0-5", "0:1.0-5 ", String(repeating: "ab", count: 32),
  ])
  func `other texts are no cursor`(_ text: String) { #expect(TokenTopicCursor(text) == nil) }

  @Test func `any cursor is read back`() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<1_000 {
      var ranges: [Int32: Range<Int64>] = [:]
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let low = Int64.random(in: 0...1 << 40, using: &random)
        ranges[.random(in: 0...1_000, using: &random)] =
          low..<low + .random(in: 0...1_000, using: &random)
      }
      var cursor = TokenTopicCursor(ranges)
      for (partition, range) in ranges where !range.isEmpty {
        cursor.advance(
          partition, to: .random(in: range, using: &random),
          lines: .random(in: 0...1_000, using: &random))
      }
      #expect(TokenTopicCursor(cursor.description) == cursor)
    }
  }
}
