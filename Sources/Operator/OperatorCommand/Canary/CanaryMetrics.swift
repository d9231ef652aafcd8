// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Synchronization
public import Telemetry

public enum CanaryMetrics: Int, MetricTable {
  case success, lastSuccess, results, stages

  private static let labels = ["app", "environment", "target"]
  private static let bound = "\(CanarySpecification.most) canaries"

  public var row: MetricRow {
    switch self {
    case .success:
      .sampled(
        "martlet_canary_success", .gauge, labels: Self.labels, bound: Self.bound,
        "1 if the canary's last push was delivered, 0 if it was not; absent before the first has ended."
      )
    case .lastSuccess:
      .sampled(
        "martlet_canary_last_success_timestamp_seconds", .gauge, labels: Self.labels,
        bound: Self.bound,
        "When a push of the canary was delivered last, as Unix time.")
    case .results:
      .sampled(
        "martlet_canary_pushes_total", .counter, labels: Self.labels + ["result"],
        bound: "\(Self.bound) × \(CanaryWatch.Failure.allCases.count + 1) results",
        "Pushes of the canary that have ended: delivered, not taken by Kafka in time (not_acknowledged), without a receipt"
          + " in time (no_receipt), or with another outcome.")
    case .stages:
      .sampled(
        "martlet_canary_stage_seconds", .histogram, labels: Self.labels + ["stage"],
        bound: "\(Self.bound) × 4 stages × 22 series",
        "Time of the canary's delivered pushes: from the request to ingest's notification (ingest), from there to APNs'"
          + " answer (sender), from there until the receipt was read (receipt), and in all (total)."
      )
    }
  }
}

/// The results of the canaries. One thread writes, any may read.
final class CanaryTelemetry: MetricSource {
  private struct Figures {
    var success: Int?
    /// Milliseconds since the epoch.
    var lastSuccess: Int?
    var delivered = 0
    var failures = [Int](repeating: 0, count: CanaryWatch.Failure.allCases.count)
  }

  private static let stageNames = ["ingest", "sender", "receipt", "total"]

  private let labels: [[String]]
  private let figures: Mutex<[Figures]>
  private let stages: LatencyCells

  init(_ canaries: [CanarySpecification]) {
    labels = canaries.map(\.labels)
    figures = Mutex(labels.map { _ in Figures() })
    stages = LatencyCells(
      CanaryMetrics.stages, labels.flatMap { own in Self.stageNames.map { own + [$0] } })
  }

  /// - Parameter wall: The current time in milliseconds since the epoch.
  func ended(_ canary: Int, _ result: CanaryWatch.Result, wall: Int64) {
    figures.withLock { figures in
      switch result {
      case .success:
        figures[canary].success = 1
        figures[canary].lastSuccess = Int(wall)
        figures[canary].delivered += 1
      case .failure(let failure):
        figures[canary].success = 0
        guard let place = CanaryWatch.Failure.allCases.firstIndex(of: failure) else { return }
        figures[canary].failures[place] += 1
      }
    }
    guard case .success(let times) = result else { return }
    for (place, time) in [times.ingest, times.sender, times.receipt, times.total].enumerated() {
      stages.recorder.record(time, in: canary * Self.stageNames.count + place)
    }
  }

  var samples: [MetricSample] {
    let all = figures.withLock { $0 }
    var samples: [MetricSample] = []
    for (labels, figures) in zip(labels, all) {
      if let success = figures.success {
        samples.append(MetricSample(CanaryMetrics.success, labels, success))
      }
      if let last = figures.lastSuccess {
        samples.append(MetricSample(CanaryMetrics.lastSuccess, labels, .thousandths(last)))
      }
      samples.append(MetricSample(CanaryMetrics.results, labels + ["delivered"], figures.delivered))
      for (failure, count) in zip(CanaryWatch.Failure.allCases, figures.failures) {
        samples.append(MetricSample(CanaryMetrics.results, labels + [failure.rawValue], count))
      }
    }
    return samples + stages.samples
  }
}
