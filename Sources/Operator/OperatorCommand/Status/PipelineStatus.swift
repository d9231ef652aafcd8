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
  let requestsPerSecond: Double
  /// Requests per second that ingest or the HTTP API refused.
  let refusedPerSecond: Double
  /// Requests that ingest has not finished: those waiting in Kafka and those that it has read.
  let openRequests: Double
  /// The age of the oldest unfinished request that ingest has read, in seconds.
  let oldestRequest: Double
  /// Device tokens of requests per second, by ingest's result.
  let ingestedPerSecond: [Count]
  /// Device tokens of requests by ingest's result, since the processes started.
  let ingested: [Count]
  /// Finished notifications per second by outcome.
  let outcomesPerSecond: [Count]
  /// Finished notifications by outcome, since the processes started.
  let outcomes: [Count]
  /// Responses of APNs other than 200 by reason, since the processes started.
  let reasons: [Count]
  let retriesPerSecond: [Count]
  let inFlight: Double
  let waiting: Double
  /// The age of the oldest unfinished notification of each lane, in seconds.
  let backlogSeconds: [Count]
  /// The lanes in order, most urgent first.
  let lanes: [String]
  /// Records beyond the committed offsets of the groups (the lag), by topic.
  let unread: [Count]
  /// Connections to APNs by state.
  let connections: [Count]
  /// Destinations by state; all but `working` are blocked.
  let destinations: [Count]
  let blockages: [Blockage]
  /// Blocked destinations by state that no blockage names.
  let unnamedBlocked: [Count]
  /// The longest time that a destination has been blocked, in seconds.
  let blockedSeconds: Double
  /// Seconds since APNs last accepted a push; nil if no sender reports it.
  let lastAccepted: Double?
  /// The time from creation to APNs' response, in seconds, for recently delivered pushes; nil if there were none.
  let delivery: (median: Double, p99: Double)?
  /// The same since the processes started.
  let deliverySinceStart: (median: Double, p99: Double)?
  /// The 90th percentile of APNs' response times between the readings, in seconds; nil if there were none.
  let slowestAnswers: Double?
  /// The time by which a sender's clock is ahead of a signer's, in seconds.
  let clockDifference: Double
  let credentialsWithoutToken: Double
  /// The age of the oldest provider token in use, in seconds; nil if there is none.
  let oldestToken: Double?
  /// Seconds until the first client certificate expires; nil if there is none.
  let nextCertificate: Double?
  /// Records that retention deleted before they were read.
  let lost: Double
  /// Producers whose records Kafka does not accept.
  let producersRefused: Double
  /// The time that another producer's open transaction has held back consumers, in seconds.
  let heldByTransaction: Double
  /// The age of the oldest unfinished record that feedback has read, in seconds.
  let oldestFeedback: Double
  /// Invalid device tokens in the database; nil without feedback.
  let invalidTokens: Double?
  /// Processes whose database accepts no transactions.
  let databaseFailing: Double
  /// Changed files that were refused, each with the app that it would remove, if any.
  let refusedReloads: [String]
  /// Whether an intermediary responds instead of APNs: now, or earlier if no response has come through since.
  let hasForeignAnswers: Bool
  /// The age of the oldest event that each webhook's endpoint has not accepted, in seconds.
  let webhooks: [Count]
  let canaries: [Canary]
  /// Apps and lanes that an operator has paused, by kind.
  let paused: [Count]
  /// The number of paces that operators have set.
  let paces: Double
  /// The number of scheduled requests, and how long the oldest one that should have been sent is overdue, in seconds;
  /// nil without a scheduler.
  let scheduled: (count: Double, late: Double)?
  /// Campaigns that are active, or ended within the last hour.
  let campaigns: [CampaignStatus]
  /// The number of campaigns that the pages omit.
  let unlistedCampaigns: Double

  /// Whether every process is ready.
  var isReady: Bool { processes.allSatisfy { $0.state == .ready } }

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
    let all = Sums(pages)
    self.wall = wall
    requestsPerSecond = growth.perSecond("martlet_ingest_requests_total")
    refusedPerSecond = growth.refused
    (openRequests, oldestRequest) = all.openRequests
    (ingested, ingestedPerSecond) = growth.outcomes("martlet_ingest_tokens_total", all)
    (outcomes, outcomesPerSecond) = growth.outcomes("martlet_sender_notifications_total", all)
    reasons = all.by("reason", of: "martlet_sender_error_responses_total")
      .sorted { ($1.value, $0.name) < ($0.value, $1.name) }
    let retries = "martlet_sender_retries_total"
    retriesPerSecond = all.by("cause", of: retries).map {
      Count(name: $0.name, value: growth.perSecond(retries, ["cause": $0.name]))
    }
    inFlight = all.sum("martlet_sender_notifications_in_flight")
    waiting = all.sum("martlet_sender_notifications_waiting")
    backlogSeconds = all.highest("lane", of: "martlet_sender_backlog_seconds")
    lanes = all.lanes
    unread = all.unread
    connections = all.by("state", of: "martlet_sender_connections")
    destinations = all.by("state", of: "martlet_sender_destinations")
    blockages = Blockage.all(in: pages)
    let named = Blockage.states(in: pages).union([Self.working])
    unnamedBlocked = destinations.filter { !named.contains($0.name) }
    blockedSeconds = max(
      all.highest("martlet_sender_destination_blocked_seconds"),
      blockages.map(\.seconds).max() ?? 0)
    lastAccepted = pages.flatMap { $0.values("martlet_sender_last_accepted_seconds") }
      .map(\.value).min()
    let recent = lately ?? before
    delivery = recent.isEmpty ? nil : Growth(now, recent, seconds).delivery
    deliverySinceStart = Growth(now, [], seconds).delivery
    slowestAnswers =
      before.isEmpty ? nil : growth.quantile(0.9, of: "martlet_sender_request_seconds_bucket")
    clockDifference =
      all.highest("", of: "martlet_signer_clock_difference_seconds").first?.value ?? 0
    credentialsWithoutToken = all.sum("martlet_sender_credentials_without_token")
    (oldestToken, nextCertificate) = all.ends(wall: wall)
    lost = all.sum("martlet_kafka_records_lost_total")
    producersRefused = all.sum("martlet_kafka_producers_refused")
    heldByTransaction = all.highest("martlet_kafka_group_held_by_transaction_seconds")
    oldestFeedback = all.highest("martlet_feedback_backlog_seconds")
    invalidTokens = all.invalidTokens
    databaseFailing = all.sum("martlet_feedback_database_failing")
    refusedReloads = all.refusedReloads
    let foreign = "martlet_sender_foreign_answers_total"
    hasForeignAnswers =
      growth.perSecond(foreign) > 0
      || all.sum(foreign) > 0 && destinations.contains { $0.name == "gateway" }
    webhooks = all.highest("endpoint", of: "martlet_webhooks_oldest_event_seconds")
    canaries = all.canaries(wall: wall)
    paces = all.highest("martlet_sender_paces")
    scheduled = all.scheduled
    campaigns = CampaignStatus.all(in: pages)
    unlistedCampaigns = all.sum("martlet_scheduler_campaigns_unlisted")
    paused = all.highest("kind", of: "martlet_sender_paused").filter { $0.value > 0 }
  }
}

