// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// Records of one topic on their way from the processes that write them.
public struct KafkaFlow: Sendable, Equatable {
  /// Records per second of all writers together.
  public var rate: Double
  /// Bytes of a record, before compression.
  public var bytes: Double
  /// Partitions that one writer spreads its records over: one at a time if they have no key.
  public var partitions: Int
  /// `linger.ms` of the writers.
  public var linger: Double
  public var writers = 1

  /// Produce requests per second of all writers, with one batch each.
  public func requests(_ cluster: KafkaCluster) -> Double {
    let each = KafkaRequests.produces(
      rate: rate / Double(writers), partitions: partitions, linger: linger, cluster)
    return Double(writers) * each
  }
}

/// Processes of one kind, and what they ask of Kafka together.
public struct KafkaProcess: Sendable, Equatable {
  public var name: String
  public var copies = 1
  /// The records written to the partitions that its consumer group reads.
  public var reads: [KafkaFlow] = []
  /// Partitions of each topic in which nothing happens and that every copy reads with a client of its own.
  public var tables: [Int] = []
  public var writes: [KafkaFlow] = []
  /// Partitions that the group reads; 0: it is no member of one.
  public var partitions = 0

  /// Fetch requests per second.
  public func fetches(_ cluster: KafkaCluster) -> Double {
    let idle = tables.reduce(0) {
      $0
        + KafkaRequests.fetches(
          arrivals: 0, partitions: $1, wait: KafkaDefaults.tableFetchWait, cluster)
    }
    return groupFetches(cluster) + Double(copies) * idle
  }

  /// Those of them that ask for the group's partitions.
  public func groupFetches(_ cluster: KafkaCluster) -> Double {
    guard partitions > 0 else { return 0 }
    let arrivals = batchesIn(cluster)
    let each = KafkaRequests.fetches(
      arrivals: arrivals / Double(copies), partitions: partitions, cluster)
    return Double(copies) * each
  }

  /// Batches per second that the group reads.
  public func batchesIn(_ cluster: KafkaCluster) -> Double {
    reads.reduce(0) { $0 + $1.requests(cluster) }
  }

  /// Produce requests per second.
  public func produces(_ cluster: KafkaCluster) -> Double {
    writes.reduce(0) { $0 + $1.requests(cluster) }
  }

  /// Of one produce request; 0 if there are none.
  public func recordsPerBatch(_ cluster: KafkaCluster) -> Double {
    let requests = produces(cluster)
    return requests > 0 ? writes.reduce(0) { $0 + $1.rate } / requests : 0
  }

  /// Bytes per second from Kafka and to it, before compression.
  public var bytesIn: Double { reads.reduce(0) { $0 + $1.rate * $1.bytes } }
  public var bytesOut: Double { writes.reduce(0) { $0 + $1.rate * $1.bytes } }
}
