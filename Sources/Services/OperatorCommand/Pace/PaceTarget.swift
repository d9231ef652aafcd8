// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Gateways
import Kafka
import ServiceKit
import Settings

/// The subject of `martlet pace set` and `martlet pace clear`, and the topic: the common settings of the commands.
struct PaceTarget: Sendable {
  /// `app`, `lane`, `group` or `device`, and its name.
  static let operands = "KIND NAME"
  static let operandHelp =
    "KIND is app, lane, group or device (each of an app, for one push type); NAME the app's bundle id, the lane's name, or"
    + " the group of the requests"

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

    @Declared(
      .choice(
        "push-type", of: PushType.allCases.map(\.description), default: "background",
        "The push type of a device's pace.")) var pushType: String
  }

  /// - Parameter values: with at least two operands.
  init(_ values: SettingValues) throws(SettingErrors) {
    let settings = Settings.reading(values)
    topic = try Self.topic(values, prefix: settings.topicPrefix)
    guard let kind = Paces.Subject.Kind(rawValue: values.operands[0]),
      let environment = Environment(settings.environment),
      let type = PushType(settings.pushType.utf8.span)
    else {
      throw SettingErrors(
        nil, "\"\(values.operands[0])\" has no pace: app, lane, group or device has")
    }
    do throws(Paces.Subject.Problem) {
      subject = try Paces.Subject(kind, values.operands[1], environment, type)
    } catch {
      throw SettingErrors(nil, "\(error)")
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
