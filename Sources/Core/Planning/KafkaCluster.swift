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

/// What the programs set for their Kafka clients, in milliseconds. The embedded broker is given other values.
public enum KafkaDefaults {
  /// `fetch.wait.max.ms` of a member of a group, and of what reads a topic as a table.
  public static let fetchWait = 20.0
  public static let tableFetchWait = 100.0
  /// `linger.ms` of a client that does not say otherwise: the benchmarks' load, the demo's, feedback and the signer.
  public static let linger = 5.0
  public static let lingerOfIngest = 2.0
  public static let lingerOfAPI = 2.0
  public static let lingerOfSenders = 1.0
  /// Requests that librdkafka has open at one broker while its producer is idempotent.
  public static let openRequests = 5.0
  /// `fetch.wait.max.ms` and `linger.ms` of every client of the embedded broker.
  public static let embeddedFetchWait = 10.0
  public static let embeddedLinger = 5.0
}
