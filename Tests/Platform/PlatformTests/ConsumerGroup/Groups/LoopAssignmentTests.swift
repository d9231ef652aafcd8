// SPDX-License-Identifier: Apache-2.0

import ConsumerGroup
import Testing
import Waiting

@Suite struct LoopAssignmentTests {
  private struct Place: Hashable {
    var topic: Int
    var partition: Int
  }

  /// Two lanes and three retry tiers.
  private static let topics = 5

  /// What Kafka's round robin gives each member: all partitions in their order, in turns.
  private func shares(members: Int, partitions: Int) -> [[Place]] {
    var shares = Array(repeating: [Place](), count: members)
    let all = (0..<Self.topics).flatMap { topic in
      (0..<partitions).map { Place(topic: topic, partition: $0) }
    }
    for (turn, place) in all.enumerated() { shares[turn % members].append(place) }
    return shares
  }

  private func byTopic(_ places: [Place]) -> [[Place]] {
    (0..<Self.topics).map { topic in places.filter { $0.topic == topic } }
  }

  private func spread(_ counts: [Int]) -> Int { counts.max()! - counts.min()! }

  private func counts(_ assigned: [Place: Int], loops: Int, topic: Int? = nil) -> [Int] {
    (0..<loops).map { loop in
      assigned.count { $0.value == loop && (topic == nil || $0.key.topic == topic) }
    }
  }

  private func expectEven(_ assigned: [Place: Int], loops: Int, _ places: [Place]) {
    #expect(Set(assigned.keys) == Set(places))
    #expect(spread(counts(assigned, loops: loops)) <= 1)
    for topic in 0..<Self.topics {
      #expect(spread(counts(assigned, loops: loops, topic: topic)) <= 1, "topic \(topic)")
    }
  }

  @Test(arguments: [1, 2, 3, 4], [1, 2, 4])
  func `no loop has more than one partition above another`(members: Int, loops: Int) {
    for partitions in [8, 12, 64] {
      for share in shares(members: members, partitions: partitions) {
        var assignment = LoopAssignment<Place>(loops: loops)
        expectEven(assignment.assign(byTopic(share)), loops: loops, share)
      }
    }
  }

  /// Members come and go: the loops stay even, and what a process had before moves no more than it must.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `a partition stays with its loop over rebalances`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let loops = 1 + random.below(4)
    var assignment = LoopAssignment<Place>(loops: loops)
    var before: [Place: Int] = [:]
    for _ in 0..<30 {
      let members = 1 + random.below(4)
      let share = shares(members: members, partitions: 12)[random.below(members)]
      let assigned = assignment.assign(byTopic(share))
      expectEven(assigned, loops: loops, share)
      // Of each topic some partitions have to move when what is owned changes, none when it is the same.
      let moved = assigned.count { before[$0.key] != nil && before[$0.key] != $0.value }
      if Set(assigned.keys) == Set(before.keys) { #expect(moved == 0, "seed \(seed)") }
      before = assigned
    }
  }
}
