// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import Kafka
import Records
public import ServiceKit
public import Settings
import Telemetry

/// `martlet pace`: lists the paces that are set.
public enum PaceCommand: Service {
  public struct Settings: Sendable {
    let topic: ControlTopic
  }

  public static let name = "pace"
  public static let summary = "Lists the paces that martlet pace set has set."
  public static let reportsCounters = false
  public static let table = SettingTable(
    [CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting], kafkaProperties: true)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(topic: try PaceTarget.topic(values, prefix: values[CommonSettings.topicPrefix]))
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try settings.topic.cluster(context)
    defer { cluster.admin.close() }
    let lines = try settings.topic.list(cluster, context, line)
    for line in lines.isEmpty ? ["no pace is set"] : lines { StandardOutput.line(line) }
  }

  /// `group:com.example.app:production:spring-sale  200/s  since 2026-11-22T17:00:00.000Z by ann`; nil for a record that sets no pace.
  private static func line(_ key: String, _ value: UnsafeRawBufferPointer) -> String? {
    guard let subject = PaceSubject(key: key) else { return nil }
    let rate = (try? ControlRecord.pace(value)).flatMap { $0.map { "\($0)" } }
    return
      "\(TerminalText.plain("\(subject)"))  \(rate ?? "unreadable")\(ControlTopic.author(value))"
  }
}
