// SPDX-License-Identifier: Apache-2.0

/// The defaults of the programs' Kafka clients, in whole milliseconds.
public enum KafkaDefaults {
  /// `fetch.wait.max.ms` of group members, and of readers of topics as tables. A broker answers as soon as there are
  /// records; but a partition that is resumed waits for the pending fetch of the others.
  public static let fetchWait = 50.0
  public static let tableFetchWait = 100.0
  /// `linger.ms` of clients without their own: the benchmarks' load, the demo's, feedback and the signer.
  public static let linger = 5.0
  public static let lingerOfIngest = 2.0
  public static let lingerOfAPI = 2.0
  public static let lingerOfSenders = 1.0
  public static let lingerOfScheduler = 2.0
  /// The most requests in flight per broker while librdkafka's producer is idempotent.
  public static let openRequests = 5.0
}
