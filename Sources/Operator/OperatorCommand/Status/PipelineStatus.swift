// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// The state of a pipeline, computed from two readings of its processes' pages.
struct PipelineStatus: Sendable {
  struct Process: Sendable {
    let name: String
    let state: ProcessReading.State
    /// The share of a core; nil on the first reading.
    let core: Double?
    let residentBytes: Double
  }

  /// A labelled number in a table.
  struct Count: Sendable, Equatable {
    let name: String
    let value: Double
  }

  /// The state of a canary of `martlet canary`.
  struct Canary: Sendable, Equatable {
    /// The app, environment and start of the target.
    let name: String
    /// Whether its last push was delivered.
    let isWell: Bool
    /// Seconds since the last delivery; nil if there was none.
    let lastSuccess: Double?
  }

  /// The state of a destination that is not blocked.
  static let working = "working"

  let processes: [Process]
  /// The current time in seconds since the epoch.
  let wall: Double
  let blockages: [Blockage]
  /// The time from creation to APNs' response, in seconds, for recently delivered pushes; nil if there were none.
  let delivery: (median: Double, p99: Double)?
  /// The same since the processes started.
  let deliverySinceStart: (median: Double, p99: Double)?
  /// The 90th percentile of APNs' response times between the readings, in seconds; nil if there were none.
  let slowestAnswers: Double?
  /// Campaigns that are active, or ended within the last hour.
  let campaigns: [CampaignStatus]
  private let pages: [MetricPage]
  private let growth: Growth

  /// - Parameters:
  ///   - before: The same processes some seconds ago; those not read then have no rates.
  ///   - lately: The same processes at most a minute ago, the start of the recent interval. nil: `before`.
  ///   - seconds: The time between the readings.
  ///   - wall: The current time in seconds since the epoch.
  init(
    _ now: [ProcessReading], before: [ProcessReading], lately: [ProcessReading]? = nil,
    seconds: Double, wall: Double
  ) {
    let growth = Growth(now, before, seconds)
    processes = now.enumerated().map { index, reading in
      Process(
        name: reading.process, state: reading.state,
        core: growth.perSecond("process_cpu_seconds_total", of: index),
        residentBytes: reading.page?.sum("process_resident_memory_bytes") ?? 0)
    }
    let pages = now.compactMap(\.page)
    (self.wall, self.pages, self.growth) = (wall, pages, growth)
    blockages = Blockage.all(in: pages)
    campaigns = CampaignStatus.all(in: pages)
    let recent = lately ?? before
    delivery = recent.isEmpty ? nil : Growth(now, recent, seconds).delivery
    deliverySinceStart = Growth(now, [], seconds).delivery
    slowestAnswers =
      before.isEmpty ? nil : growth.quantile(0.9, of: "martlet_sender_request_seconds_bucket")
  }

