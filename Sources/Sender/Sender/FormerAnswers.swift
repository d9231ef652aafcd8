// SPDX-License-Identifier: Apache-2.0
import Contract
import Telemetry

/// What APNs has answered to the pushes of destinations that are closed, since their credentials were withdrawn or
/// replaced: the counters go on, for one that falls counts as begun anew. As many as there are series.
struct FormerAnswers: Sendable {
  private struct Labels: Hashable {
    let credential: String
    let environment: Environment
  }

  /// The credential of series that several share.
  static let other = "other"

  /// Pushes that were accepted, of all credentials.
  private(set) var accepted = 0
  private var counts: [Labels: (accepted: Int, refused: Int)] = [:]

  /// A destination is closed.
  ///
  /// - Parameter credential: as a label.
  mutating func add(
    _ accepted: Int, refused: Int, _ credential: String, _ environment: Environment
  ) {
    self.accepted += accepted
    let labels = Labels(credential: credential, environment: environment)
    let before = counts[labels] ?? (0, 0)
    counts[labels] = (before.accepted + accepted, before.refused + refused)
  }

  var samples: [MetricSample] {
    counts.flatMap { labels, count in
      Self.samples(
        [labels.credential, "\(labels.environment)"], accepted: count.accepted,
        refused: count.refused)
    }
  }

  /// - Parameter labels: credential and environment.
  static func samples(_ labels: [String], accepted: Int, refused: Int) -> [MetricSample] {
    [
      MetricSample(SenderMetrics.responses, labels + ["accepted"], accepted),
      MetricSample(SenderMetrics.responses, labels + ["refused"], refused),
    ]
  }
}
