// SPDX-License-Identifier: Apache-2.0

/// An event that a group consumer reports to its control thread.
public enum GroupEvent: Sendable {
  /// These partitions are now assigned to this member: open queues, look up offsets, then `assign`. An empty list is
  /// possible and also requires an `assign`.
  case assigned([TopicPartition])
  /// These partitions must be given up: let the loops close their queues, commit, then `unassign`; the whole group
  /// waits for it. `lost`: they already belong to other members, so do not commit.
  case revoked([TopicPartition], lost: Bool)
  /// The result of a `commitAsync`. With an error nothing was committed; without one each partition has its own
  /// result.
  case offsetsCommitted([CommitResult], KafkaError?)
  /// An error from which the client recovers by itself.
  case error(KafkaError)
  /// The client can no longer be used: close it. Usually caused by a second process with the same instance id.
  case fatal(KafkaError)
}