  var isReady: Bool { processes.allSatisfy { $0.state == .ready } }
  var requestsPerSecond: Double { growth.perSecond("martlet_ingest_requests_total") }
  /// Requests per second that ingest or the HTTP API refused.
  var refusedPerSecond: Double {
    growth.perSecond("martlet_ingest_requests_rejected_total")
      + growth.perSecond("martlet_api_notification_requests_total", ["verdict": "refused"])
  }
  /// Requests that ingest has not finished: those waiting in Kafka and those that it has read. The latter are beyond its
  /// committed offsets and part of its lag, but the lag is queried every 10 s only.
  var openRequests: Double {
    let lag = pages.filter { !$0.values("martlet_ingest_requests_total").isEmpty }
      .reduce(0) { $0 + $1.sum("martlet_kafka_group_lag_records") }
    return max(lag, sum("martlet_ingest_requests_in_flight"))
  }
  /// The age of the oldest unfinished request that ingest has read, in seconds.
  var oldestRequest: Double { highest("martlet_ingest_backlog_seconds") }
  /// Device tokens of requests per second, by ingest's result.
  var ingestedPerSecond: [Count] { perSecond(ingested, "martlet_ingest_tokens_total", "outcome") }
  /// Device tokens of requests by ingest's result, since the processes started.
  var ingested: [Count] { by("outcome", of: "martlet_ingest_tokens_total") }
  var outcomesPerSecond: [Count] {
    perSecond(outcomes, "martlet_sender_notifications_total", "outcome")
  }
  /// Finished notifications by outcome, since the processes started.
  var outcomes: [Count] { by("outcome", of: "martlet_sender_notifications_total") }
  /// Responses of APNs other than 200 by reason, since the processes started.
  var reasons: [Count] {
    by("reason", of: "martlet_sender_error_responses_total")
      .sorted { ($1.value, $0.name) < ($0.value, $1.name) }
  }
  var retriesPerSecond: [Count] {
    let retries = "martlet_sender_retries_total"
    return perSecond(by("cause", of: retries), retries, "cause")
  }
  var inFlight: Double { sum("martlet_sender_notifications_in_flight") }
  var waiting: Double { sum("martlet_sender_notifications_waiting") }
  /// The age of the oldest unfinished notification of each lane, in seconds.
  var backlogSeconds: [Count] { highest("lane", of: "martlet_sender_backlog_seconds") }
  /// The lanes in order, most urgent first: the senders' pages list them so, followed by the retry topics.
  var lanes: [String] {
    values("martlet_sender_backlog_seconds").compactMap { $0.labels["lane"] }
      .reduce(into: []) { if $1 != "retries", !$0.contains($1) { $0.append($1) } }
  }
  /// Records beyond the committed offsets of the groups (the lag), by topic; if several groups read a topic, those of the
  /// group that is furthest behind.
  var unread: [Count] {
    var groups: [String: [String: Double]] = [:]
    for series in values("martlet_kafka_group_lag_records") {
      let (topic, group) = (series.labels["topic"] ?? "", series.labels["group"] ?? "")
      groups[topic, default: [:]][group, default: 0] += series.value
    }
    return groups.map { Count(name: $0.key, value: $0.value.values.max() ?? 0) }
      .filter { $0.value > 0 }.sorted { $0.name < $1.name }
  }
  var connections: [Count] { by("state", of: "martlet_sender_connections") }
  /// Destinations by state; all but `working` are blocked.
  var destinations: [Count] { by("state", of: "martlet_sender_destinations") }
  /// Blocked destinations by state that no blockage names.
  var unnamedBlocked: [Count] {
    let named = Blockage.states(in: pages).union([Self.working])
    return destinations.filter { !named.contains($0.name) }
  }
  /// The longest time that a destination has been blocked, in seconds.
  var blockedSeconds: Double {
    max(highest("martlet_sender_destination_blocked_seconds"), blockages.map(\.seconds).max() ?? 0)
  }
  /// Seconds since APNs last accepted a push; nil if no sender reports it.
  var lastAccepted: Double? { values("martlet_sender_last_accepted_seconds").map(\.value).min() }
  /// The time by which a sender's clock is ahead of a signer's, in seconds.
  var clockDifference: Double {
    highest("", of: "martlet_signer_clock_difference_seconds").first?.value ?? 0
  }
  var credentialsWithoutToken: Double { sum("martlet_sender_credentials_without_token") }
  /// The age of the oldest provider token in use, in seconds; nil if there is none.
  var oldestToken: Double? {
    lowest("martlet_sender_provider_token_issued_timestamp_seconds").map { wall - $0 }
  }
  /// Seconds until the first client certificate expires; nil if there is none.
  var nextCertificate: Double? {
    lowest("martlet_sender_certificate_not_after_timestamp_seconds").map { $0 - wall }
  }
  /// Records that retention deleted before they were read.
  var lost: Double { sum("martlet_kafka_records_lost_total") }
  var producersRefused: Double { sum("martlet_kafka_producers_refused") }
  /// The time that another producer's open transaction has held back consumers, in seconds.
  var heldByTransaction: Double { highest("martlet_kafka_group_held_by_transaction_seconds") }
  /// The age of the oldest unfinished record that feedback has read, in seconds.
  var oldestFeedback: Double { highest("martlet_feedback_backlog_seconds") }
  /// Invalid device tokens in the database, of which all processes with one have the same rows; nil without feedback.
  var invalidTokens: Double? {
    values("martlet_feedback_devices", ["state": "invalid"]).map(\.value).max()
  }
  var databaseFailing: Double { sum("martlet_feedback_database_failing") }
  /// Changed files that were refused, each with the app that it would remove, if any.
  var refusedReloads: [String] {
    let names = [
      "martlet_signer_reload_refused", "martlet_sender_reload_refused",
      "martlet_api_reload_refused",
    ]
    let texts = names.flatMap { values($0) }.filter { $0.value > 0 }.map { series in
      let app = series.labels["app"] ?? ""
      return (series.labels["file"] ?? "") + (app.isEmpty ? "" : " (takes away app \(app))")
    }
    return Set(texts).sorted()
  }
  /// Whether an intermediary responds instead of APNs: now, or earlier if no response has come through since.
  var hasForeignAnswers: Bool {
    let foreign = "martlet_sender_foreign_answers_total"
    return growth.perSecond(foreign) > 0
      || sum(foreign) > 0 && destinations.contains { $0.name == "gateway" }
  }
  /// The age of the oldest event that each webhook's endpoint has not accepted, in seconds.
  var webhooks: [Count] { highest("endpoint", of: "martlet_webhooks_oldest_event_seconds") }
  var canaries: [Canary] {
    pages.flatMap { page in
      page.values("martlet_canary_success").map { series in
        let last = page.values("martlet_canary_last_success_timestamp_seconds", series.labels).first
        let name = ["app", "environment", "target"].compactMap { series.labels[$0] }
        return Canary(
          name: name.joined(separator: " "), isWell: series.value == 1,
          lastSuccess: last.map { wall - $0.value })
      }
    }
  }
  /// Apps and lanes that an operator has paused, by kind.
  var paused: [Count] {
    highest("kind", of: "martlet_sender_paused").filter { $0.value > 0 }
  }
  var paces: Double { highest("martlet_sender_paces") }
  /// The number of scheduled requests, and how long the oldest one that should have been sent is overdue, in seconds;
  /// nil without a scheduler.
  var scheduled: (count: Double, late: Double)? {
    let entries = values("martlet_scheduler_entries")
    guard !entries.isEmpty else { return nil }
    return (sum("martlet_scheduler_entries"), highest("martlet_scheduler_late_seconds"))
  }
  /// The number of campaigns that the pages omit.
  var unlistedCampaigns: Double { sum("martlet_scheduler_campaigns_unlisted") }

