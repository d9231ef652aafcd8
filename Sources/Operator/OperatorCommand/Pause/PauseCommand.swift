// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import JSON
import Kafka
import Records
public import ServiceKit
public import Settings
import Telemetry

/// `martlet pause`: stops the pushes of an app or a lane until they are resumed, or lists what is paused.
public enum PauseCommand: Service {
  public struct Settings: Sendable {
    let target: PauseTarget
    let reason: String?
  }

  public static let name = "pause"
  public static let summary =
    "Pauses the pushes of an app, or of a lane: they wait in Kafka until martlet resume, and their expirations still apply."
    + " Pushes in flight are not affected. Without an app or lane it lists what is paused."
  public static let reportsCounters = false
  private static let reason = SettingKey<String?>.text(
    "reason", "Why; `martlet pause` without an app or a lane shows it.")
  public static let table = SettingTable(
    declaredBy: PauseTarget.Settings.self, more: [reason.setting], kafkaProperties: true,
    operands: .init("APP", 0...1, "The app's bundle id."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(target: try PauseTarget(values), reason: values[reason])
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let topic = settings.target.topic
    let cluster = try topic.cluster(context)
    defer { cluster.admin.close() }
    guard let subject = settings.target.subject else {
      let lines = try topic.list(cluster, context) { key, value in
        ControlRecord.isPaused(value) == true
          ? TerminalText.plain(key) + ControlTopic.author(value) : nil
      }
      for line in lines.isEmpty ? ["nothing is paused"] : lines { StandardOutput.line(line) }
      return
    }
    try topic.write(
      subject.key, .init(key: "paused", value: true), reason: settings.reason, cluster)
    Audit.note("pause", subject.key, context)
    let isPaused = try topic.isPaused(subject, cluster, context)
    guard isPaused else {
      throw ServiceFailure("\(subject.key) is not paused: somebody has resumed it meanwhile")
    }
    StandardOutput.line("paused \(subject.key)")
  }
}
