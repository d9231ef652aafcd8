// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Kafka
import ServiceKit
import Settings

/// The target of `martlet pause` and `martlet resume`, and the cluster: their common settings.
struct PauseTarget: Sendable {
  let topic: ControlTopic
  /// nil: none was named.
  let subject: PauseSubject?

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
    topic = ControlTopic(
      kafka: try KafkaConfiguration(values, clientID: "martlet-pause"),
      names: TopicNames(prefix: settings.topicPrefix))
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
}
