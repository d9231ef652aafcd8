// SPDX-License-Identifier: Apache-2.0

/// Checks that a lane has a partition for every loop of every sender. A loop without one sends nothing of that lane.
public struct LoopCoverage: Sendable, Equatable {
  /// Event loops of each sender.
  public let loops: Int
  /// The least number of senders that share the lane.
  public let senders: Int

  public init(loops: Int, senders: Int) {
    self.loops = loops
    self.senders = max(1, senders)
  }

  /// Derives the number of senders from one member's own assignment: members differ by one partition at most, so with
  /// more senders than these it would have fewer.
  ///
  /// - Parameters:
  ///   - assigned: partitions that this sender has, of all topics.
  ///   - partitions: of all topics together.
  public init(loops: Int, assigned: Int, of partitions: Int) {
    self.init(loops: loops, senders: max(0, partitions) / (max(0, assigned) + 1) + 1)
  }

  /// Partitions that a lane needs so that all loops have work.
  public var needed: Int { loops * senders }

  /// Loops that have nothing of a lane with so many partitions.
  public func idleLoops(partitions: Int) -> Int { max(0, needed - partitions) }

  public func remedy(topic: String) -> String {
    "add partitions (kafka-topics.sh --alter --topic \(topic) --partitions \(needed); docs/operations.md, Adding"
      + " partitions), lower --loops, or run fewer senders"
  }

  public func finding(topic: String, partitions: Int) -> Finding {
    let who = senders == 1 ? "one sender has" : "\(senders) senders have"
    let all = "\(partitions) partitions; \(who) \(needed) loop\(needed == 1 ? "" : "s")"
    let idle = idleLoops(partitions: partitions)
    guard idle > 0 else { return .ok(.partitions, topic, all) }
    return .warning(
      .partitions, topic, "\(all), so \(idle) of them send nothing of it",
      remedy: remedy(topic: topic))
  }
}