  private func values(_ name: String, _ labels: [String: String] = [:]) -> [MetricPage.Series] {
    pages.flatMap { $0.values(name, labels) }
  }

  private func sum(_ name: String) -> Double { pages.reduce(0) { $0 + $1.sum(name) } }

  private func highest(_ name: String) -> Double { values(name).map(\.value).max() ?? 0 }

  private func lowest(_ name: String) -> Double? {
    values(name).map(\.value).filter { $0 > 0 }.min()
  }

  /// Counts by a label's values, in their order, without zeros.
  private func by(_ label: String, of name: String) -> [Count] {
    fold(label, name, +).filter { $0.value != 0 }
  }

  private func highest(_ label: String, of name: String) -> [Count] { fold(label, name, max) }

  private func fold(
    _ label: String, _ name: String, _ join: (Double, Double) -> Double
  ) -> [Count] {
    var found: [String: Double] = [:]
    for series in values(name) {
      let key = series.labels[label] ?? ""
      found[key] = found[key].map { join($0, series.value) } ?? series.value
    }
    return found.sorted { $0.key < $1.key }.map { Count(name: $0.key, value: $0.value) }
  }

  /// The growth per second of each of a counter's values of a label.
  private func perSecond(_ counts: [Count], _ name: String, _ label: String) -> [Count] {
    counts.map { Count(name: $0.name, value: growth.perSecond(name, [label: $0.name])) }
  }
}

/// The growth between two readings. A restarted process counts from 0 again.
private struct Growth {
  private let now: [ProcessReading]
  private let before: [String: MetricPage]
  private let seconds: Double

  init(_ now: [ProcessReading], _ before: [ProcessReading], _ seconds: Double) {
    self.now = now
    self.seconds = max(seconds, 0.001)
    self.before = before.reduce(into: [:]) { $0[$1.process] = $1.page }
  }

  func perSecond(_ name: String, _ labels: [String: String] = [:]) -> Double {
    now.indices.reduce(0) { $0 + (perSecond(name, labels, of: $1) ?? 0) }
  }

  /// The growth per second of one process; nil if it was not read before.
  func perSecond(_ name: String, _ labels: [String: String] = [:], of index: Int) -> Double? {
    guard let page = now[index].page, let old = before[now[index].process] else { return nil }
    return Self.growth(page.sum(name, labels), since: old.sum(name, labels)) / seconds
  }

  private static func growth(_ value: Double, since old: Double) -> Double {
    value >= old ? value - old : value
  }

  var delivery: (median: Double, p99: Double)? {
    let name = "martlet_sender_delivery_seconds_bucket"
    guard let median = quantile(0.5, of: name), let p99 = quantile(0.99, of: name) else {
      return nil
    }
    return (median, p99)
  }

  /// A quantile of a histogram's growth between the readings, in seconds; nil if there was none.
  func quantile(_ share: Double, of name: String) -> Double? {
    var buckets: [(bound: Double, count: Double)] = []
    for reading in now {
      for series in reading.page?.values(name) ?? [] {
        guard let text = series.labels["le"], let bound = text == "+Inf" ? .infinity : Double(text)
        else { continue }
        let old = before[reading.process]?.values(name, series.labels).first?.value ?? 0
        buckets.append((bound, Self.growth(series.value, since: old)))
      }
    }
    return MetricQuantile.seconds(share, buckets)
  }
}
