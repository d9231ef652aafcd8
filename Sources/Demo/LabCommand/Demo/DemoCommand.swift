// SPDX-License-Identifier: Apache-2.0
import Kafka
public import ServiceKit
public import Settings

/// `martlet demo`: sends a day's worth of requests through the whole pipeline, and audits every one.
public enum DemoCommand: Command {
  public struct Settings: DeclaredSettings, Sendable {
    /// An existing cluster; nil for an embedded broker.
    var kafka: KafkaConfiguration?
    var kafkaFlags: [String] = []
    @Declared(.integer("requests", default: 20_000, in: 1...10_000_000, "Requests to generate."))
    var requests: Int

    @Declared(
      .integer(
        "seed", default: 1, "Seed of the requests; the same seed generates the same requests."))
    private var seedNumber: Int

    @Declared(
      .path(
        "input", placeholder: "FILE", "File of requests to use instead, one JSON object per line."))
    var input: String?

    @Declared(.integer("senders", default: 2, in: 1...64, "Number of sender processes."))
    var senders: Int

    @Declared(.endpoints("kafka", "Existing Kafka cluster to use instead of the embedded broker."))
    private var bootstrap: [Endpoint]

    @Declared(CommonSettings.tokenKey) var tokenKey: String?

    @Declared(
      .boolean(
        "kill-sender", "Kill one sender with SIGKILL halfway, to show that nothing is lost."))
    var killsSender: Bool

    @Declared(.boolean("json", "Also print the result as one JSON object on the last line."))
    var printsJSON: Bool

    @Declared(
      .boolean("keep", "Keep the folder with requests, keys, logs and database (and the topics)."))
    var keeps: Bool

    var seed: UInt64 { UInt64(seedNumber) }
    fileprivate var isOnCluster: Bool { !bootstrap.isEmpty }

    public init() {}

    public mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      if isOnCluster { kafka = try KafkaConfiguration(values, clientID: "martlet-demo") }
      kafkaFlags = values.kafka.flags
      tokenKey = try TokenSeal(values).path
    }
  }

  public static let name = LabProgram.demo.rawValue
  public static let summary = LabProgram.demo.summary
  public static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try orFail {
      let place = try DemoSetup(settings, context)
      let run: DemoRun
      let report: DemoReport
      do {
        run = try DemoRun(settings, place, context)
        report = try run.run()
      } catch {
        // A run that was stopped leaves nothing to look into.
        let isOver = context.signals.isStopping && !settings.keeps
        if isOver { place.remove(context) } else { place.leave(context) }
        throw error
      }
      StandardOutput.line(report.table)
      let problems = report.problems + run.remarks
      for problem in problems { context.log(LabLog.demoProblem, ["problem": problem]) }
      let isKept = settings.keeps || !report.problems.isEmpty
      if isKept { place.leave(context) } else { place.remove(context) }
      if settings.printsJSON { StandardOutput.line(report.json) }
      guard report.problems.isEmpty else {
        throw ServiceFailure("the audit failed; logs are in \(place.folder)/logs")
      }
    }
  }
}
