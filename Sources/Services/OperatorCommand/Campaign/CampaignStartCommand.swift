// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
import EventLoop
import JSON
import Kafka
import Records
public import ServiceKit
public import Settings

/// `martlet campaign start FILE`: has a request sent to every device of an audience.
public enum CampaignStartCommand: Service {
  public struct Settings: Sendable {
    let kafka: KafkaConfiguration
    let names: TopicNames
    let campaign: CampaignRecord
  }

  public static let name = "campaign start"
  public static let summary =
    "Starts a campaign: a request to every device of an audience, which martlet-scheduler looks up. FILE is a JSON object"
    + " with the campaign's name, its request and its audience; docs/campaigns.md describes it. A name is used once:"
    + " another campaign with it is not started until 30 days after the end of the first."
  public static let reportsCounters = false
  public static let table = SettingTable(
    [CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting], kafkaProperties: true,
    operands: .init("FILE", 1...1, "The campaign; - reads it from standard input."))

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
      names: TopicNames(prefix: values[CommonSettings.topicPrefix]), campaign: try read(text, file))
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
    StandardOutput.line(
      "campaign \(campaign.name) starts; martlet campaign show tells how far it is")
  }
}
