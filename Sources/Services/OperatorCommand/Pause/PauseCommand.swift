// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Gateways
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
    let cluster = try settings.target.cluster(context)
    defer { cluster.admin.close() }
    guard let subject = settings.target.subject else {
      for line in try list(settings.target, cluster, context) { StandardOutput.line(line) }
      return
    }
    var record: JSONObject = JSONObject()
    record.append("paused", true)
    record.append("at", .integer(WallClock.milliseconds()))
    record.append("by", .string(Audit.actor))
    if let reason = settings.reason { record.append("reason", .string(reason)) }
    try settings.target.write(subject, JSONValue.object(record).text, cluster)
    Audit.note("pause", subject.key, context)
    StandardOutput.line("paused \(subject.key)")
  }

  /// The paused apps and lanes, a line each.
  private static func list(
    _ target: PauseTarget, _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) -> [String] {
    var found: [String: String] = [:]
    do {
      let table = try KafkaTable(cluster.configuration, topic: target.names.controls)
      defer { table.close() }
      let limit = TimeLimit(milliseconds: 20_000)
      while !table.isCaughtUp, limit.left > 0, !context.signals.isStopping {
        table.poll(timeoutMilliseconds: 50) { key, value in
          let name = String(decoding: key, as: UTF8.self)
          found[name] = ControlRecord.isPaused(value) == true ? value.map(line) : nil
        }
      }
      guard table.isCaughtUp else {
        let cause = table.lastError.map { ": \($0)" } ?? ""
        throw ServiceFailure("\(table.topic) could not be read to its end\(cause)")
      }
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
    let lines = found.sorted { $0.key < $1.key }.map { "\(TerminalText.plain($0.key))\($0.value)" }
    return lines.isEmpty ? ["nothing is paused"] : lines
  }

  /// `  since 2026-11-22T17:00:00.000Z by ann: launch went wrong`.
  static func line(_ value: UnsafeRawBufferPointer) -> String {
    guard let record = try? JSONDocument(value).root else { return "" }
    var text = ""
    if let at = record["at"]?.time { text += "  since \(Timestamp.text(milliseconds: at))" }
    if let user = record["by"]?.string { text += " by \(TerminalText.plain(user))" }
    if let reason = record["reason"]?.string { text += ": \(TerminalText.plain(reason))" }
    return text
  }
}
