// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Telemetry

struct CampaignStatus: Sendable, Equatable {
  let name: String
  var app = ""
  var environment = ""
  let state: String
  var isPaused = false
  /// A note for its author, or what it waits for.
  var note = ""
  /// The reason why it stopped, who cancelled it, or why it is done without some of its devices; else empty.
  var reason = ""
  var addressed = 0.0
  /// The number of devices in the audience; nil before it is counted.
  var total: Double?
  var outcomes: [PipelineStatus.Count] = []
  /// The number of devices per second that get an outcome or, before the first one, are addressed.
  var perSecond = 0.0
  var secondsLeft: Double?

  /// The number of devices with an outcome; repeated notifications are not counted twice.
  var ended: Double { outcomes.reduce(0) { $1.name == "deduplicated" ? $0 : $0 + $1.value } }

  /// The percentage of outcomes that are rejections; nil without outcomes.
  var rejectedPercent: Double? {
    guard ended > 0 else { return nil }
    return 100 * (outcomes.first { $0.name == "rejected" }?.value ?? 0) / ended
  }
}

extension CampaignStatus {
  /// Creates the status of a campaign in the scheduler's database.
  ///
  /// - Parameter now: Milliseconds since the epoch.
  init(_ campaign: CampaignRecord, now: Int64) {
    let (progress, rates) = (campaign.progress, campaign.currentRates(now: now))
    self.init(
      name: campaign.name, app: campaign.key.app, environment: "\(campaign.key.environment)",
      state: progress.state.rawValue, isPaused: progress.isPaused, note: progress.note ?? "",
      reason: progress.reason ?? "",
      addressed: Double(progress.addressed), total: progress.total.map(Double.init),
      outcomes: campaign.outcomes.named.map { .init(name: $0.name, value: Double($0.count)) },
      perSecond: rates.outcomes > 0 ? rates.outcomes : rates.addressed,
      secondsLeft: campaign.secondsLeft(now: now).map(Double.init))
  }

  /// The campaigns on the schedulers' pages, in order; if two pages briefly have the same one, the first wins.
  static func all(in pages: [MetricPage]) -> [CampaignStatus] {
    var keys: Set<[ExactText]> = []
    return pages.flatMap { page in
      page.values("martlet_scheduler_campaign_state").compactMap { series in
        let own = series.labels.filter { ["campaign", "app", "environment"].contains($0.key) }
        guard let name = own["campaign"],
          keys.insert([name, own["app"] ?? "", own["environment"] ?? ""].map(\.exact)).inserted
        else { return nil }
        return CampaignStatus(
          own, series.labels["state"] ?? "", series.labels["reason"] ?? "", on: page)
      }
    }
  }

  /// - Parameter own: The labels that identify the campaign.
  private init(_ own: [String: String], _ state: String, _ reason: String, on page: MetricPage) {
    func value(_ metric: String, _ more: [String: String] = [:]) -> Double? {
      page.values(metric, more.merging(own) { first, _ in first }).first?.value
    }
    let rate = "martlet_scheduler_campaign_rate"
    let outcomes = value(rate, ["of": "outcomes"]) ?? 0
    self.init(
      name: own["campaign"] ?? "", app: own["app"] ?? "", environment: own["environment"] ?? "",
      state: state, reason: reason,
      addressed: value("martlet_scheduler_campaign_addressed") ?? 0,
      total: value("martlet_scheduler_campaign_audience"),
      outcomes: page.values("martlet_scheduler_campaign_outcomes", own)
        .map { .init(name: $0.labels["outcome"] ?? "", value: $0.value) },
      perSecond: outcomes > 0 ? outcomes : value(rate, ["of": "addressed"]) ?? 0,
      secondsLeft: value("martlet_scheduler_campaign_left_seconds"))
  }
}

extension CampaignStatus {
  /// Those of these campaigns whose names others of them have, too: their lines say whose they are.
  static func namesakes(in all: some Collection<CampaignStatus>) -> Set<ExactText> {
    var seen: Set<ExactText> = []
    return Set(all.map { $0.name.exact }.filter { !seen.insert($0).inserted })
  }

  /// A line such as `spring-sale  running  120000 of 500000 (24 %)  900/s, 7 min left  delivered 118000, rejected 12`.
  ///
  /// - Parameters:
  ///   - start: The start time of a campaign that has not begun.
  ///   - namesakes: The names with which a line says whose campaign it is.
  func line(start: String? = nil, namesakes: Set<ExactText>) -> String {
    let owner = namesakes.contains(name.exact) ? " (\(app) \(environment))" : ""
    var parts = [name + owner, state + (isPaused ? " (paused)" : "")]
    if let start { parts.append("for \(start)") }
    if state != CampaignProgress.State.scheduled.rawValue { parts.append(progress) }
    if perSecond > 0 {
      let left = secondsLeft.map { $0 > 0 ? ", \(StatusText.duration($0)) left" : "" }
      parts.append("\(StatusText.count(perSecond))/s\(left ?? "")")
    }
    if !outcomes.isEmpty {
      parts.append(
        outcomes.map { "\($0.name) \(StatusText.count($0.value))" }.joined(separator: ", "))
    }
    if !reason.isEmpty { parts.append(reason) }
    if !note.isEmpty { parts.append("note: \(note)") }
    return TerminalText.plain(parts.joined(separator: "  "))
  }

  private var progress: String {
    guard let total, total > 0 else { return "\(StatusText.count(addressed)) addressed" }
    return "\(StatusText.count(addressed)) of \(StatusText.count(total))"
      + " (\(StatusText.count(100 * addressed / total)) %)"
  }
}
