// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// CPU of senders on a real cluster: what was measured on `martlet broker` with its requests to Kafka replaced.
public enum SenderPrediction {
  /// CPU microseconds per notification that requests to `martlet broker` took, as `MeasuredCosts` has them.
  ///
  /// - Parameters:
  ///   - rate: notifications per second of all senders, above 0.
  ///   - partitions: that these come from.
  public static func measuredPart(
    rate: Double, partitions: Int, senders: Int, _ costs: MeasuredCosts
  ) -> Double {
    let share = max(1, partitions / senders)
    let each = rate / Double(senders)
    return costs.reading(
      rate: each, partitions: share, linger: MeasuredRun.linger) / each
  }

  /// CPU microseconds per notification that the same takes on a cluster: every answer to a fetch is a request that
  /// brings records, in the batches that were written.
  public static func part(
    _ load: KafkaLoad, _ costs: MeasuredCosts, _ cluster: KafkaCluster
  ) -> Double {
    guard let sender = load.processes.first(where: { $0.name == "sender" }) else { return 0 }
    let answers = sender.groupFetches(cluster) * costs.request
    return (answers + sender.batchesIn(cluster) * costs.batch) / load.rate
  }
}
