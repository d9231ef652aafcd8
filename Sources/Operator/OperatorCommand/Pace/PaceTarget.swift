// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Identity
import Kafka
import ServiceKit
import Settings

/// The subject of `martlet pace set` and `martlet pace clear`, and the topic: the common settings of the commands.
struct PaceTarget: Sendable {
  /// `app`, `lane`, `group` or `device`, and its name.
  static let operands = "KIND NAME"
  static let operandHelp =
    "KIND is app, lane, group or device (each of an app, for one push type); NAME the app's bundle id, the lane's name, or"
    + " the group of the app's requests (--app)"

  let topic: ControlTopic
  private let kind: PaceSubject.Kind
  private let name: String
  private let app: String?
  private let environment: Environment
  private let pushType: PushType

  /// The settings that the commands have.
  struct Settings: DeclaredSettings, Sendable {
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) var topicPrefix: String

    @Declared(
      .choice(
        "environment", of: Environment.allCases.map(\.description), default: "production",
        "The app's environment.")) var environment: String

    @Declared(
      .text(
        "app", placeholder: "APP",
        "The app of a group: needed unless one group of the name has a pace, of one app.")
    ) var app: String?

    @Declared(
      .choice(
        "push-type", of: PushType.allCases.map(\.description), default: "background",
        "The push type of a device's pace.")) var pushType: String
  }

  /// - Parameter values: with at least two operands.
  init(_ values: SettingValues) throws(SettingErrors) {
    let settings = Settings.reading(values)
    topic = try Self.topic(values, prefix: settings.topicPrefix)
    guard let kind = PaceSubject.Kind(rawValue: values.operands[0]),
      let environment = Environment(settings.environment),
      let type = PushType(settings.pushType.utf8.span)
    else {
      throw SettingErrors(
        nil, "\"\(values.operands[0])\" has no pace: app, lane, group or device has")
    }
    guard settings.app == nil || kind == .group else {
      throw SettingErrors("app", "is for a group: \(kind.rawValue) NAME says it all")
    }
    (self.kind, name, app) = (kind, values.operands[1], settings.app)
    (self.environment, pushType) = (environment, type)
    // Of a group without an app another one's will do: what is wrong with its name is said at once.
    _ = try Self.checked { () throws(PaceSubject.Problem) in
      try PaceSubject(kind, name, of: app ?? "app", environment, type)
    }
  }

  private static func checked<Value>(
    _ body: () throws(PaceSubject.Problem) -> Value
  ) throws(SettingErrors) -> Value {
    do throws(PaceSubject.Problem) { return try body() } catch {
      throw SettingErrors(nil, "\(error)")
    }
  }

  /// Checks that it can have a rate.
  func check(_ rate: PaceRate) throws(SettingErrors) {
    try Self.checked { () throws(PaceSubject.Problem) in
      try PaceSubject(kind, name, of: app ?? "app", environment, pushType).check(rate)
    }
  }

  /// What is meant: a group without an app is the one of its name that has a pace.
  ///
  /// - Parameter paces: those that are set.
  func subject(among paces: [PaceSubject: PaceRate]) throws(ServiceFailure) -> PaceSubject {
    if kind == .group, app == nil {
      let meant = paces.keys.filter { $0.kind == .group && $0.name.exact == name.exact }
      guard meant.count == 1 else {
        let list = meant.compactMap(\.app).sorted().joined(separator: ", ")
        throw ServiceFailure(
          "a group is of an app: name it with --app"
            + (meant.isEmpty ? "" : "; groups of this name with a pace are of \(list)"))
      }
      return meant[0]
    }
    do throws(PaceSubject.Problem) {
      return try PaceSubject(kind, name, of: app, environment, pushType)
    } catch {
      throw ServiceFailure("\(error)")
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
