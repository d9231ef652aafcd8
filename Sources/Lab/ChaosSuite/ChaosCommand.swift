// SPDX-License-Identifier: Apache-2.0
import Kafka
package import ServiceKit
package import Settings

/// The chaos suite's command: hurts a pipeline of real processes and audits what it did.
package enum ChaosCommand: Service {
  package static let name = "martlet-chaos"
  package static let summary =
    "Runs the pipeline as real processes under a seeded load, injects a scenario's faults, waits until"
    + " everything is accounted for, and compares requests, receipts, dead letters, the gateway's"
    + " list, committed offsets and the database. Fails if anything is lost."
  package static let reportsCounters = false
  package static let table = SettingTable(
    declaredBy: ChaosOptions.self,
    operands: .init("SCENARIO", 0...100, "The scenarios to run; all unless named."))

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> ChaosOptions {
    let known = Scenario.all.map(\.name)
    for name in values.operands where !known.contains(name) {
      throw SettingErrors(
        "SCENARIO", "there is no \(name); there are \(known.joined(separator: ", "))")
    }
    return ChaosOptions(values)
  }

  package static func run(
    _ settings: ChaosOptions, _ context: ServiceContext
  ) throws(ServiceFailure) {
    if settings.onlyLists { return list() }
    // Brokers go away on purpose.
    KafkaLog.silence()
    var options = settings
    options.signals = context.signals
    let failed = try runAll(options, context)
    guard failed.isEmpty else {
      throw ServiceFailure("failed: \(failed.joined(separator: ", "))")
    }
  }

  private static func list() {
    for scenario in Scenario.all {
      StandardOutput.line(scenario.documentation)
    }
  }

  /// Runs what was asked for; returns the names of those that failed.
  private static func runAll(
    _ options: ChaosOptions, _ context: ServiceContext
  ) throws(ServiceFailure) -> [String] {
    var failed: [String] = []
    if !options.printsJSON { StandardOutput.line(ScenarioReport.heading) }
    for scenario in Scenario.all {
      let isNamed = options.scenarios.contains(scenario.name)
      guard isNamed || options.scenarios.isEmpty && (!options.isShort || scenario.isShort) else {
        continue
      }
      if let obstacle = scenario.obstacle(options) {
        StandardOutput.line("\(scenario.name) skipped: \(obstacle)")
        continue
      }
      do {
        let report = try run(scenario, options, context)
        StandardOutput.line(options.printsJSON ? report.json : report.row)
        guard !report.problems.isEmpty else { continue }
      } catch {
        context.log.error("\(error)", ["scenario": scenario.name])
      }
      failed.append(scenario.name)
      StandardError.line("run it again with: \(options.replay(scenario))")
      if context.signals.isStopping { break }
    }
    return failed
  }

  /// Runs a scenario, again if the embedded broker gave up: librdkafka's mock cluster has assertions that do not
  /// hold when it goes down while a member waits to join.
  private static func run(
    _ scenario: Scenario, _ options: ChaosOptions, _ context: ServiceContext
  ) throws -> ScenarioReport {
    for _ in 0..<2 {
      let report = try ScenarioRun(scenario: scenario, options: options, log: context.log).run()
      guard report.hasBrokerAborted else { return report }
      context.log.warning(
        "the embedded broker ended by an assertion of its own; running the scenario again",
        ["scenario": scenario.name])
    }
    return try ScenarioRun(scenario: scenario, options: options, log: context.log).run()
  }
}
