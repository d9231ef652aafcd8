// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Settings

/// `martlet resume`: resumes the pushes of a paused app, lane or campaign.
enum ResumeCommand: Command {
  static let name = "resume"
  static let summary =
    "Resumes a paused app, lane or campaign. Pushes of an app or a campaign that were moved to a retry topic follow after its"
    + " delay, at most 15 minutes."
  static let table = SettingTable(
    PauseTarget.settings, kafkaProperties: true, operands: PauseTarget.operands)

  static func settings(_ values: SettingValues) throws(SettingErrors) -> PauseTarget {
    let target = try PauseTarget(values)
    guard target.subject != nil else {
      throw SettingErrors(nil, "name an app, a lane with --lane, or a campaign with --campaign")
    }
    return target
  }

  static func run(_ target: PauseTarget, _ context: ServiceContext) throws(ServiceFailure) {
    switch target.subject {
    case nil: return
    case .campaign(let campaign): try campaign.ask(.resumed, context)
    case .pushes(let subject): try resume(subject, target.topic, context)
    }
  }

  private static func resume(
    _ subject: PauseSubject, _ topic: ControlTopic, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try topic.cluster(context)
    try topic.demand(
      subject.key, cluster, context, what: "\(subject.key) is not paused", kind: "paused"
    ) { ControlRecord.isPaused($1) == true ? $0 : nil }
    try topic.write(subject.key, nil, cluster)
    Audit.note("resume", subject.key, context)
    let done = "the end of the pause of \(subject.key) is written"
    guard try !topic.isPaused(subject, cluster, context, done: done) else {
      throw ServiceFailure("\(subject.key) is paused: somebody has paused it meanwhile")
    }
    StandardOutput.line("resumed \(subject.key)")
  }
}
