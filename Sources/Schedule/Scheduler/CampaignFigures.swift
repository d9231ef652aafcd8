// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Synchronization
import Telemetry

/// The per-campaign metrics. The scheduler's thread writes them; the status server's thread reads them.
final class CampaignFigures: MetricSource {
  /// The most campaigns shown.
  static let most = 100
  /// How long a finished campaign is shown after its end, in milliseconds.
  static let kept: Int64 = 3_600_000

  /// The most characters of a reason: it may name who cancelled the campaign, in any client's words.
  private static let longestReason = 200

  private struct Values {
    var shown: [CampaignRecord] = []
    var unlisted = 0
    var now: Int64 = 0
  }

  private let values = Mutex(Values())

  /// Shows the status of these campaigns: unfinished ones first, then the newest.
  ///
  /// - Parameter now: milliseconds since the epoch.
  func show(_ campaigns: [CampaignRecord], now: Int64) {
    let wanted = campaigns.filter { campaign in
      campaign.progress.endedAt.map { now <= $0 + Self.kept } ?? true
    }
    .sorted { a, b in
      let (first, second) = (a.progress.state.isOver, b.progress.state.isOver)
      guard first == second else { return second }
      return a.at == b.at ? a.key.description < b.key.description : b.at < a.at
    }
    values.withLock {
      $0 = Values(
        shown: Array(wanted.prefix(Self.most)), unlisted: max(0, wanted.count - Self.most), now: now
      )
    }
  }

  var samples: [MetricSample] {
    let values = values.withLock { $0 }
    return values.shown.flatMap { Self.samples($0, values.now) } + [
      MetricSample(SchedulerMetrics.campaignsUnlisted, values.unlisted)
    ]
  }

  private static func samples(_ campaign: CampaignRecord, _ now: Int64) -> [MetricSample] {
    let progress = campaign.progress
    let labels = [campaign.name, campaign.key.app, "\(campaign.key.environment)"]
    let rates = campaign.currentRates(now: now)
    var samples = [
      MetricSample(
        SchedulerMetrics.campaignState,
        labels + [progress.state.rawValue, String((progress.reason ?? "").prefix(longestReason))],
        1),
      MetricSample(SchedulerMetrics.campaignAddressed, labels, progress.addressed),
      MetricSample(
        SchedulerMetrics.campaignRate, labels + ["addressed"], thousandths(rates.addressed)),
      MetricSample(
        SchedulerMetrics.campaignRate, labels + ["outcomes"], thousandths(rates.outcomes)),
    ]
    if let total = progress.total {
      samples.append(MetricSample(SchedulerMetrics.campaignAudience, labels, total))
    }
    if let left = campaign.secondsLeft(now: now) {
      samples.append(MetricSample(SchedulerMetrics.campaignLeft, labels, left))
    }
    return samples
      + campaign.outcomes.named.map {
        MetricSample(SchedulerMetrics.campaignOutcomes, labels + [$0.name], $0.count)
      }
  }

  private static func thousandths(_ rate: Double) -> MetricValue {
    .thousandths(Int((min(rate, 1e12) * 1_000).rounded()))
  }
}
