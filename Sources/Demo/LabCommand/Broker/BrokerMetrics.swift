// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// What the embedded broker counts, and has on `/metrics`.
public enum BrokerMetrics: Int, MetricTable {
  case records, droppedUnread, leftRings

  public var row: MetricRow {
    switch self {
    case .records: .counter("martlet_broker_records_total", "Records written to all topics.")
    case .droppedUnread:
      .counter(
        "martlet_broker_records_dropped_unread_total",
        "Records that the broker dropped before their readers had committed them, and entries dropped from tables: they are"
          + " lost.")
    case .leftRings:
      .counter(
        "martlet_broker_ring_records_dropped_total",
        "Oldest records of the topics that keep only the newest ones.")
    }
  }
}
