// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The embedded broker's metrics on `/metrics`.
public enum BrokerMetrics: Int, MetricTable {
  case records, full

  public var row: MetricRow {
    switch self {
    case .records: .counter("martlet_broker_records_total", "Records written to all topics.")
    case .full:
      .gauge("martlet_broker_storage_full", "1 while records are refused for want of room.")
    }
  }
}
