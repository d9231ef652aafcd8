// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum SimulatorMetrics: Int, MetricTable {
  case connections, connectionsRefused, open, forgotten, goAways, requests, accepted, rejected
  case unregistered, abandoned, custom, reset, silent, delivered, stored, discarded, overBudget
  case recordsDropped

  public var row: MetricRow {
    switch self {
    case .connections: .counted(Self.connectionResults, "accepted")
    case .connectionsRefused: .counted(Self.connectionResults, "refused")
    case .open: .gauge("martlet_simulator_connections_open", "Connections that are open.")
    case .forgotten:
      .counter(
        "martlet_simulator_connections_forgotten_total",
        "Idle connections that were forgotten without a word.")
    case .goAways: .counter("martlet_simulator_goaways_total", "Connections that got a GOAWAY.")
    case .requests: .counter("martlet_simulator_requests_total", "Requests that were received.")
    case .accepted: .counted(Self.answers, "accepted")
    case .rejected: .counted(Self.answers, "rejected")
    case .unregistered: .counted(Self.answers, "unregistered")
    case .abandoned: .counted(Self.answers, "abandoned")
    case .custom: .counted(Self.answers, "custom")
    case .reset: .counted(Self.answers, "reset")
    case .silent: .counted(Self.answers, "silent")
    case .delivered: .counted(Self.pushes, "delivered")
    case .stored: .counted(Self.pushes, "stored")
    case .discarded: .counted(Self.pushes, "discarded")
    case .overBudget: .counted(Self.pushes, "over_budget")
    case .recordsDropped:
      .counter(
        "martlet_simulator_records_dropped_total", "Requests that were dropped from the report.")
    }
  }

  private static let connectionResults = Metric(
    "martlet_simulator_connections_total", .counter, labels: ["result"], bound: "2",
    "Connections of clients: accepted or refused.")
  private static let answers = Metric(
    "martlet_simulator_answers_total", .counter, labels: ["answer"], bound: "7",
    "Requests by how they ended: accepted, rejected, unregistered (410), abandoned by the client, a made-up answer"
      + " (custom), a reset stream (reset), no answer at all (silent).")
  private static let pushes = Metric(
    "martlet_simulator_pushes_total", .counter, labels: ["outcome"], bound: "4",
    "What became of accepted pushes: delivered, stored for a device that is away, discarded, dropped by the device (over_budget)."
  )
}
