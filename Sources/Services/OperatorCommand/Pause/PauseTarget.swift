// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Gateways
import Kafka
import ServiceKit
import Settings

/// The target of `martlet pause` and `martlet resume`, and the cluster: their common settings.
struct PauseTarget: Sendable {
  let kafka: KafkaConfiguration
  let names: TopicNames
  /// nil: none was named.
  let subject: Pauses.Subject?

  /// The settings that both commands have.
  struct Settings: DeclaredSettings, Sendable {
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) var topicPrefix: String

    @Declared(
      .choice(
        "environment", of: Environment.allCases.map(\.description), default: "production",
        "The app's environment.")) var environment: String

    @Declared(
      .text("lane", placeholder: "NAME", "A lane of --lanes, in place of an app: of all apps."))
    var lane: String?
  }

  init(_ values: SettingValues) throws(SettingErrors) {
    let settings = Settings.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-pause")
    names = TopicNames(prefix: settings.topicPrefix)
    let lane = settings.lane
    guard lane == nil || values.operands.isEmpty else {
      throw SettingErrors("lane", "names a lane, and APP an app: give one of them")
    }
    if let lane {
      guard Lanes.any.find(lane) != nil else {
        throw values.error("lane", "\"\(lane)\" cannot be the name of a lane")
      }
      subject = .lane(lane)
    } else if let app = values.operands.first {
      guard (try? RequestRules.checkName(app.utf8.span, .app)) != nil,
        let environment = Environment(settings.environment)
      else { throw SettingErrors(nil, "\(app) is not a bundle id") }
      subject = .app(app, environment)
    } else {
      subject = nil
    }
  }

  /// The cluster, if it has the topic.
  func cluster(_ context: ServiceContext) throws(ServiceFailure) -> KafkaCluster {
    let cluster = try KafkaCluster(kafka, context)
    try cluster.demand(
      names.controls,
      "martlet topics create creates it, and senders follow it from their next start")
    return cluster
  }

  /// Writes the subject's record, or its tombstone, and waits until Kafka has it.
  func write(
    _ subject: Pauses.Subject, _ value: [UInt8]?, _ cluster: KafkaCluster
  ) throws(ServiceFailure) {
    do {
      let producer = try KafkaProducer(cluster.configuration)
      defer { producer.close() }
      let topic = try producer.topic(known: names.controls)
      // A tombstone has no value that could say who made it.
      let result = producer.produce(
        topic, key: Array(subject.key.utf8), value: value,
        headers: value == nil ? [KafkaHeader("by", Audit.actor)] : [], tag: 0)
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
  }
}
