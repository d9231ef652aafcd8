// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Synchronization
public import Telemetry
import Webhooks

/// The metrics of `martlet-webhooks`, per endpoint, and the sums over all endpoints of the process for the counters
/// line.
public enum WebhookMetrics: Int, MetricTable {
  case events, attempts, latency, oldest, queuedEvents, failing, gone, delivered, deadLettered
  case requests, failed, queued

  private static let bound = "endpoints"

  public var row: MetricRow {
    switch self {
    case .events:
      .sampled(
        "martlet_webhooks_events_total", .counter, labels: ["endpoint", "result"],
        bound: "4 × endpoints",
        "Events by what became of them: the endpoint accepted them (delivered), they became dead letters, the subscription"
          + " does not want them (unwanted), or the record is not one of its topic (unreadable).")
    case .attempts:
      .sampled(
        "martlet_webhooks_attempts_total", .counter, labels: ["endpoint", "result"],
        bound: "3 × endpoints", event: WebhooksLog.endpointFails,
        "Requests by their end: answered with 2xx (accepted), with anything else (refused), or not at all (unanswered)."
      )
    case .latency:
      .sampled(
        "martlet_webhooks_request_seconds", .histogram, labels: ["endpoint"], bound: Self.bound,
        "Time from a request to its answer, for requests that were answered.")
    case .oldest:
      .sampled(
        "martlet_webhooks_oldest_event_seconds", .gauge, labels: ["endpoint"], bound: Self.bound,
        merge: .highest,
        "Age of the oldest event that this process has read and the endpoint has not accepted; 0 without one."
      )
    case .queuedEvents:
      .sampled(
        "martlet_webhooks_queued_events", .gauge, labels: ["endpoint"], bound: Self.bound,
        "Events that this process has read and that wait for the endpoint.")
    case .failing:
      .sampled(
        "martlet_webhooks_endpoint_failing", .gauge, labels: ["endpoint"], bound: Self.bound,
        merge: .highest, event: WebhooksLog.endpointFails,
        "1 while the newest answer of the endpoint was no acceptance, or none came.")
    case .gone:
      .sampled(
        "martlet_webhooks_endpoint_gone", .gauge, labels: ["endpoint"], bound: Self.bound,
        merge: .highest,
        event: WebhooksLog.endpointGone,
        "1 after the endpoint answered 410: nothing is sent until the process restarts.")
    case .delivered, .deadLettered, .requests, .failed: .line(.total)
    case .queued: .line(.gauge)
    }
  }
}

/// The metrics of all endpoints. Each endpoint's thread writes its own, rarely.
final class EndpointFigures: MetricSource {
  struct Figures {
    var delivered = 0
    var deadLettered = 0
    var unwanted = 0
    var unreadable = 0
    var accepted = 0
    var refused = 0
    var unanswered = 0
    var queued = 0
    /// In milliseconds.
    var oldestAge = 0
    var isFailing = false
    var isGone = false
  }

  private let names: [String]
  private let figures: Mutex<[Figures]>
  let latencies: [LatencyCells]

  init(_ names: [String]) {
    self.names = names
    figures = Mutex(Array(repeating: Figures(), count: names.count))
    latencies = names.map { LatencyCells(WebhookMetrics.latency, [[$0]]) }
  }

  func change(_ index: Int, _ body: (inout Figures) -> Void) {
    figures.withLock { body(&$0[index]) }
  }

  var samples: [MetricSample] {
    let all = figures.withLock { $0 }
    return zip(names, all).flatMap { Self.samples($0, $1) } + latencies.flatMap(\.samples)
  }

  private static func samples(_ name: String, _ figures: Figures) -> [MetricSample] {
    let events = [
      ("delivered", figures.delivered), ("dead_lettered", figures.deadLettered),
      ("unwanted", figures.unwanted), ("unreadable", figures.unreadable),
    ]
    let attempts = [
      ("accepted", figures.accepted), ("refused", figures.refused),
      ("unanswered", figures.unanswered),
    ]
    return events.map { MetricSample(WebhookMetrics.events, [name, $0], $1) }
      + attempts.map { MetricSample(WebhookMetrics.attempts, [name, $0], $1) }
      + [
        MetricSample(WebhookMetrics.oldest, [name], .thousandths(figures.oldestAge)),
        MetricSample(WebhookMetrics.queuedEvents, [name], figures.queued),
        MetricSample(WebhookMetrics.failing, [name], figures.isFailing ? 1 : 0),
        MetricSample(WebhookMetrics.gone, [name], figures.isGone ? 1 : 0),
      ]
  }
}

struct EndpointRecorder {
  private let figures: EndpointFigures
  private let index: Int
  private let latency: LatencyRecorder

  init(_ figures: EndpointFigures, _ index: Int) {
    self.figures = figures
    self.index = index
    latency = figures.latencies[index].recorder
  }

  func note(_ body: (inout EndpointFigures.Figures) -> Void) { figures.change(index, body) }

  func answered(after milliseconds: UInt64) {
    latency.record(Int64(clamping: milliseconds), in: 0)
  }

  /// Shows the current state of the endpoint.
  ///
  /// - Parameter wall: milliseconds since the epoch.
  func show(_ machine: EndpointMachine, wall: Int64) {
    note { figures in
      figures.queued = machine.queued
      figures.oldestAge = machine.oldest.map { Int(clamping: max(0, wall - max(0, $0))) } ?? 0
      figures.isFailing = machine.isFailing
      figures.isGone = machine.isGone
    }
  }
}
