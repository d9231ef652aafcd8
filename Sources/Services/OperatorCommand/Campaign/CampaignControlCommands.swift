// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import EventLoop
import JSON
import Kafka
import Records
public import ServiceKit
public import Settings

/// `martlet campaign pause NAME`: addresses no further devices.
public enum CampaignPauseCommand: Service {
  public static let name = "campaign pause"
  public static let summary =
    "Has a campaign address no further devices until martlet campaign resume. What it has addressed is sent; martlet pace"
    + " set group NAME slows that down."
  public static let reportsCounters = false
  public static let table = CampaignTarget.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    try CampaignTarget(values)
  }

  public static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.write("paused", "campaign pause", context)
    StandardOutput.line("paused \(settings.name)")
  }
}

/// `martlet campaign cancel NAME`: ends a campaign.
public enum CampaignCancelCommand: Service {
  public static let name = "campaign cancel"
  public static let summary =
    "Ends a campaign: it addresses no further devices. What it has addressed is sent."
  public static let reportsCounters = false
  public static let table = CampaignTarget.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    try CampaignTarget(values)
  }

  public static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.write("cancelled", "campaign cancel", context)
    StandardOutput.line("cancelled \(settings.name)")
  }
}

/// `martlet campaign resume NAME`: goes on with a paused campaign.
public enum CampaignResumeCommand: Service {
  public static let name = "campaign resume"
  public static let summary = "Goes on with a campaign that martlet campaign pause has paused."
  public static let reportsCounters = false
  public static let table = CampaignTarget.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> CampaignTarget {
    try CampaignTarget(values)
  }

  public static func run(
    _ settings: CampaignTarget, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try settings.write(nil, "campaign resume", context)
    StandardOutput.line("resumed \(settings.name)")
  }
}

/// The campaign that a command names, and the topic of what operators ask of it.
public struct CampaignTarget: Sendable {
  static let table = SettingTable(
    [CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting], kafkaProperties: true,
    operands: .init("NAME", 1...1, "The campaign's name."))

  let topic: ControlTopic
  let name: String

  init(_ values: SettingValues) throws(SettingErrors) {
    topic = ControlTopic(
      kafka: try KafkaConfiguration(values, clientID: "martlet-campaign"),
      names: TopicNames(prefix: values[CommonSettings.topicPrefix]))
    name = values.operands[0]
    guard CampaignRecord.isName(name) else {
      throw SettingErrors(nil, "\"\(name)\" cannot be the name of a campaign")
    }
  }

  /// Writes what is asked, by whom and when; nil: that nothing is.
  func write(
    _ member: String?, _ command: String, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try topic.cluster(context)
    defer { cluster.admin.close() }
    let key = CampaignRecord.prefix + name
    if let member {
      try topic.write(key, .init(key: member, value: .bool(true)), reason: nil, cluster)
    } else {
      try topic.write(key, nil, cluster)
    }
    Audit.note(command, name, context)
  }
}
