// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import Settings

/// The common settings of `martlet pause` and `martlet resume`: the subject and the cluster.
struct PauseTarget: Sendable {
  enum Subject: Sendable {
    case pushes(PauseSubject)
    case campaign(CampaignTarget)
  }

  let topic: ControlTopic
  /// The subject; nil if none was named.
  let subject: Subject?

  private static let environment = SettingKey<String?>.choice(
    "environment", of: Environment.allCases.map(\.description),
    "The app's environment, production if it is not given; with --campaign it is needed only where both have a campaign of"
      + " the name.")
  private static let lane = SettingKey<String?>.text(
    "lane", placeholder: "NAME", "A lane of --lanes, in place of an app: of all apps.")
  private static let campaign = SettingKey<String?>.text(
    "campaign", placeholder: "NAME",
    "A campaign, of APP where several have one of the name. Says how far it is then.")

  static let settings = [
    CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting, environment.setting,
    lane.setting, campaign.setting, CommandSettings.scheduleIfAny.setting,
  ]
  static let operands = SettingTable.Operands("APP", 0...1, "The app's bundle id.")

  init(_ values: SettingValues) throws(SettingErrors) {
    topic = try ControlTopic(values, clientID: "martlet-pause")
    let (lane, app) = (values[Self.lane], values.operands.first)
    guard lane == nil || app == nil else {
      throw SettingErrors("lane", "names a lane, and APP an app: give one of them")
    }
    if let campaign = values[Self.campaign] {
      guard lane == nil else {
        throw SettingErrors("campaign", "names a campaign, and --lane a lane: give one of them")
      }
      let name = try CampaignName(campaign, app: app, environment: values[Self.environment])
      subject = .campaign(
        CampaignTarget(topic: topic, name: name, database: values[CommandSettings.scheduleIfAny]))
    } else if let lane {
      // Pushes of the other environment would be held, too.
      guard values.source(Self.environment.name) != .flag else {
        throw SettingErrors("environment", "is not for a lane, which is paused in both")
      }
      guard Lanes.any.find(lane) != nil else {
        throw values.error("lane", "\"\(lane)\" cannot be the name of a lane")
      }
      subject = .pushes(.lane(lane))
    } else if let app {
      guard (try? RequestRules.checkName(app.utf8.span, .app)) != nil,
        let environment = Environment(values[Self.environment] ?? "production")
      else { throw SettingErrors(nil, "\(app) is not a bundle id") }
      subject = .pushes(.app(app, environment))
    } else {
      subject = nil
    }
  }
}
