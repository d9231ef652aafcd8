// SPDX-License-Identifier: Apache-2.0

/// The settings of the programs' Kafka clients, in whole milliseconds.
public enum KafkaDefaults {
  /// `fetch.wait.max.ms` of a member of a group, and of what reads a topic as a table. A broker answers as soon as there
  /// are records; but a partition that is read again waits for the answer about the others.
  public static let fetchWait = 50.0
  public static let tableFetchWait = 100.0
  /// `linger.ms` of a client that does not say otherwise: the benchmarks' load, the demo's, feedback and the signer.
  public static let linger = 5.0
  public static let lingerOfIngest = 2.0
  public static let lingerOfAPI = 2.0
  public static let lingerOfSenders = 1.0
  public static let lingerOfScheduler = 2.0
  /// Requests that librdkafka has open at one broker while its producer is idempotent.
  public static let openRequests = 5.0
}
