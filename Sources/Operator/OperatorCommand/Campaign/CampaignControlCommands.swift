// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings

/// `martlet campaign cancel NAME`: ends a campaign.
enum CampaignCancelCommand: Command {
  static let name = "campaign cancel"
  static let summary =
    "Ends a campaign: it addresses no further devices, and what senders have not sent yet ends as cancelled. Says how far"
    + " the campaign is then. --by ends all campaigns that an API key or a person has started, of --app and --environment"
    + " if they are given."
  private static let by = SettingKey<String?>.text(
    "by", placeholder: "WHO",
    "In place of NAME: all campaigns that this has started, the name of an API key or what martlet campaign list NAME has"
      + " as by.")
  static let table = SettingTable(
    [
      CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting, CampaignName.app.setting,
      CampaignName.environment.setting, CommandSettings.scheduleIfAny.setting, by.setting,
    ], kafkaProperties: true, operands: .init("NAME", 0...1, "The campaign's name."))

  static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    let by = values[by]
    guard (by == nil) != values.operands.isEmpty else {
      throw SettingErrors(
        "by", "name a campaign, or with --by who has started those that are meant, and not both")
    }
    var name: CampaignName?
    if let word = values.operands.first {
      name = try CampaignName(
        word, app: values[CampaignName.app], environment: values[CampaignName.environment])
    }
    return CampaignTarget(
      topic: try ControlTopic(values, clientID: "martlet-campaign"), name: name, by: by,
      app: values[CampaignName.app],
      environment: values[CampaignName.environment].flatMap { Environment($0) },
      database: values[CommandSettings.scheduleIfAny])
  }

  static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.ask(.cancelled, context)
  }
}

/// The campaigns that a command names, and the topic for operators' requests about them.
struct CampaignTarget: Sendable {
  /// The time to wait for the scheduler, in milliseconds.
  private static let patience = 10_000

  let topic: ControlTopic
  /// The name; nil for all campaigns that `by` has started.
  let name: CampaignName?
  var by: String?
  /// Those of `by` that are not of this app are not meant.
  var app: String?
  /// Those of `by` that are not of this environment are not meant.
  var environment: Environment?
  let database: String?

  /// Requests a change of the campaigns, and prints their state once the scheduler has recorded it.
  func ask(
    _ request: CampaignChange, reason: String? = nil, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try topic.cluster(context)
    let lookup = try CampaignLookup(database: database, topic.names.schedule, cluster, context)
    guard let name else { return try askAll(request, lookup, cluster, context) }
    let campaign = try name.one(of: lookup.campaigns(named: name.name).map { ($0.key, $0) })
    let state = campaign.progress.state
    if request == .cancelled, state == .cancelled {
      StandardOutput.line("\(Self.text(campaign)): it is cancelled already")
      return
    }
    guard campaign.isUnderWay(now: WallClock.milliseconds()) else {
      throw ServiceFailure(
        "campaign \(campaign.name) is over: it is \(state.rawValue); nothing was changed")
    }
    try write(request, campaign, reason, cluster, context)
    try tell(request, campaign.key, lookup)
  }

  private func askAll(
    _ request: CampaignChange, _ lookup: CampaignLookup, _ cluster: KafkaCluster,
    _ context: ServiceContext
  ) throws(ServiceFailure) {
    guard let by else { return }
    let meant = started(by: by, among: try lookup.campaigns(), now: WallClock.milliseconds())
    guard !meant.isEmpty else {
      let owner = [app, environment?.description].compactMap(\.self).joined(separator: ", ")
      throw ServiceFailure(
        "no campaign\(owner.isEmpty ? "" : " of \(owner)") that \(by) has started is under way")
    }
    for campaign in meant { try write(request, campaign, nil, cluster, context) }
    for campaign in meant { try tell(request, campaign.key, lookup) }
  }

  /// Those of these campaigns that `by` has started, of the app and environment that are meant, and that are under way;
  /// in the order of their keys.
  func started(by: String, among campaigns: [CampaignRecord], now: Int64) -> [CampaignRecord] {
    campaigns.filter { campaign in
      let (starter, key) = (campaign.by.utf8, campaign.key)
      guard starter.elementsEqual(by.utf8) || starter.elementsEqual("key \(by)".utf8),
        key.app == app ?? key.app, key.environment == environment ?? key.environment
      else { return false }
      return campaign.isUnderWay(now: now)
    }
    .sorted { $0.key.description < $1.key.description }
  }

  private func tell(
    _ request: CampaignChange, _ key: CampaignKey, _ lookup: CampaignLookup
  ) throws(ServiceFailure) {
    let noted = try lookup.wait(
      for: key, withinMilliseconds: Self.patience,
      done: "it is written that campaign \(key.name) is \(request.rawValue)"
    ) {
      request.isNoted(in: $0.progress)
    }
    guard let noted else {
      throw ServiceFailure(
        "it is written, and senders follow it, but martlet-scheduler has not noted it within \(Self.patience / 1_000)s;"
          + " martlet campaign list tells when it has")
    }
    let isOver = noted.progress.state.isOver && request != .cancelled
    StandardOutput.line("\(isOver ? "" : "\(request.rawValue) ")\(Self.text(noted))")
  }

  /// A line such as `sale: running, 120 of 500 devices addressed, 60 of them without an outcome`.
  private static func text(_ campaign: CampaignRecord) -> String {
    let progress = campaign.progress
    let total = progress.total.map { " of \($0)" } ?? ""
    return
      "\(campaign.name): \(progress.state.rawValue), \(progress.addressed)\(total) devices addressed,"
      + " \(campaign.unsent) of them without an outcome"
  }

  /// Writes the request, its author and time; a tombstone withdraws it.
  private func write(
    _ request: CampaignChange, _ campaign: CampaignRecord, _ reason: String?,
    _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let author = campaign.author(
      now: WallClock.milliseconds(), by: Audit.actor, reason: reason)
    let value = ControlRecord.value(.init(key: request.rawValue, value: .bool(true)), by: author)
    let key = "\(campaign.key)"
    try topic.write(key, request == .resumed ? nil : value, cluster)
    Audit.note(request.deed, key, context)
  }
}

extension CampaignChange {
  /// The name of the action in the audit log.
  fileprivate var deed: String {
    switch self {
    case .paused: "campaign pause"
    case .resumed: "campaign resume"
    case .cancelled: "campaign cancel"
    }
  }
}
