// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
public import ServiceKit
public import Settings

/// The chaos suite's command: injects faults into a pipeline of real processes and audits the result.
public enum ChaosCommand: Service {
  public static let name = "martlet-chaos"
  public static let summary =
    "Runs the pipeline as real processes under a seeded load, injects a scenario's faults, waits until"
    + " everything is accounted for, and compares requests, receipts, dead letters, the gateway's"
    + " list, committed offsets and the database. Fails if anything is lost."
  public static let reportsCounters = false
  public static let table = SettingTable(
    declaredBy: ChaosOptions.self,
    operands: .init("SCENARIO", 0...100, "The scenarios to run; all unless named."))

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> ChaosOptions {
    let known = Scenario.all.map(\.name)
    for name in values.operands where !known.contains(name) {
      throw SettingErrors(
        "SCENARIO", "there is no \(name); there are \(known.joined(separator: ", "))")
    }
    return ChaosOptions(values)
  }

  public static func run(
    _ settings: ChaosOptions, _ context: ServiceContext
  ) throws(ServiceFailure) {
    if settings.onlyLists { return list() }
    // Brokers disappear on purpose.
    KafkaLog.silence()
    var options = settings
    options.signals = context.signals
    let failed = try runAll(options, context)
    guard failed.isEmpty else { throw ServiceFailure("failed: \(failed.joined(separator: ", "))") }
  }

  private static func list() {
    for scenario in Scenario.all { StandardOutput.line(scenario.listing) }
  }

  /// Runs the requested scenarios; returns the names of the failed ones.
  private static func runAll(
    _ options: ChaosOptions, _ context: ServiceContext
  ) throws(ServiceFailure) -> [String] {
    if !options.printsJSON { StandardOutput.line(ScenarioReport.heading) }
    let queue = ScenarioQueue(chosen(options))
    do {
      try work(threads: options.atOnce, queue, options, context)
    } catch {
      throw ServiceFailure("\(error)")
    }
    return queue.failed
  }

  /// Runs the queue's scenarios on this many threads, including this one.
  private static func work(
    threads: Int, _ queue: ScenarioQueue, _ options: ChaosOptions, _ context: ServiceContext
  ) throws(SystemError) {
    guard threads > 1 else { return work(queue, options, context) }
    let thread = try LoopThread(name: "scenarios") { work(queue, options, context) }
    try work(threads: threads - 1, queue, options, context)
    thread.join()
  }

  private static func work(
    _ queue: ScenarioQueue, _ options: ChaosOptions, _ context: ServiceContext
  ) {
    while !context.signals.isStopping, let scenario = queue.next() {
      if !isPassed(scenario, options, context) { queue.addFailure(scenario) }
    }
  }

  /// The scenarios that can run with these options; for the others the reason is printed.
  private static func chosen(_ options: ChaosOptions) -> [Scenario] {
    Scenario.all.filter { scenario in
      let isNamed = options.scenarios.contains(scenario.name)
      guard isNamed || options.scenarios.isEmpty && (!options.isShort || scenario.isShort) else {
        return false
      }
      guard let obstacle = scenario.obstacle(options) else { return true }
      StandardOutput.line("\(scenario.name) skipped: \(obstacle)")
      return false
    }
  }

  /// Runs a scenario, prints its result, and returns whether it passed.
  private static func isPassed(
    _ scenario: Scenario, _ options: ChaosOptions, _ context: ServiceContext
  ) -> Bool {
    do {
      let report = try run(scenario, options, context)
      StandardOutput.line(options.printsJSON ? report.json : report.row)
      if report.problems.isEmpty { return true }
    } catch {
      context.log(ChaosLog.scenarioFailed, ["scenario": scenario.name, "error": "\(error)"])
    }
    StandardError.line("run it again with: \(options.replay(scenario))")
    return false
  }

  private static func run(
    _ scenario: Scenario, _ options: ChaosOptions, _ context: ServiceContext
  ) throws -> ScenarioReport {
    let shared = context.log
    // Each line names its scenario.
    let log = Logger(
      service: "\(shared.service)/\(scenario.name)", level: shared.level, format: shared.format)
    return try ScenarioRun(scenario: scenario, options: options, log: log).run()
  }
}
