// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Identity
import JSON
import Records
import Schedule
public import ServiceKit
public import Settings
import Store
import Telemetry

/// `martlet campaign list`: the campaigns, and how far they are.
public enum CampaignListCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    @Declared(ScheduleSettings.database) var database: String

    public init() {}
  }

  public static let name = "campaign list"
  public static let summary =
    "Lists the campaigns of which martlet-scheduler knows, the newest first: state, devices addressed of those in the"
    + " audience, how fast it is, how long it will take, and outcomes."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let now = WallClock.milliseconds()
    let lines = try CampaignReading.all(settings.database, context) { line($0, now) }
    for line in lines.isEmpty ? ["no campaign"] : lines {
      guard StandardOutput.line(line) else { return }
    }
  }

  private static func line(_ campaign: CampaignRecord, _ now: Int64) -> String {
    let isWaiting = campaign.progress.state == .scheduled
    return CampaignStatus(campaign, now: now).line(
      start: isWaiting ? campaign.startText : nil)
  }
}

/// `martlet campaign show NAME`: one campaign.
public enum CampaignShowCommand: Service {
  public struct Settings: Sendable {
    let database: String
    let name: CampaignName
  }

  public static let name = "campaign show"
  public static let summary =
    "Shows one campaign as JSON: its audience, how far and how fast it is, and its pushes by outcome."
  public static let reportsCounters = false
  public static let table = SettingTable(
    [
      ScheduleSettings.database.setting, CampaignName.app.setting, CampaignName.environment.setting,
    ],
    operands: .init("NAME", 1...1, "The campaign's name."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      database: values[ScheduleSettings.database],
      name: try CampaignName(values.operands[0], values))
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let now = WallClock.milliseconds()
    let found = try CampaignReading.all(settings.database, context) { campaign in
      settings.name.isOne(campaign.key)
        ? (campaign.key, JSONValue.object(campaign.standing(now: now, isPaused: nil)).text) : nil
    }
    let text = try settings.name.one(of: found)
    StandardOutput.line(TerminalText.json(String(decoding: text, as: UTF8.self)))
  }
}

enum CampaignReading {
  /// What `body` makes of each campaign of the database, the newest first. One that cannot be read is left out, and one with
  /// which this command has crashed twice.
  static func all<Result>(
    _ database: String, _ context: ServiceContext, _ body: (CampaignRecord) -> Result?
  ) throws(ServiceFailure) -> [Result] {
    let entries: [ScheduledEntry]
    do throws(StoreError) {
      let reader = try TokenStoreReader(database)
      entries = try reader.whileScheduleIsComplete { () throws(StoreError) in
        try reader.campaigns()
      }
    } catch {
      throw ServiceFailure("\(error)")
    }
    let inHand = StoredInHand(TopicNames().schedule, context)
    var found: [(at: Int64, key: String, result: Result)] = []
    for entry in entries {
      let one = inHand.work(on: entry.row.identity, key: entry.key.text) {
        () -> (at: Int64, key: String, result: Result)? in
        guard let campaign = CampaignRecord(stored: entry.value), let result = body(campaign) else {
          return nil
        }
        return (campaign.at, "\(campaign.key)", result)
      }
      if let one { found.append(one) }
    }
    return found.sorted { ($1.at, $1.key) < ($0.at, $0.key) }.map(\.result)
  }
}
