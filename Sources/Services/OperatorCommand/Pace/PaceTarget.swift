// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Gateways
import Kafka
import ServiceKit
import Settings

/// The subject of `martlet pace set` and `martlet pace clear`, and the topic: the common settings of the commands.
struct PaceTarget: Sendable {
  /// `app`, `lane` or `group`, and its name.
  static let operands = "KIND NAME"
  static let operandHelp =
    "KIND is app, lane or group; NAME the app's bundle id, the lane's name, or the group of the requests"

  let topic: ControlTopic
  let subject: Paces.Subject

  /// The settings that the commands have.
  struct Settings: DeclaredSettings, Sendable {
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) var topicPrefix: String

    @Declared(
      .choice(
        "environment", of: Environment.allCases.map(\.description), default: "production",
        "The app's environment.")) var environment: String
  }

  /// - Parameter values: with at least two operands.
  init(_ values: SettingValues) throws(SettingErrors) {
    let settings = Settings.reading(values)
    topic = try Self.topic(values, prefix: settings.topicPrefix)
    let name = values.operands[1]
    switch values.operands[0] {
    case "app":
      guard (try? RequestRules.checkName(name.utf8.span, .app)) != nil,
        let environment = Environment(settings.environment)
      else { throw SettingErrors(nil, "\(name) is not a bundle id") }
      subject = .app(name, environment)
    case "lane":
      guard Lanes.any.find(name) != nil else {
        throw SettingErrors(nil, "\"\(name)\" cannot be the name of a lane")
      }
      subject = .lane(name)
    case "group":
      guard RequestRules.isText(name.utf8.span, most: RequestRules.maximumGroup) else {
        throw SettingErrors(
          nil,
          "\"\(name)\" cannot be a group: 1 to \(RequestRules.maximumGroup) bytes without control characters"
        )
      }
      subject = .group(name)
    case let kind: throw SettingErrors(nil, "\"\(kind)\" has no pace: app, lane or group has")
    }
  }

  static func topic(
    _ values: SettingValues, prefix: String
  ) throws(SettingErrors) -> ControlTopic {
    ControlTopic(
      kafka: try KafkaConfiguration(values, clientID: "martlet-pace"),
      names: TopicNames(prefix: prefix))
  }
}
