// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import EventLoop
import JSON
import Kafka
import Records
import Schedule
public import ServiceKit
public import Settings

/// `martlet campaign pause NAME`: addresses no further devices, and holds what is not sent.
public enum CampaignPauseCommand: Service {
  public static let name = "campaign pause"
  public static let summary =
    "Has a campaign address no further devices until martlet campaign resume; what it has addressed and senders have not"
    + " sent is held, and its expirations still apply. Says how far the campaign is then."
  public static let reportsCounters = false
  public static let table = CampaignTarget.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    try CampaignTarget(values)
  }

  public static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.ask(.paused, "campaign pause", context)
  }
}

/// `martlet campaign cancel NAME`: ends a campaign.
public enum CampaignCancelCommand: Service {
  public static let name = "campaign cancel"
  public static let summary =
    "Ends a campaign: it addresses no further devices, and what senders have not sent yet ends as cancelled. Says how far"
    + " the campaign is then. --by ends all campaigns that an API key or a person has started."
  public static let reportsCounters = false
  private static let by = SettingKey<String?>.text(
    "by", placeholder: "WHO",
    "In place of NAME: all campaigns that this has started, the name of an API key or what martlet campaign show has as by."
  )
  public static let table = SettingTable(
    CampaignTarget.settings + [by.setting], kafkaProperties: true,
    operands: .init("NAME", 0...1, "The campaign's name."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    try CampaignTarget(values, by: values[by])
  }

  public static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.ask(.cancelled, "campaign cancel", context)
  }
}

/// `martlet campaign resume NAME`: goes on with a paused campaign.
public enum CampaignResumeCommand: Service {
  public static let name = "campaign resume"
  public static let summary =
    "Goes on with a campaign that martlet campaign pause has paused. Pushes that were held follow within 15 minutes."
  public static let reportsCounters = false
  public static let table = CampaignTarget.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    try CampaignTarget(values)
  }

  public static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.ask(.resumed, "campaign resume", context)
  }
}

/// The campaigns that a command names, and the topic of what operators ask of them.
public struct CampaignTarget: Sendable {
  static let settings = [
    CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting, CampaignName.app.setting,
    CampaignName.environment.setting, database.setting,
  ]
  static let table = SettingTable(
    settings, kafkaProperties: true, operands: .init("NAME", 1...1, "The campaign's name."))
  private static let database = SettingKey<String?>.path(
    "database", use: .database,
    "The database of martlet-scheduler, to look campaigns up in: a SQLite file, or a postgresql:// URL. It is only read."
      + " Without it push.schedule is read.")

  /// So long it waits for the scheduler, in milliseconds.
  private static let patience = 10_000

  let topic: ControlTopic
  /// nil: all that `by` has started.
  let name: CampaignName?
  let by: String?
  private let database: String?

  init(_ values: SettingValues, by: String? = nil) throws(SettingErrors) {
    topic = ControlTopic(
      kafka: try KafkaConfiguration(values, clientID: "martlet-campaign"),
      names: TopicNames(prefix: values[CommonSettings.topicPrefix]))
    guard (by == nil) != values.operands.isEmpty else {
      throw SettingErrors(
        "by", "name a campaign, or with --by who has started those that are meant, and not both")
    }
    var name: CampaignName?
    if let operand = values.operands.first { name = try CampaignName(operand, values) }
    (self.name, self.by, database) = (name, by, values[Self.database])
  }

  /// Asks something of the campaigns, and says how they are when the scheduler has noted it.
  func ask(
    _ request: CampaignChange, _ command: String, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try topic.cluster(context)
    defer { cluster.admin.close() }
    let lookup = try CampaignLookup(database: database, topic.names.schedule, cluster, context)
    guard let name else { return try askAll(request, command, lookup, cluster, context) }
    let campaign = try name.one(of: lookup.campaigns())
    let state = campaign.progress.state
    if request == .cancelled, state == .cancelled {
      StandardOutput.line("\(Self.text(campaign)): it is cancelled already")
      return
    }
    guard campaign.isUnderWay(now: WallClock.milliseconds()) else {
      throw ServiceFailure(
        "campaign \(campaign.name) is over: it is \(state.rawValue); nothing was changed")
    }
    try write(request, campaign.key, command, cluster, context)
    try tell(request, campaign.key, lookup)
  }

  private func askAll(
    _ request: CampaignChange, _ command: String, _ lookup: CampaignLookup,
    _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) {
    guard let by else { return }
    let now = WallClock.milliseconds()
    let meant = try lookup.campaigns().filter {
      ($0.by.utf8.elementsEqual(by.utf8) || $0.by.utf8.elementsEqual("key \(by)".utf8))
        && $0.isUnderWay(now: now)
    }
    .sorted { $0.key.description < $1.key.description }
    guard !meant.isEmpty else {
      throw ServiceFailure("no campaign that \(by) has started is under way")
    }
    for campaign in meant { try write(request, campaign.key, command, cluster, context) }
    for campaign in meant { try tell(request, campaign.key, lookup) }
  }

  private func tell(
    _ request: CampaignChange, _ key: CampaignKey, _ lookup: CampaignLookup
  ) throws(ServiceFailure) {
    let noted = try lookup.wait(for: key, withinMilliseconds: Self.patience) {
      request.isNoted(in: $0.progress)
    }
    guard let noted else {
      throw ServiceFailure(
        "it is written, and senders follow it, but martlet-scheduler has not noted it within \(Self.patience / 1_000)s;"
          + " martlet campaign show tells when it has")
    }
    let isOver = noted.progress.state.isOver && request != .cancelled
    StandardOutput.line("\(isOver ? "" : "\(request.rawValue) ")\(Self.text(noted))")
  }

  /// `sale: running, 120 of 500 devices addressed, 60 of them without an outcome`.
  private static func text(_ campaign: CampaignRecord) -> String {
    let progress = campaign.progress
    let total = progress.total.map { " of \($0)" } ?? ""
    return
      "\(campaign.name): \(progress.state.rawValue), \(progress.addressed)\(total) devices addressed,"
      + " \(campaign.unsent) of them without an outcome"
  }

  /// Writes what is asked, by whom and when; a tombstone: that nothing is.
  private func write(
    _ request: CampaignChange, _ key: CampaignKey, _ command: String, _ cluster: KafkaCluster,
    _ context: ServiceContext
  ) throws(ServiceFailure) {
    if request == .resumed {
      try topic.write("\(key)", nil, cluster)
    } else {
      try topic.write(
        "\(key)", .init(key: request.rawValue, value: .bool(true)), reason: nil, cluster)
    }
    Audit.note(command, "\(key)", context)
  }
}
