// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The rate at which one sender can get a backlog out of a real cluster, whatever CPU it has.
///
/// An answer brings as much of every partition as it may (`PrefetchLimits.answerBytes`). A partition that then holds its
/// share is left out of the next fetch. When all that have records are left out, that fetch waits for the partitions
/// without any, `fetch.wait.max.ms`, and librdkafka looks at the others again when it is answered.
public struct BacklogBound: Sendable, Equatable {
  public let limits: PrefetchLimits
  /// Records that an answer brings of a partition, and those that it gets before it is left out.
  public let answer: Int
  public let cycle: Int
  /// Milliseconds from one such round to the next.
  public let time: Double
  /// Records per second.
  public let rate: Double

  /// - Parameters:
  ///   - partitions: that hold the backlog, of one lane; the other one has as many.
  ///   - recordBytes: of a record as it lies in Kafka, compressed, at most 65,536.
  ///   - wait: `fetch.wait.max.ms`, above 0.
  public init(
    partitions: Int, recordBytes: Double, wait: Double = KafkaDefaults.fetchWait,
    _ cluster: KafkaCluster
  ) {
    limits = PrefetchLimits(partitions: 2 * partitions + KafkaLoad.retryPartitions)
    answer = Int(Double(limits.answerBytes) / recordBytes)
    cycle = answer * ((limits.records + answer - 1) / answer)
    time = wait + cluster.fetchTime
    rate = Double(partitions * cycle) * 1_000 / time
  }
}
