// SPDX-License-Identifier: Apache-2.0
import ServiceKit
public import Settings

/// The options of a run of the suite.
public struct ChaosOptions: DeclaredSettings, Sendable {
  @Declared(.integer("seed", default: 1, "Chooses requests, moments and victims."))
  private var seedNumber: Int

  @Declared(
    .integer("kills", default: 20, in: 1...10_000, "Faults of each scenario; 2 in the short form."))
  var kills: Int

  /// Each request is for about 2.6 devices.
  @Declared(
    .integer("rate", default: 300, in: 1...100_000, "Requests per second; 120 in the short form."))
  var rate: Int

  @Declared(
    .integer(
      "activities", default: 100, in: 20...100_000,
      "Live Activities of newest-state, each with ten updates a second.")) var activities: Int

  @Declared(
    .boolean("short", "The form for every change: few faults, only the scenarios marked for it."))
  var isShort: Bool

  /// They mostly wait. Each has its own processes, ports, folder and broker, or its own topics on a cluster.
  @Declared(.integer("at-once", default: 1, in: 1...64, "Scenarios that run at the same time."))
  var atOnce: Int

  @Declared(.endpoints("kafka", "A real cluster instead of the embedded broker."))
  private var cluster: [Endpoint]

  @Declared(
    .text(
      "restart-broker", placeholder: "COMMAND",
      "A shell command that restarts one broker of the cluster, for broker-restart."))
  var restartCommand: String?

  @Declared(
    .path("shim", "The library that shifts clocks and fails writes (benchmarks/chaos builds it)."))
  var shim: String?

  @Declared(
    .duration(
      "liveness", default: "150s", in: 1_000...3_600_000,
      "How long after the last fault everything may take to be accounted for."))
  private var liveness: Int64

  @Declared(.boolean("json", "One JSON object per scenario instead of a table."))
  var printsJSON: Bool

  @Declared(.boolean("keep", "Keep logs and database of runs that passed, too.")) var keeps: Bool

  @Declared(.boolean("list", "Only list the scenarios, with their bounds and the reasons."))
  var onlyLists: Bool

  /// The scenarios to run; empty for all (of the short form).
  var scenarios: [String] = []
  var signals = ServiceSignals()

  public init() {}

  init(_ values: SettingValues) {
    self = Self.reading(values)
    scenarios = values.operands
    if isShort, !values.isGiven("kills") { kills = 2 }
    if isShort, !values.isGiven("rate") { rate = 120 }
  }

  var seed: UInt64 { UInt64(seedNumber) }

  /// `host:port` of a real cluster, or nil for the embedded broker.
  var kafka: String? { cluster.isEmpty ? nil : cluster.map(\.description).joined(separator: ",") }

  /// The time after the last fault within which everything must be accounted for. The second retry tier waits for a
  /// minute.
  var livenessMilliseconds: UInt64 { UInt64(liveness) }

  /// The session timeout of groups; a real cluster accepts no less than 6 s by default.
  var sessionMilliseconds: Int { kafka == nil ? 3_000 : 6_000 }

  /// The command line that runs one scenario again.
  func replay(_ scenario: Scenario) -> String {
    var words = ["benchmarks/chaos", scenario.name, "--seed", "\(seed)", "--kills", "\(kills)"]
    words += ["--rate", "\(rate)"]
    if scenario.hasActivities { words += ["--activities", "\(activities)"] }
    if let kafka { words += ["--kafka", kafka] }
    if let restartCommand { words += ["--restart-broker", "'\(restartCommand)'"] }
    return words.joined(separator: " ")
  }
}
