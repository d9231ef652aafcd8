// SPDX-License-Identifier: Apache-2.0

/// The settings of a service's group membership.
public struct GroupPlan: Sendable {
  public var group: String
  /// A record's `Source` refers to its topic by the index in this array.
  public var topics: [String]
  public var instanceID: String?
  /// The interval between two commits, in milliseconds: a crash repeats at most the records completed in it.
  public var commitInterval: Int64
  /// The longest time that a rebalance waits for unfinished records, in milliseconds: the whole group pauses meanwhile.
  public var rebalancePatience: UInt64
  /// The same for a stop.
  public var stopPatience: UInt64
  /// The same after this process lost its membership: nothing is committed, but results may still be reported.
  public var lostPatience: UInt64 = 0
  /// What the next owner does with records above the last committed offset, for the log message.
  public var cost: String
  /// Whether records that retention removed unread count as lost, and a replaced log is read from its first record.
  /// Otherwise records that are read again are processed again.
  public var watchesLosses = true
  /// Whether a process without partitions counts as not ready; otherwise it is on standby, by design.
  public var needsPartitions = true
  /// Topics that the group writes to: if they hold records, a group that starts at its first records is repeating its
  /// work.
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
