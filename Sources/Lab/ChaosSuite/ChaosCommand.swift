// SPDX-License-Identifier: Apache-2.0
import Kafka
package import ServiceKit
package import Settings

/// The chaos suite's command: hurts a pipeline of real processes and audits what it did.
package enum ChaosCommand: Service {
  package struct Settings: Sendable {
    let names: [String]
    let values: [String: Int]
    let seed: UInt64
    let kafka: String?
    let restartCommand: String?
    let shim: String?
    let livenessMilliseconds: Int64
    let isShort: Bool
    let printsJSON: Bool
    let keeps: Bool
  }

  package static let name = "martlet-chaos"
  package static let summary =
    "Runs the pipeline as real processes under a seeded load, injects a scenario's faults, waits until"
    + " everything is accounted for, and compares requests, receipts, dead letters, the gateway's"
    + " list, committed offsets and the database. Fails if anything is lost."
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      .integer("seed", default: 1, "Chooses requests, moments and victims."),
      .integer(
        "kills", default: 20, in: 1...10_000, "Faults of each scenario; 2 in the short form."),
      .integer(
        "rate", default: 300, in: 1...100_000, "Requests per second; 120 in the short form."),
      .boolean("short", "The form for every change: few faults, only the scenarios marked for it."),
      .endpoints("kafka", "A real cluster instead of the embedded broker."),
      .text(
        "restart-broker", placeholder: "COMMAND",
        "A shell command that restarts one broker of the cluster, for broker-restart."),
      .path(
        "shim", "The library that shifts clocks and fails writes (benchmarks/chaos builds it)."),
      .duration(
        "liveness", default: "150s", in: 1_000...3_600_000,
        "How long after the last fault everything may take to be accounted for."),
      .boolean("json", "One JSON object per scenario instead of a table."),
      .boolean("keep", "Keep logs and database of runs that passed, too."),
      .boolean("list", "Only list the scenarios, as docs/chaos.md has them."),
    ],
    operands: .init("SCENARIO", 0...100, "The scenarios to run; all unless named."))

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let known = Scenario.all.map(\.name)
    for name in values.operands where !known.contains(name) {
      throw SettingErrors(
        "SCENARIO", "there is no \(name); there are \(known.joined(separator: ", "))")
    }
    let cluster = values.endpoints("kafka").map(\.description).joined(separator: ",")
    let isShort = values.boolean("short")
    func number(_ name: String, short: Int) -> Int {
      isShort && !values.isGiven(name) ? short : values.integer(name)
    }
    return Settings(
      names: values.boolean("list") ? ["list"] : values.operands,
      values: ["kills": number("kills", short: 2), "rate": number("rate", short: 120)],
      seed: UInt64(values.integer("seed")), kafka: cluster.isEmpty ? nil : cluster,
      restartCommand: values.optionalText("restart-broker"), shim: values.optionalText("shim"),
      livenessMilliseconds: values.milliseconds("liveness"), isShort: isShort,
      printsJSON: values.boolean("json"), keeps: values.boolean("keep"))
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    if settings.names == ["list"] { return list() }
    // Brokers go away on purpose.
    KafkaLog.silence()
    var options = ChaosOptions(signals: context.signals)
    options.scenarios = settings.names
    options.seed = settings.seed
    options.kills = settings.values["kills"] ?? options.kills
    options.rate = settings.values["rate"] ?? options.rate
    options.isShort = settings.isShort
    options.kafka = settings.kafka
    options.restartCommand = settings.restartCommand
    options.shim = settings.shim
    options.keeps = settings.keeps
    options.livenessMilliseconds = UInt64(settings.livenessMilliseconds)
    let failed = try runAll(options, settings, context)
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
    _ options: ChaosOptions, _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) -> [String] {
    var failed: [String] = []
    if !settings.printsJSON { StandardOutput.line(ScenarioReport.heading) }
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
        StandardOutput.line(settings.printsJSON ? report.json : report.row)
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
