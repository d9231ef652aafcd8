// SPDX-License-Identifier: Apache-2.0
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

  struct Own: DeclaredSettings, Sendable {
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) var topicPrefix: String
    @Declared(.text("app", placeholder: "APP", "The request's app.")) var app: String?
    @Declared(
      .choice(
        "environment", of: ["production", "sandbox"], default: "production",
        "The request's environment.")) var environment: String
  }

  public static let name = "schedule cancel"
  public static let summary =
    "Cancels a request that waits for its send_at. Two seconds before its time it is sure not to be sent; later it may be"
    + " on its way. The cancellation also concerns a request with this id that was written before and is not scheduled"
    + " yet."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: Own.self, kafkaProperties: true, operands: ScheduleTarget.operands)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      kafka: try KafkaConfiguration(values, clientID: "martlet-schedule"),
      names: TopicNames(prefix: Own.reading(values).topicPrefix),
      key: try ScheduleTarget.reading(values).key(values))
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    defer { cluster.admin.close() }
    try cluster.demand(settings.names.schedule, "martlet topics create creates it")
    let cancellation = ScheduleCancellation(at: WallClock.milliseconds(), by: Audit.actor)
    do {
      let producer = try KafkaProducer(cluster.configuration)
      defer { producer.close() }
      let topic = try producer.topic(known: settings.names.schedule)
      let result = producer.produce(
        topic, key: settings.key.bytes, value: cancellation.value, headers: [], tag: 0)
      if case .refused(let error) = result { throw error }
      guard producer.flush(timeoutMilliseconds: 20_000) else {
        throw ServiceFailure("Kafka has not acknowledged it within 20s")
      }
      if let error = producer.drainDeliveries().lazy.compactMap(\.refused).first { throw error }
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
    Audit.note("schedule cancel", settings.key.description, context)
    StandardOutput.line("cancelled \(settings.key)")
  }
}
