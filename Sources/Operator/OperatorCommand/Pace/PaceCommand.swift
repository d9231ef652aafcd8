// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings
import Telemetry

/// `martlet pace`: lists the paces; `martlet pace KIND NAME RATE`: limits the pushes of an app, a lane or a group, or
/// to a device, to a number per unit of time.
enum PaceCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) private var topicPrefix: String
    @Declared(CommandSettings.oneEnvironment) var environment: String

    @Declared(
      .text(
        "app", placeholder: "APP",
        "The app of a group: needed unless one group of the name has a pace, of one app.")
    ) var app: String?

    @Declared(
      .choice(
        "push-type", of: PushType.allCases.map(\.description), default: "background",
        "The push type of a device's pace.")) var pushType: String

    @Declared(CommandSettings.reason) fileprivate var reason: String?
    fileprivate var wish = Wish.list
    fileprivate var topic: ControlTopic?

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      topic = try ControlTopic(values, clientID: "martlet-pace")
      guard !values.operands.isEmpty else { return }
      let target = try PaceTarget(values.operands.prefix(2), self, values)
      wish = .show(target)
      guard values.operands.count == 3 else { return }
      let word = values.operands[2]
      wish = .clear(target)
      guard word != "none" else { return }
      guard let rate = PaceRate(word) else {
        throw SettingErrors(
          nil,
          "\"\(word)\" is no rate: a number from 1 to \(PaceRate.most), and /s, /m, /h or /d, or none; martlet pause stops"
            + " something entirely")
      }
      try target.check(rate)
      wish = .set(target, rate)
    }
  }

  fileprivate enum Wish: Sendable {
    case list
    case show(PaceTarget)
    case set(PaceTarget, PaceRate)
    case clear(PaceTarget)
  }

  static let name = "pace"
  static let summary =
    "Sets the pace of an app, a lane or a group of requests, or of each device of an app: all senders together send no"
    + " more of it. What is too much waits in Kafka, and its expirations still apply. With none in place of RATE it removes"
    + " the pace: pushes that were moved to a retry topic follow after its delay, at most 15 minutes. Without RATE it shows"
    + " the pace, and without anything all paces."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init(
      "KIND NAME RATE|none", 0...3,
      "KIND is app, lane, group or device (each of an app, for one push type); NAME the app's bundle id, the lane's name, or"
        + " the group of the app's requests (--app); RATE is a count and a unit of time, such as 200/s, 1000/m, 500/h or"
        + " 10000/d; for a device 1 to 8 in a minute, an hour or a day."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    guard let topic = settings.topic else { return }
    let cluster = try topic.cluster(context)
    switch settings.wish {
    case .list:
      let lines = try topic.list(cluster, context, line)
      for line in lines.isEmpty ? ["no pace is set"] : lines { StandardOutput.line(line) }
    case .show(let target):
      let paces = try topic.paces(cluster, context)
      let subject = try target.subject(among: paces)
      StandardOutput.line("pace of \(subject): \(paces[subject].map { "\($0)" } ?? "none")")
    case .set(let target, let rate):
      let paces = try topic.paces(cluster, context)
      let subject = try target.subject(among: paces)
      try PaceRoom.demand(subject, paces)
      try topic.write(
        subject.key, .init(key: "pace", value: .string("\(rate)")), reason: settings.reason, cluster
      )
      Audit.note("pace set", "\(subject) \(rate)", context)
      // Senders use the newest record of the topic, and another operator may have written one after ours.
      let done = "the pace of \(subject) is written"
      let kept = try topic.paces(cluster, context, done: done)[subject]
      let remark =
        if case .lane(let lane) = subject { topic.remark(onLane: lane, cluster) } else { "" }
      StandardOutput.line("pace of \(subject): \(kept.map { "\($0)" } ?? "none")\(remark)")
    case .clear(let target): try clear(target, topic, cluster, context)
    }
  }

  private static func clear(
    _ target: PaceTarget, _ topic: ControlTopic, _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let subject = try target.subject(among: topic.paces(cluster, context))
    try topic.demand(
      subject.key, cluster, context, what: "\(subject) has no pace", kind: "paces"
    ) { key, _ in PaceSubject(key: key).map { "\($0)" } }
    try topic.write(subject.key, nil, cluster)
    Audit.note("pace clear", "\(subject)", context)
    let done = "the end of the pace of \(subject) is written"
    let kept = try topic.paces(cluster, context, done: done)[subject]
    StandardOutput.line(
      kept.map { "pace of \(subject): \($0), set by somebody else meanwhile" }
        ?? "no pace of \(subject)")
  }

  /// A line such as `group:com.example.app:production:spring-sale  200/s  since … by ann`; nil without a pace.
  private static func line(_ key: String, _ value: UnsafeRawBufferPointer) -> String? {
    guard let subject = PaceSubject(key: key) else { return nil }
    let rate = (try? ControlRecord.pace(value)).flatMap { $0.map { "\($0)" } }
    return
      "\(TerminalText.plain("\(subject)"))  \(rate ?? "unreadable")\(ControlTopic.author(value))"
  }
}

extension PaceRoom {
  /// Fails unless a subject can have a pace in addition to these, by the senders' rules.
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
