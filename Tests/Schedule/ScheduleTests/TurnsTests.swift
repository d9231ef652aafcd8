// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Waiting

@Suite struct TurnsTests {
  @Test func `owners take turns, each in its own order`() {
    var turns = Turns<String, Int>()
    for number in 0..<4 { turns.add(number, of: "a") }
    turns.add(10, of: "b")
    turns.add(20, of: "c")
    turns.add(11, of: "b")
    #expect(turns.count == 7 && turns.owners == 3)
    var taken: [Int] = []
    while let next = turns.next() { taken.append(next.item) }
    #expect(taken == [0, 10, 20, 1, 11, 2, 3])
    #expect(turns.isEmpty && turns.owners == 0)
  }

  @Test func `what is not done is gone on with at the owner's next turn`() {
    var turns = Turns<String, Int>()
    turns.add(1, of: "a")
    turns.add(2, of: "a")
    turns.add(10, of: "b")
    var taken: [Int] = []
    for _ in 0..<3 {
      guard let (owner, item) = turns.next() else { break }
      taken.append(item)
      if owner == "a" { turns.giveBack(item, of: owner) }
    }
    #expect(taken == [1, 10, 1] && turns.count == 2)
    // One that is alone has every turn.
    #expect(turns.next()?.item == 1 && turns.next()?.item == 2 && turns.next() == nil)
  }

  @Test func `whoever comes anew waits for one step of each of the others`() {
    var turns = Turns<Int, Int>()
    for owner in 0..<50 { for number in 0..<100 { turns.add(number, of: owner) } }
    turns.add(-1, of: 99)
    var steps = 0
    while let next = turns.next(), next.owner != 99 { steps += 1 }
    #expect(steps == 50)
  }
}
