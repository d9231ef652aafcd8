// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings
import Telemetry

/// `martlet pause`: pauses the pushes of an app, a lane or a campaign until they are resumed, or lists what is paused.
enum PauseCommand: Command {
  struct Settings: Sendable {
    let target: PauseTarget
    let reason: String?
  }

  static let name = "pause"
  static let summary =
    "Pauses the pushes of an app, of a lane, or of a campaign, which addresses no further devices: they wait in Kafka until"
    + " martlet resume, and their expirations still apply. Pushes in flight are not affected. Without any of them it lists"
    + " what is paused."
  static let table = SettingTable(
    PauseTarget.settings + [CommandSettings.reason.setting], kafkaProperties: true,
    operands: PauseTarget.operands)

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(target: try PauseTarget(values), reason: values[CommandSettings.reason])
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let topic = settings.target.topic
    switch settings.target.subject {
    case nil: try list(topic, context)
    case .campaign(let campaign): try campaign.ask(.paused, reason: settings.reason, context)
    case .pushes(let subject): try pause(subject, topic, settings.reason, context)
    }
  }

  private static func list(
    _ topic: ControlTopic, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try topic.cluster(context)
    let lines = try topic.list(cluster, context) { key, value in
      ControlRecord.isPaused(value) == true
        ? TerminalText.plain(key) + ControlTopic.author(value) : nil
    }
    for line in lines.isEmpty ? ["nothing is paused"] : lines { StandardOutput.line(line) }
  }

  private static func pause(
    _ subject: PauseSubject, _ topic: ControlTopic, _ reason: String?, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try topic.cluster(context)
    try topic.write(subject.key, .init(key: "paused", value: true), reason: reason, cluster)
    Audit.note("pause", subject.key, context)
    let done = "the pause of \(subject.key) is written"
    guard try topic.isPaused(subject, cluster, context, done: done) else {
      throw ServiceFailure("\(subject.key) is not paused: somebody has resumed it meanwhile")
    }
    let remark =
      if case .lane(let lane) = subject { topic.remark(onLane: lane, cluster) } else { "" }
    StandardOutput.line("paused \(subject.key)\(remark)")
  }
}
