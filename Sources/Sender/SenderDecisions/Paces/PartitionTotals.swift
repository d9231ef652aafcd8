// SPDX-License-Identifier: Apache-2.0

/// The numbers of partitions that all loops of all senders own together.
public struct PartitionTotals: Sendable, Equatable {
  /// By the lane's place.
  public var ofLanes: [Int]
  /// Of all retry topics together.
  public var ofRetries: Int

  public init(ofLanes: [Int] = [], ofRetries: Int = 0) {
    self.ofLanes = ofLanes
    self.ofRetries = ofRetries
  }

  var all: Int { ofLanes.reduce(ofRetries, +) }
}
