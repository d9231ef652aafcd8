// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The metrics of the embedded broker on `/metrics`.
public enum BrokerMetrics {
  static let records = Metric(
    "martlet_broker_records_total", .counter, "Records written to all topics.")
  static let full = Metric(
    "martlet_broker_storage_full", .gauge, "1 while records are refused for want of room.")

  public static let all = [records, full]
}

extension BrokerCounter {
  var series: MetricSeries? {
    switch self {
    case .records: MetricSeries(BrokerMetrics.records)
    case .full: MetricSeries(BrokerMetrics.full)
    }
  }
}
