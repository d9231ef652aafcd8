// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The simulator's metrics on `/metrics`.
public enum SimulatorMetrics {
  static let connections = Metric(
    "martlet_simulator_connections_total", .counter, labels: ["result"], bound: "2",
    "Connections of clients: accepted or refused.")
  static let openConnections = Metric(
    "martlet_simulator_connections_open", .gauge, "Connections that are open.")
  static let forgotten = Metric(
    "martlet_simulator_connections_forgotten_total", .counter,
    "Idle connections that were forgotten without a word.")
  static let goAways = Metric(
    "martlet_simulator_goaways_total", .counter, "Connections that got a GOAWAY.")
  static let requests = Metric(
    "martlet_simulator_requests_total", .counter, "Requests that were received.")
  static let answers = Metric(
    "martlet_simulator_answers_total", .counter, labels: ["answer"], bound: "7",
    "Requests by how they ended: accepted, rejected, unregistered (410), abandoned by the client, a made-up answer"
      + " (custom), a reset stream (reset), no answer at all (silent).")
  static let pushes = Metric(
    "martlet_simulator_pushes_total", .counter, labels: ["outcome"], bound: "4",
    "What became of accepted pushes: delivered, stored for a device that is away, discarded, dropped by the device (over_budget)."
  )
  static let recordsDropped = Metric(
    "martlet_simulator_records_dropped_total", .counter,
    "Requests that were dropped from the report.")

  public static let all = [
    connections, openConnections, forgotten, goAways, requests, answers, pushes, recordsDropped,
  ]
}

extension GatewayCounter {
  var series: MetricSeries? {
    switch self {
    case .connections: MetricSeries(SimulatorMetrics.connections, ["accepted"])
    case .connectionsRefused: MetricSeries(SimulatorMetrics.connections, ["refused"])
    case .open: MetricSeries(SimulatorMetrics.openConnections)
    case .forgotten: MetricSeries(SimulatorMetrics.forgotten)
    case .goAways: MetricSeries(SimulatorMetrics.goAways)
    case .requests: MetricSeries(SimulatorMetrics.requests)
    case .accepted: MetricSeries(SimulatorMetrics.answers, ["accepted"])
    case .rejected: MetricSeries(SimulatorMetrics.answers, ["rejected"])
    case .unregistered: MetricSeries(SimulatorMetrics.answers, ["unregistered"])
    case .abandoned: MetricSeries(SimulatorMetrics.answers, ["abandoned"])
    case .custom: MetricSeries(SimulatorMetrics.answers, ["custom"])
    case .reset: MetricSeries(SimulatorMetrics.answers, ["reset"])
    case .silent: MetricSeries(SimulatorMetrics.answers, ["silent"])
    case .delivered: MetricSeries(SimulatorMetrics.pushes, ["delivered"])
    case .stored: MetricSeries(SimulatorMetrics.pushes, ["stored"])
    case .discarded: MetricSeries(SimulatorMetrics.pushes, ["discarded"])
    case .overBudget: MetricSeries(SimulatorMetrics.pushes, ["over_budget"])
    case .recordsDropped: MetricSeries(SimulatorMetrics.recordsDropped)
    }
  }
}
