// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings
import Store
import Telemetry

/// `martlet campaign list`: the campaigns and their progress; `martlet campaign list NAME`: one of them.
enum CampaignListCommand: Command {
  struct Settings: Sendable {
    let database: String
    let app: String?
    let environment: String?
    /// The name; nil for all.
    let name: CampaignName?
  }

  static let name = "campaign list"
  static let summary =
    "Lists the campaigns of which martlet-scheduler knows, the newest first: state, devices addressed of those in the"
    + " audience, how fast it is, how long it will take, and outcomes. With a NAME it shows that campaign as JSON: its"
    + " audience, how far and how fast it is, and its pushes by outcome."
  static let table = SettingTable(
    [
      CommandSettings.schedule.setting, CampaignName.app.setting, CampaignName.environment.setting,
    ], operands: .init("NAME", 0...1, "The name of one campaign."))

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let (app, environment) = (values[CampaignName.app], values[CampaignName.environment])
    var name: CampaignName?
    if let word = values.operands.first {
      name = try CampaignName(word, app: app, environment: environment)
    }
    return Settings(
      database: values[CommandSettings.schedule], app: app, environment: environment, name: name)
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let now = WallClock.milliseconds()
    if let name = settings.name { return try show(name, settings, context, now) }
    let found = try CampaignReading.all(settings.database, context) {
      campaign -> (CampaignStatus, String?)? in
      let key = campaign.key
      let isWanted =
        (settings.app ?? key.app) == key.app
        && (settings.environment ?? "\(key.environment)") == "\(key.environment)"
      guard isWanted else { return nil }
      let isWaiting = campaign.progress.state == .scheduled
      return (CampaignStatus(campaign, now: now), isWaiting ? campaign.startText : nil)
    }
    let namesakes = CampaignStatus.namesakes(in: found.map { $0.0 })
    let lines = found.map { campaign, start in
      campaign.line(start: start, namesakes: namesakes)
    }
    for line in lines.isEmpty ? ["no campaign"] : lines {
      guard StandardOutput.line(line) else { return }
    }
  }

  private static func show(
    _ name: CampaignName, _ settings: Settings, _ context: ServiceContext, _ now: Int64
  ) throws(ServiceFailure) {
    let found = try CampaignReading.all(settings.database, named: name.name, context) { campaign in
      name.isOne(campaign.key)
        ? (campaign.key, JSONValue.object(campaign.standing(now: now, isPaused: nil)).text) : nil
    }
    let text = try name.one(of: found)
    StandardOutput.line(TerminalText.json(String(decoding: text, as: UTF8.self)))
  }
}

enum CampaignReading {
  /// Calls `body` for each campaign of the database, and returns the results, the newest campaign's first. Unreadable
  /// campaigns are skipped, and those on which this command has crashed twice.
  ///
  /// - Parameter name: Only campaigns of this name; nil for all.
  static func all<Result>(
    _ database: String, named name: String? = nil, _ context: ServiceContext,
    _ body: (CampaignRecord) -> Result?
  ) throws(ServiceFailure) -> [Result] {
    let inHand = StoredInHand(TopicNames().schedule, context)
    var found: [(at: Int64, key: String, result: Result)] = []
    func take(_ entry: ScheduledEntry) {
      let one = inHand.work(on: entry.row.identity, key: entry.key.text) {
        () -> (at: Int64, key: String, result: Result)? in
        guard let campaign = CampaignRecord(stored: entry.value), let result = body(campaign) else {
          return nil
        }
        return (campaign.at, "\(campaign.key)", result)
      }
      if let one { found.append(one) }
    }
    try orFail {
      let reader = try TokenStoreReader(database)
      try reader.whileScheduleIsComplete { () throws(StoreError) -> Void in
        guard let name else { return try reader.forEachCampaign { take($0) } }
        for entry in try reader.campaigns(withPrefix: CampaignKey.prefix(ofName: name)) {
          take(entry)
        }
      }
    }
    return found.sorted { ($1.at, $1.key) < ($0.at, $0.key) }.map(\.result)
  }
}
