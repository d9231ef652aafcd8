// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
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
    let campaigns = try CampaignReading.all(settings.database)
    let now = WallClock.milliseconds()
    let lines = campaigns.map { line($0, now) }
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
    let campaign = try settings.name.one(of: CampaignReading.all(settings.database))
    let standing = campaign.standing(now: WallClock.milliseconds(), isPaused: nil)
    let text = JSONValue.object(standing).text
    StandardOutput.line(TerminalText.json(String(decoding: text, as: UTF8.self)))
  }
}

enum CampaignReading {
  static func one(_ key: CampaignKey, _ database: String) throws(ServiceFailure) -> CampaignRecord?
  {
    try all(database).first { $0.key == key }
  }

  /// All campaigns, the newest first.
  static func all(_ database: String) throws(ServiceFailure) -> [CampaignRecord] {
    let entries: [ScheduledEntry]
    do throws(StoreError) {
      entries = try TokenStoreReader(database).campaigns()
    } catch {
      throw ServiceFailure("\(error)")
    }
    return CampaignRecord.all(in: entries.map(\.value))
  }
}
