// SPDX-License-Identifier: Apache-2.0

/// How many requests a process sends to Kafka's brokers, by arithmetic from the settings of its client.
public enum KafkaRequests {
  /// What a process produces, spread evenly.
  public struct Produce: Sendable, Equatable {
    /// Produce requests per second to all brokers: one a broker and linger time, or one a record if these are rarer.
    public let requests: Double
    /// Batches per request: one for each partition of that broker that has records.
    public let batches: Double
    public let recordsPerBatch: Double
  }

  /// - Parameters:
  ///   - rate: records per second, 0 or more.
  ///   - partitions: that they go to.
  ///   - linger: `linger.ms`, above 0.
  public static func produce(
    rate: Double, partitions: Int, brokers: Int, linger: Double
  ) -> Produce {
    guard rate > 0 else { return Produce(requests: 0, batches: 0, recordsPerBatch: 0) }
    let leaders = Double(min(brokers, partitions))
    let requests = leaders * min(rate / leaders, 1_000 / linger)
    let batches = min(rate, Double(partitions) * 1_000 / linger)
    return Produce(
      requests: requests, batches: batches / requests, recordsPerBatch: rate / batches)
  }

  /// Fetch requests per second of one consumer to all brokers.
  ///
  /// It has one open at each broker. The broker answers as soon as it has a record (`fetch.min.bytes` is 1), and without
  /// one after `fetch.wait.max.ms`; the next one goes out a round trip later.
  ///
  /// - Parameters:
  ///   - arrivals: batches per second that are written to its partitions.
  ///   - wait: `fetch.wait.max.ms`, above 0.
  ///   - roundTrip: milliseconds to a broker and back, above 0.
  public static func fetches(
    arrivals: Double, brokers: Int, wait: Double, roundTrip: Double
  ) -> Double {
    let each = arrivals / Double(brokers)
    return Double(brokers) * min(1_000 / roundTrip, max(1_000 / wait, each))
  }
}
