// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand
import ServiceKit

/// One run of a scenario, from the first process to the final audit.
struct ScenarioRun {
  let scenario: Scenario
  let options: ChaosOptions
  let log: Logger

  func run() throws -> ScenarioReport {
    let rig = try ChaosRig(options, scenario, log)
    defer { rig.place.removeTopics() }
    var report = ScenarioReport(scenario: scenario.name, seed: options.seed)
    do {
      defer { rig.close() }
      try rig.start()
      try rig.pump(1_000)
      try scenario.steps(rig)
      try rig.settle()
      rig.checkpoints.take(rig.readers, rig.auditor)
      try stopAndAudit(rig, &report)
    } catch {
      rig.problem("the run broke off: \(error)")
    }
    report.problems = rig.problems
    if report.problems.isEmpty, !options.keeps {
      rig.place.remove()
    } else {
      try? File.write(
        "\(rig.place.folder)/problems.txt",
        Array((report.problems.joined(separator: "\n") + "\n").utf8))
      log(ChaosLog.folderKept, ["folder": rig.place.folder])
    }
    return report
  }

  private func stopAndAudit(_ rig: ChaosRig, _ report: inout ScenarioReport) throws {
    rig.stopServices()
    try rig.pump(500)
    try rig.readGateway()
    count(rig, &report)
    judgeNotifications(rig, report)
    judgeStates(rig.auditor.states, rig)
    for text in try rig.checkpoints.leftOver(rig.readers) {
      rig.problem("uncommitted after a clean stop: \(text)")
    }
    for text in rig.checkpoints.violations { rig.problem(text) }
    try judgeTables(rig)
    judgeProcesses(rig, report)
  }

  private func count(_ rig: ChaosRig, _ report: inout ScenarioReport) {
    let totals = rig.auditor.ledger.totals
    report.faults = rig.faults
    report.requests = totals.requests
    report.notifications = rig.readers.notifications
    report.accepted = rig.auditor.accepted
    report.lost = totals.lost + rig.auditor.onlyDeduplicated.count
    report.duplicates = totals.duplicates
    report.deduplicated = totals.deduplicated
    report.deadLetters = totals.deadLettered
    report.checkpoints = rig.checkpoints.count
    report.mapped = rig.checkpoints.mapped
    report.recoverySeconds = Double(rig.slowestRecovery) / 1_000
    report.bound = scenario.bound.limit(
      faults: rig.faultTimes, perSecond: Double(report.notifications) / rig.load.seconds,
      accepted: rig.auditor.acceptedAt)
    // A sender waits for answers as long as it may, which a busy machine can make too short, and says what it left.
    report.bound += rig.leftUnderWay
    report.peakMebibytes = rig.memory.peaks.mapValues { $0 >> 10 }
  }

  private func judgeNotifications(_ rig: ChaosRig, _ report: ScenarioReport) {
    let auditor = rig.auditor
    if report.lost > 0 {
      rig.problem("\(report.lost) lost")
      for lost in auditor.ledger.lost.prefix(10) {
        let place = "request \(lost.partition)/\(lost.offset)"
        rig.problem("  lost: \(place): \(auditor.describe(lost.id))")
      }
      for id in auditor.onlyDeduplicated.prefix(10) {
        rig.problem("  called a repeat, and never heard of: \(auditor.describe(id))")
      }
    }
    let untrue = auditor.untrue
    if !untrue.isEmpty {
      rig.problem("\(untrue.count) first receipts disagree with the gateway's list")
      for id in untrue.prefix(10) { rig.problem("  \(auditor.describe(id))") }
    }
    if auditor.tokenRefusals > 0, !scenario.refusesTokenUpdates {
      rig.problem(
        "\(auditor.tokenRefusals) pushes came with a provider token too soon after another")
    }
    let abandoned = auditor.abandoned
    if !abandoned.isEmpty {
      rig.problem("\(abandoned.count) notifications were given up: \(auditor.senderDeadLetters)")
      for id in abandoned.prefix(10) { rig.problem("  \(auditor.describe(id))") }
    }
    if !auditor.hasBlindSpots, !auditor.wronglySuppressed.isEmpty {
      rig.problem(
        "\(auditor.wronglySuppressed.count) devices were passed over, and the gateway never named them"
      )
    }
    if report.duplicates > report.bound {
      rig.problem("\(report.duplicates) duplicates, and the bound is \(report.bound)")
      for id in auditor.repeated.prefix(10) { rig.problem("  twice: \(auditor.describe(id))") }
    }
    for origin in auditor.undigested.prefix(10) {
      rig.problem("poison at \(origin) is no dead letter")
    }
    for text in rig.load.refused { rig.problem("a request was refused: \(text)") }
    if rig.readers.missed > 0 {
      rig.problem("\(rig.readers.missed) records were removed before they could be read")
    }
    if rig.readers.unreadable > 0 { rig.problem("\(rig.readers.unreadable) unreadable receipts") }
    if rig.isEmbedded, report.checkpoints < 1 { rig.problem("no offsets could be compared") }
  }

  private func judgeStates(_ states: StateAudit, _ rig: ChaosRig) {
    guard scenario.hasActivities else { return }
    rig.log(
      ChaosLog.states,
      [
        "states": "\(states.count)", "superseded": "\(states.supersededCount)",
        "accepted": "\(rig.auditor.accepted)",
      ])
    if states.supersededCount < states.count / 2 {
      rig.problem("only \(states.supersededCount) of \(states.count) states were superseded")
    }
    for id in states.overtaken.prefix(10) {
      rig.problem("accepted after a newer one: \(rig.auditor.describe(id))")
    }
    for id in states.lost.prefix(10) {
      rig.problem("the last state was superseded: \(rig.auditor.describe(id))")
    }
  }

  private func judgeTables(_ rig: ChaosRig) throws {
    let tables = TableAudit(rig.kafka, rig.place.names)
    for text in try tables.mints().hasty { rig.problem(text) }
    for text in try tables.databaseDifferences(rig.pipeline.database).prefix(10) {
      rig.problem(text)
    }
    let devices = try tables.invalidDifferences([rig.pipeline.database], rig.auditor.invalid)
    if devices.missing > 0 {
      rig.problem(
        "the database lacks \(devices.missing) devices that the gateway called unregistered")
    }
    if devices.unexpected > 0, !rig.auditor.hasBlindSpots {
      rig.problem(
        "the database has \(devices.unexpected) invalid tokens that the gateway never named, or that"
          + " registered later")
    }
  }

  private func judgeProcesses(_ rig: ChaosRig, _ report: ScenarioReport) {
    rig.checkEndings()
    rig.finishMemory()
    let limits = scenario.senderMebibytes.map { limit in
      rig.allSenders.reduce(into: [String: Int]()) { $0[$1] = limit }
    }
    for text in rig.memory.excesses(pushes: report.notifications, limits: limits ?? [:]) {
      rig.problem(text)
    }
  }
}
