// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import JSON
import Kafka
public import ServiceKit
public import Settings

/// `martlet pace set`: no more pushes of an app, a lane or a group, or to a device, than so many in a unit of time.
public enum PaceSetCommand: Service {
  public struct Settings: Sendable {
    let target: PaceTarget
    let rate: PaceRate
    let reason: String?
  }

  public static let name = "pace set"
  public static let summary =
    "Sets the pace of an app, a lane or a group of requests, or of each device of an app: all senders together send no"
    + " more of it. What is too much waits in Kafka, and its expirations still apply. martlet pace lists the paces, martlet pace clear removes one."
  public static let reportsCounters = false
  private static let reason = SettingKey<String?>.text("reason", "Why; `martlet pace` shows it.")
  public static let table = SettingTable(
    declaredBy: PaceTarget.Settings.self, more: [reason.setting], kafkaProperties: true,
    operands: .init(
      "\(PaceTarget.operands) RATE", 3...3,
      "\(PaceTarget.operandHelp); RATE is a count and a unit of time, such as 200/s, 1000/m, 500/h or 10000/d; for a device 1 to 8 in a minute, an hour or a day."
    ))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let target = try PaceTarget(values)
    guard let rate = PaceRate(values.operands[2]) else {
      throw SettingErrors(
        nil,
        "\"\(values.operands[2])\" is no rate: a number from 1 to \(PaceRate.most), and /s, /m, /h or /d; martlet pause stops"
          + " something entirely")
    }
    try target.check(rate)
    return Settings(target: target, rate: rate, reason: values[reason])
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let topic = settings.target.topic
    let cluster = try topic.cluster(context)
    defer { cluster.admin.close() }
    let paces = try topic.paces(cluster, context)
    let subject = try settings.target.subject(among: paces)
    try PaceRoom.demand(subject, paces)
    try topic.write(
      subject.key, .init(key: "pace", value: .string("\(settings.rate)")), reason: settings.reason,
      cluster)
    Audit.note("pace set", "\(subject) \(settings.rate)", context)
    // What the topic has now is what senders keep: somebody else may have written after us.
    let kept = try topic.paces(cluster, context)[subject]
    StandardOutput.line("pace of \(subject): \(kept.map { "\($0)" } ?? "none")")
  }
}

/// `martlet pace clear`: what had a pace goes as fast as it can.
public enum PaceClearCommand: Service {
  public struct Settings: Sendable {
    let target: PaceTarget
  }

  public static let name = "pace clear"
  public static let summary =
    "Removes the pace of an app, a lane, a group or devices. Pushes that were moved to a retry topic follow after its delay, at"
    + " most 15 minutes."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: PaceTarget.Settings.self, kafkaProperties: true,
    operands: .init(PaceTarget.operands, 2...2, "\(PaceTarget.operandHelp)."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(target: try PaceTarget(values))
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let topic = settings.target.topic
    let cluster = try topic.cluster(context)
    defer { cluster.admin.close() }
    let paces = try topic.paces(cluster, context)
    let subject = try settings.target.subject(among: paces)
    try topic.demand(subject.key, cluster, context, what: "\(subject) has no pace") {
      PaceSubject(key: $0).map { "\($0)" }
    }
    try topic.write(subject.key, nil, cluster)
    Audit.note("pace clear", "\(subject)", context)
    let kept = try topic.paces(cluster, context)[subject]
    StandardOutput.line(
      kept.map { "pace of \(subject): \($0), set by somebody else meanwhile" }
        ?? "no pace of \(subject)")
  }
}

extension PaceRoom {
  /// Fails unless a subject may have a pace beside these, as senders keep it.
  fileprivate static func demand(
    _ subject: PaceSubject, _ paces: [PaceSubject: PaceRate]
  ) throws(ServiceFailure) {
    guard paces[subject] == nil else { return }
    do throws(PaceProblem) {
      try PaceRoom(paces.keys).check(subject)
    } catch {
      let full =
        if case .tooManyOfApp = error {
          "\(PaceRoom.groupsOfAppAtMost) groups of \(subject.app ?? "") have a pace, which is its quota"
        } else {
          "\(PaceRoom.subjectsAtMost) apps, groups and devices have a pace, or \(PaceRoom.groupsAtMost) groups"
        }
      throw ServiceFailure("\(full): clear one first")
    }
  }
}
