// SPDX-License-Identifier: Apache-2.0

import SenderDecisions
import Testing
import Waiting

@Suite struct ReadySetTests {
  @Test func `an empty set has nothing`() {
    var set = ReadySet()
    #expect(set.first(in: 0..<1_000) == nil)
    #expect(set.first(in: 1_000..<2_000) == nil)
    #expect(!set.contains(7))
    set.remove(7)
    set.insertAll(below: 0)
    #expect(set.first(in: 0..<1_000) == nil)
  }

  /// It is what a set of numbers is, whatever comes in whatever order.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `random operations leave what they leave in a set`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var set = ReadySet()
    var model: Set<Int> = []
    for _ in 0..<2_000 {
      let number = random.below(300)
      switch random.below(40) {
      case 0:
        set = ReadySet()
        model = []
      case 1:
        set.insertAll(below: number)
        model.formUnion(0..<number)
      case 2..<20:
        set.insert(number)
        model.insert(number)
      default:
        set.remove(number)
        model.remove(number)
      }
      let from = random.below(320)
      let range = from..<from + random.below(320)
      #expect(set.first(in: range) == model.filter(range.contains).min(), "seed \(seed)")
      #expect(set.contains(from) == model.contains(from), "seed \(seed)")
    }
  }
}
