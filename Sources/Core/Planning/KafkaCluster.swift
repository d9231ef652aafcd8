// SPDX-License-Identifier: Apache-2.0

/// Kafka's brokers as a client meets them.
public struct KafkaCluster: Sendable, Equatable {
  /// 1 or more; each leads an equal share of every topic's partitions.
  public let brokers: Int
  /// Milliseconds from a fetch to its answer when there is a record, above 0.
  public let fetchTime: Double
  /// Milliseconds from a produce request to its acknowledgement by all replicas, above 0. A consumer may read the
  /// records then.
  public let produceTime: Double

  public init(brokers: Int, fetchTime: Double, produceTime: Double) {
    precondition(brokers > 0 && fetchTime > 0 && produceTime > 0)
    self.brokers = brokers
    self.fetchTime = fetchTime
    self.produceTime = produceTime
  }

  /// One broker on the machine of its clients. Half a millisecond for a request is an assumption.
  public static let here = KafkaCluster(brokers: 1, fetchTime: 0.5, produceTime: 0.5)
  /// Three brokers a millisecond away, three copies: the followers fetch a record before it is acknowledged.
  public static let threeAway = KafkaCluster(brokers: 3, fetchTime: 1, produceTime: 2)
}
