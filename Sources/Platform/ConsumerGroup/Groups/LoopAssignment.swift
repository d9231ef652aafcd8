// SPDX-License-Identifier: Apache-2.0

/// Divides the partitions of a process among its loops.
///
/// Each topic's partitions are divided evenly, and so is their total: no loop ever has more than one partition more
/// than another, of one topic or in all, whichever partitions the group has assigned to this process. These follow a
/// stride (every second one with two members), so a rule based on partition numbers would leave loops without work.
///
/// A partition stays with its loop as far as the loops remain even.
public struct LoopAssignment<Partition: Hashable & Sendable>: Sendable {
  /// The loop that last had each partition.
  private var owners: [Partition: Int] = [:]
  private let loops: Int

  /// - Parameter loops: at least 1.
  public init(loops: Int) {
    precondition(loops >= 1, "there must be at least one loop")
    self.loops = loops
  }

  /// Divides the partitions that are owned from now on; replaces the previous assignment.
  ///
  /// - Parameter topics: the partitions of each topic. The result depends on their order, so sort them.
  /// - Returns: the loop index of each partition, from 0.
  public mutating func assign(_ topics: [[Partition]]) -> [Partition: Int] {
    var assigned: [Partition: Int] = [:]
    // The loop that gets the first surplus partition of the next topic, so that they even out.
    var first = 0
    for partitions in topics {
      var room = Array(repeating: partitions.count / loops, count: loops)
      for odd in 0..<partitions.count % loops { room[(first + odd) % loops] += 1 }
      first = (first + partitions.count) % loops
      var homeless: [Partition] = []
      for partition in partitions {
        if let owner = owners[partition], room[owner] > 0 {
          room[owner] -= 1
          assigned[partition] = owner
        } else {
          homeless.append(partition)
        }
      }
      var loop = 0
      for partition in homeless {
        while room[loop] == 0 { loop = (loop + 1) % loops }
        room[loop] -= 1
        assigned[partition] = loop
        loop = (loop + 1) % loops
      }
    }
    owners = assigned
    return assigned
  }
}
