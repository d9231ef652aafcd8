// SPDX-License-Identifier: Apache-2.0

/// The part that a service takes in its group.
public struct GroupPlan: Sendable {
  public var group: String
  /// A record's `Source` names its topic by the place here.
  public var topics: [String]
  public var instanceID: String?
  /// Milliseconds between two commits: a crash repeats at most what they have not committed.
  public var commitInterval: Int64
  /// What a rebalance waits for what is under way at most, in milliseconds: the whole group stands still meanwhile.
  public var rebalancePatience: UInt64
  /// The same for a stop.
  public var stopPatience: UInt64
  /// The same when this process lost its place in the group: nothing is committed, but answers may still be reported.
  public var lostPatience: UInt64 = 0
  /// What the next owner does with records above the last committed offset, for the log.
  public var cost: String
  /// Whether records that retention removed before they were read are a loss, and a log that is another one is
  /// to be read from its first record. Where it does not matter records that come again are worked on again.
  public var watchesLosses = true
  /// Whether a process without partitions counts as not ready; otherwise it is on standby, by design.
  public var needsPartitions = true
  /// Topics that the group's work fills: if they hold records, a group that begins at its first records begins again.
  public var outputs: [String] = []

  public init(
    group: String, topics: [String], instanceID: String?, commitInterval: Int64 = 200,
    rebalancePatience: UInt64, stopPatience: UInt64, cost: String
  ) {
    self.group = group
    self.topics = topics
    self.instanceID = instanceID
    self.commitInterval = commitInterval
    self.rebalancePatience = rebalancePatience
    self.stopPatience = stopPatience
    self.cost = cost
  }
}
