// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The number of requests that a client sends to Kafka's brokers, by arithmetic from its settings. Records come at
/// random moments (Poisson), and librdkafka 2.0.2 does what its source says.
public enum KafkaRequests {
  /// Batches per second of all partitions, if nothing keeps them from leaving.
  ///
  /// A partition's first record opens a batch, which leaves `linger` later: one per linger time and the gap before its
  /// first record.
  ///
  /// - Parameters:
  ///   - rate: records per second, 0 or more.
  ///   - partitions: that they go to, 1 or more.
  ///   - linger: `linger.ms`, above 0.
  public static func batches(rate: Double, partitions: Int, linger: Double) -> Double {
    guard rate > 0 else { return 0 }
    let count = Double(partitions)
    return count / (linger / 1_000 + count / rate)
  }

  /// Produce requests per second to all brokers.
  ///
  /// Each holds one batch, of one partition. A broker has at most `KafkaDefaults.openRequests` open; batches that wait for
  /// a place grow.
  ///
  /// - Parameters:
  ///   - rate: records per second, 0 or more.
  ///   - partitions: that they go to, 1 or more.
  ///   - linger: `linger.ms`, above 0.
  public static func produces(
    rate: Double, partitions: Int, linger: Double, _ cluster: KafkaCluster
  ) -> Double {
    let leaders = Double(min(cluster.brokers, partitions))
    let most = leaders * KafkaDefaults.openRequests * 1_000 / cluster.produceTime
    return min(most, batches(rate: rate, partitions: partitions, linger: linger))
  }

  /// Fetch requests per second of one consumer to all brokers that lead partitions of it.
  ///
  /// It has one open at each. The broker answers with the first batch (`fetch.min.bytes` is 1), and without one after
  /// `fetch.wait.max.ms`.
  ///
  /// - Parameters:
  ///   - arrivals: batches per second that are written to its partitions, 0 or more.
  ///   - partitions: that it reads, 1 or more.
  ///   - wait: `fetch.wait.max.ms`, above 0.
  public static func fetches(
    arrivals: Double, partitions: Int, wait: Double = KafkaDefaults.fetchWait,
    _ cluster: KafkaCluster
  ) -> Double {
    let leaders = Double(min(cluster.brokers, partitions))
    let each = arrivals / leaders / 1_000
    // The mean of the wait for a batch that comes at a random moment, and not longer than `wait`.
    let waits = each > 0 ? (1 - Logarithm.exponential(-each * wait)) / each : wait
    return leaders * 1_000 / (cluster.fetchTime + waits)
  }
}