/// Sums over the processes.
private struct Sums {
  let pages: [MetricPage]

  init(_ pages: [MetricPage]) { self.pages = pages }

  func sum(_ name: String) -> Double { pages.reduce(0) { $0 + $1.sum(name) } }

  /// The requests that ingest has not finished. Those that it has read are beyond its committed offsets and part of its
  /// lag, but the lag is queried every 10 s only.
  var openRequests: (count: Double, oldest: Double) {
    let lag = pages.filter { !$0.values("martlet_ingest_requests_total").isEmpty }
      .reduce(0) { $0 + $1.sum("martlet_kafka_group_lag_records") }
    let oldest = pages.flatMap { $0.values("martlet_ingest_backlog_seconds") }.map(\.value).max()
    return (max(lag, sum("martlet_ingest_requests_in_flight")), oldest ?? 0)
  }

  /// The age of the oldest provider token and the time until the first certificate expires, in seconds.
  func ends(wall: Double) -> (oldestToken: Double?, nextCertificate: Double?) {
    let issued = lowest("martlet_sender_provider_token_issued_timestamp_seconds")
    let end = lowest("martlet_sender_certificate_not_after_timestamp_seconds")
    return (issued.map { wall - $0 }, end.map { $0 - wall })
  }

  /// The number of scheduled requests and how long the oldest is overdue; nil without a scheduler.
  var scheduled: (count: Double, late: Double)? {
    guard pages.contains(where: { !$0.values("martlet_scheduler_entries").isEmpty }) else {
      return nil
    }
    return (sum("martlet_scheduler_entries"), highest("martlet_scheduler_late_seconds"))
  }

  /// All processes with a database have the same rows.
  var invalidTokens: Double? {
    pages.flatMap { $0.values("martlet_feedback_devices", ["state": "invalid"]) }.map(\.value).max()
  }

