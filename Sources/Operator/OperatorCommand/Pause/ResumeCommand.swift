// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import Kafka
public import ServiceKit
public import Settings

/// `martlet resume`: lets the pushes of a paused app or lane go.
public enum ResumeCommand: Service {
  public struct Settings: Sendable {
    let target: PauseTarget
  }

  public static let name = "resume"
  public static let summary =
    "Resumes a paused app or lane. Pushes of an app that were moved to a retry topic follow after its delay, at most"
    + " 15 minutes."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: PauseTarget.Settings.self, kafkaProperties: true,
    operands: .init("APP", 0...1, "The app's bundle id."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let target = try PauseTarget(values)
    guard target.subject != nil else {
      throw SettingErrors(nil, "name an app, or a lane with --lane")
    }
    return Settings(target: target)
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    guard let subject = settings.target.subject else { return }
    let topic = settings.target.topic
    let cluster = try topic.cluster(context)
    defer { cluster.admin.close() }
    try topic.demand(
      subject.key, cluster, context, what: "\(subject.key) is not paused"
    ) { PaceSubject(key: $0) == nil ? PauseSubject(key: $0)?.key : nil }
    try topic.write(subject.key, nil, cluster)
    Audit.note("resume", subject.key, context)
    guard try !topic.isPaused(subject, cluster, context) else {
      throw ServiceFailure("\(subject.key) is paused: somebody has paused it meanwhile")
    }
    StandardOutput.line("resumed \(subject.key)")
  }
}
