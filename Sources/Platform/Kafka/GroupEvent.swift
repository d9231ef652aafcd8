// SPDX-License-Identifier: Apache-2.0

/// An event that a group consumer reports to its control thread.
public enum GroupEvent: Sendable {
  /// These partitions are now ours: open queues, look up offsets, then `assign`. An empty list is
  /// possible and also wants an `assign`.
  case assigned([TopicPartition])
  /// These partitions are to be given up: let the loops close their queues, commit, then `unassign`;
  /// the whole group waits for it. `lost`: they already belong to others, so do not commit.
  case revoked([TopicPartition], lost: Bool)
  /// The answer to a `commitAsync`; the error is nil when all went well.
  case offsetsCommitted([CommitResult], KafkaError?)
  /// The client goes on by itself.
  case error(KafkaError)
  /// The client is of no further use: close it. A second process with the same instance id, mostly.
  case fatal(KafkaError)
}