  /// The senders' pages list the lanes in order, followed by the retry topics.
  var lanes: [String] {
    pages.flatMap { $0.values("martlet_sender_backlog_seconds") }
      .compactMap { $0.labels["lane"] }
      .reduce(into: []) { if $1 != "retries", !$0.contains($1) { $0.append($1) } }
  }

  /// Counts by a label's values, in their order, without zeros.
  func by(_ label: String, of name: String) -> [PipelineStatus.Count] {
    fold(label, name, +).filter { $0.value != 0 }
  }

  func highest(_ label: String, of name: String) -> [PipelineStatus.Count] {
    fold(label, name, max)
  }

  func highest(_ name: String) -> Double {
    pages.flatMap { $0.values(name) }.map(\.value).max() ?? 0
  }

  /// Unread records by topic; if several groups read a topic, those of the group that is furthest behind.
  var unread: [PipelineStatus.Count] {
    var groups: [String: [String: Double]] = [:]
    for series in pages.flatMap({ $0.values("martlet_kafka_group_lag_records") }) {
      let (topic, group) = (series.labels["topic"] ?? "", series.labels["group"] ?? "")
      groups[topic, default: [:]][group, default: 0] += series.value
    }
    return groups.map { .init(name: $0.key, value: $0.value.values.max() ?? 0) }
      .filter { $0.value > 0 }.sorted { $0.name < $1.name }
  }

  var refusedReloads: [String] {
    let names = ["martlet_signer_reload_refused", "martlet_sender_reload_refused"]
    let refused = names.flatMap { name in pages.flatMap { $0.values(name) } }
      .filter { $0.value > 0 }
    let texts = refused.map { series in
      let app = series.labels["app"] ?? ""
      return (series.labels["file"] ?? "") + (app.isEmpty ? "" : " (takes away app \(app))")
    }
    return Set(texts).sorted()
  }

  /// The canaries in the order of the pages.
  func canaries(wall: Double) -> [PipelineStatus.Canary] {
    pages.flatMap { page in
      page.values("martlet_canary_success").map { series in
        let last = page.values("martlet_canary_last_success_timestamp_seconds", series.labels).first
        let name = ["app", "environment", "target"].compactMap { series.labels[$0] }
        return PipelineStatus.Canary(
          name: name.joined(separator: " "), isWell: series.value == 1,
          lastSuccess: last.map { wall - $0.value })
      }
    }
  }

  func lowest(_ name: String) -> Double? {
    pages.flatMap { $0.values(name) }.map(\.value).filter { $0 > 0 }.min()
  }

  private func fold(
    _ label: String, _ name: String, _ join: (Double, Double) -> Double
  ) -> [PipelineStatus.Count] {
    var values: [String: Double] = [:]
    for series in pages.flatMap({ $0.values(name) }) {
      let key = series.labels[label] ?? ""
      values[key] = values[key].map { join($0, series.value) } ?? series.value
    }
    return values.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
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

  /// The growth per second over all processes.
  func perSecond(_ name: String, _ labels: [String: String] = [:]) -> Double {
    now.indices.reduce(0) { $0 + (perSecond(name, labels, of: $1) ?? 0) }
  }

  /// Requests per second that ingest or the HTTP API refused.
  var refused: Double {
    perSecond("martlet_ingest_requests_rejected_total")
      + perSecond("martlet_api_notification_requests_total", ["verdict": "refused"])
  }

  /// The growth per second of one process; nil if it was not read before.
  func perSecond(_ name: String, _ labels: [String: String] = [:], of index: Int) -> Double? {
    guard let page = now[index].page, let old = before[now[index].process] else { return nil }
    return Self.growth(page.sum(name, labels), since: old.sum(name, labels)) / seconds
  }

  /// The outcomes of a counter: in total, and per second.
  func outcomes(
    _ name: String, _ all: Sums
  ) -> (total: [PipelineStatus.Count], perSecond: [PipelineStatus.Count]) {
    let total = all.by("outcome", of: name)
    return (
      total, total.map { .init(name: $0.name, value: perSecond(name, ["outcome": $0.name])) }
    )
  }

  private static func growth(_ value: Double, since old: Double) -> Double {
    value >= old ? value - old : value
  }

  /// The median and 99th percentile of deliveries.
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
        guard let text = series.labels["le"],
          let bound = text == "+Inf" ? .infinity : Double(text)
        else { continue }
        let old = before[reading.process]?.values(name, series.labels).first?.value ?? 0
        buckets.append((bound, Self.growth(series.value, since: old)))
      }
    }
    return MetricQuantile.seconds(share, buckets)
  }
}
