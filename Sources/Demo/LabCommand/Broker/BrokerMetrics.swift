// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The metrics of the embedded broker on `/metrics`.
public enum BrokerMetrics {
  static let records = Metric(
    "martlet_broker_records_total", .counter, "Records written to all topics.")
  static let dropped = Metric(
    "martlet_broker_records_dropped_unread_total", .counter,
    "Records that the broker dropped before their readers had committed them, and entries dropped from tables: they are"
      + " lost.")
  static let leftRings = Metric(
    "martlet_broker_ring_records_dropped_total", .counter,
    "Oldest records of the topics that keep only the newest ones.")

  public static let all = [records, dropped, leftRings]
}

extension RetentionCounter {
  var series: MetricSeries? {
    switch self {
    case .records: MetricSeries(BrokerMetrics.records)
    case .droppedUnread: MetricSeries(BrokerMetrics.dropped)
    case .leftRings: MetricSeries(BrokerMetrics.leftRings)
    }
  }
}
