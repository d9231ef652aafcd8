// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
import EventLoop
import Glibc
import JSON
import Kafka
import Records
public import ServiceKit
public import Settings
import Telemetry

/// `martlet campaign start FILE`: has a request sent to every device of an audience.
public enum CampaignStartCommand: Service {
  public struct Settings: Sendable {
    let kafka: KafkaConfiguration
    let names: TopicNames
    let database: String?
    let campaign: CampaignRecord
  }

  public static let name = "campaign start"
  public static let summary =
    "Starts a campaign: a request to every device of an audience, which martlet-scheduler looks up. FILE is a JSON object"
    + " with the campaign's name, its request and its audience; docs/campaigns.md describes it. A name is used once:"
    + " another campaign with it is not started until 30 days after the end of the first. With --database the command waits"
    + " until martlet-scheduler has the campaign, and fails if the name is in use."
  public static let reportsCounters = false
  private static let database = SettingKey<String?>.path(
    "database", use: .database,
    "The database of martlet-scheduler: a SQLite file, or a postgresql:// URL. It is only read.")
  public static let table = SettingTable(
    [CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting, database.setting],
    kafkaProperties: true,
    operands: .init("FILE", 1...1, "The campaign; - reads it from standard input."))

  /// So long it waits for the scheduler, in milliseconds.
  private static let patience = 10_000
  /// A file that is longer is none.
  private static let longest = 1 << 20

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let file = values.operands[0]
    let text: [UInt8]
    do throws(SystemError) {
      text = try File.read(file == "-" ? "/dev/stdin" : file)
    } catch {
      throw SettingErrors(nil, "\(error)")
    }
    guard text.count <= longest else {
      throw SettingErrors(nil, "\(file) has more than \(longest) bytes")
    }
    return Settings(
      kafka: try KafkaConfiguration(values, clientID: "martlet-campaign"),
      names: TopicNames(prefix: values[CommonSettings.topicPrefix]),
      database: values[database], campaign: try read(text, file))
  }

  private static func read(
    _ text: [UInt8], _ file: String
  ) throws(SettingErrors) -> CampaignRecord {
    let result = text.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        try CampaignRecord(
          json: bytes, at: WallClock.milliseconds(), by: Audit.actor, parser: JSONParser())
      }
    }
    do {
      let campaign = try result.get()
      try campaign.checkZone()
      try campaign.checkRequest(RequestReader(types: .any, lanes: .any))
      return campaign
    } catch {
      throw SettingErrors(nil, "\(file): \(error)")
    }
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    defer { cluster.admin.close() }
    try cluster.demand(settings.names.schedule, "martlet topics create creates it")
    let campaign = settings.campaign
    try cluster.write(settings.names.schedule, key: Array(campaign.key.utf8), campaign.value)
    Audit.note("campaign start", campaign.name, context)
    if let database = settings.database { try awaitScheduler(database, campaign, context) }
    StandardOutput.line(
      "campaign \(campaign.name) starts; martlet campaign show tells how far it is")
  }

  /// Waits until the scheduler has read the start; fails if its name was in use.
  private static func awaitScheduler(
    _ database: String, _ campaign: CampaignRecord, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let limit = TimeLimit(milliseconds: patience)
    while limit.left > 0, !context.signals.isStopping {
      if let known = try CampaignReading.named(campaign.name, database) {
        guard known.at != campaign.at || known.by != campaign.by else { return }
        let time = Timestamp.text(milliseconds: known.at)
        throw ServiceFailure(
          "a campaign of this name exists, started \(time) by \(TerminalText.plain(known.by)): this start changes nothing"
        )
      }
      usleep(100_000)
    }
    throw ServiceFailure(
      "it is written, but martlet-scheduler has not read it within \(patience / 1_000)s; martlet campaign list shows when it has"
    )
  }
}
