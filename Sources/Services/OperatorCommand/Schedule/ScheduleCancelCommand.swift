// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import EventLoop
import Kafka
import Records
public import ServiceKit
public import Settings

/// `martlet schedule cancel ID`: has a scheduled request not sent.
public enum ScheduleCancelCommand: Service {
  public struct Settings: Sendable {
    let kafka: KafkaConfiguration
    let names: TopicNames
    let key: ScheduleKey
  }

  public static let name = "schedule cancel"
  public static let summary =
    "Cancels a request that waits for its send_at. Two seconds before its time it is sure not to be sent; later it may be"
    + " on its way. The cancellation also concerns a request with this id that was written before and is not scheduled"
    + " yet."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: ScheduleTarget.self,
    more: [CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting], kafkaProperties: true,
    operands: ScheduleTarget.operands)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      kafka: try KafkaConfiguration(values, clientID: "martlet-schedule"),
      names: TopicNames(prefix: values[CommonSettings.topicPrefix]),
      key: try ScheduleTarget.reading(values).key(values))
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    defer { cluster.admin.close() }
    try cluster.demand(settings.names.schedule, "martlet topics create creates it")
    let cancellation = ScheduleCancellation(at: WallClock.milliseconds(), by: Audit.actor)
    try cluster.write(settings.names.schedule, key: settings.key.bytes, cancellation.value)
    Audit.note("schedule cancel", settings.key.description, context)
    StandardOutput.line("cancelled \(settings.key)")
  }
}
