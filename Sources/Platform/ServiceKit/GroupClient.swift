// SPDX-License-Identifier: Apache-2.0
public import Kafka

/// The Kafka client of a `GroupSession`: `KafkaGroupConsumer`, or a model of a group in tests.
public protocol GroupClient {
  /// The group's next event; nil when none came within the time. 0 does not wait.
  func nextEvent(timeoutMilliseconds: Int32) -> GroupEvent?
  func committed(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [CommittedOffset]
  /// Where logs end, with what an open transaction holds back, as far as that was heard; asks nobody.
  func knownEnds(_ partitions: [TopicPartition]) -> [TopicPartition: Int64]
  /// Begins to fetch; the answer to an assignment.
  func assign(_ starts: [PartitionStart]) throws(KafkaError)
  /// Gives all partitions up; the answer to a revocation.
  func unassign() throws(KafkaError)
  /// Commits and waits for the coordinator's answer.
  func commit(
    _ offsets: [CommitRequest], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [CommitResult]
  /// Commits; the answer comes as an event.
  func commitAsync(_ offsets: [CommitRequest]) throws(KafkaError)
  /// Ends the client, whose member keeps its place in the group if it has a name.
  func retire()
  /// Joins the group again, with a new client and under the same name; after `retire`.
  func rejoin() throws(KafkaError)
  func close(timeoutMilliseconds: UInt64)
}

extension KafkaGroupConsumer: GroupClient {}
