// SPDX-License-Identifier: Apache-2.0
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
    + " audience, and outcomes."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings.reading(values)
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let campaigns = try CampaignReading.all(settings.database)
    for line in campaigns.isEmpty ? ["no campaign"] : campaigns.map(CampaignText.line) {
      guard StandardOutput.line(TerminalText.plain(line)) else { return }
    }
  }
}

/// `martlet campaign show NAME`: one campaign.
public enum CampaignShowCommand: Service {
  public struct Settings: Sendable {
    let database: String
    let name: String
  }

  public static let name = "campaign show"
  public static let summary =
    "Shows one campaign as JSON: its audience, how far it is, and its pushes by outcome."
  public static let reportsCounters = false
  public static let table = SettingTable(
    [ScheduleSettings.database.setting],
    operands: .init("NAME", 1...1, "The campaign's name."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(database: values[ScheduleSettings.database], name: values.operands[0])
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    guard
      let campaign = try CampaignReading.all(settings.database).first(where: {
        $0.name == settings.name
      })
    else { throw ServiceFailure("no campaign of this name is known") }
    let text = JSONValue.object(campaign.summary).text
    StandardOutput.line(TerminalText.json(String(decoding: text, as: UTF8.self)))
  }
}

enum CampaignReading {
  /// All campaigns, the newest first.
  static func all(_ database: String) throws(ServiceFailure) -> [CampaignRecord] {
    let entries: [ScheduledEntry]
    do throws(StoreError) {
      entries = try TokenStoreReader(database).campaigns()
    } catch {
      throw ServiceFailure("\(error)")
    }
    return entries.compactMap { entry in
      var text = entry.value
      return text.withUTF8 { try? CampaignRecord(UnsafeRawBufferPointer($0), parser: JSONParser()) }
    }
    .sorted { ($1.at, $0.name) < ($0.at, $1.name) }
  }
}

enum CampaignText {
  /// `spring-sale  running  120000 of 500000 (24 %)  delivered 118000, rejected 12`.
  static func line(_ campaign: CampaignRecord) -> String {
    let progress = campaign.progress
    var parts = [campaign.name, progress.state.rawValue]
    if progress.state == .scheduled {
      parts.append("for \(Timestamp.text(milliseconds: campaign.plan.startAt))")
    } else {
      parts.append(addressed(progress))
    }
    if !campaign.outcomes.isEmpty {
      let outcomes = campaign.outcomes.sorted { $0.key < $1.key }
      parts.append(outcomes.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
    }
    if let reason = progress.reason { parts.append(reason) }
    return parts.joined(separator: "  ")
  }

  private static func addressed(_ progress: CampaignProgress) -> String {
    guard let total = progress.total, total > 0 else { return "\(progress.addressed) addressed" }
    let percent = StatusText.count(100 * Double(progress.addressed) / Double(total))
    return "\(progress.addressed) of \(total) (\(percent) %)"
  }
}
