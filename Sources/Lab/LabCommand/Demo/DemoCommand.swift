// SPDX-License-Identifier: Apache-2.0
import Kafka
import OperatorCommand
package import ServiceKit
package import Settings

/// `martlet demo`: a day's worth of requests through the whole pipeline, and an audit of every one.
package enum DemoCommand: Service {
  package struct Settings: Sendable {
    let requests: Int
    let seed: UInt64
    let input: String?
    let senders: Int
    /// An existing cluster, or nil.
    let kafka: KafkaConfiguration?
    let kafkaFlags: [String]
    let tokenKey: String?
    let killsSender: Bool
    let printsJSON: Bool
    let keeps: Bool
    let stallMilliseconds: UInt64
  }

  package static let name = LabProgram.demo.rawValue
  package static let summary = LabProgram.demo.summary
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      .integer("requests", default: 20_000, in: 1...10_000_000, "Requests to generate."),
      .integer(
        "seed", default: 1, "Seed of the requests; the same seed generates the same requests."),
      .path(
        "input", placeholder: "FILE", "File of requests to use instead, one JSON object per line."),
      .integer("senders", default: 2, in: 1...64, "Number of sender processes."),
      .endpoints("kafka", "Existing Kafka cluster to use instead of the embedded broker."),
      CommonSettings.tokenKey,
      .boolean(
        "kill-sender", "Kill one sender with SIGKILL halfway, to show that nothing is lost."),
      .boolean("json", "Also print the result as one JSON object on the last line."),
      .boolean("keep", "Keep the folder with requests, keys, logs and database (and the topics)."),
      .duration(
        "stall-timeout", default: "30s", in: 1_000...3_600_000,
        "Give up after this time without progress."),
    ], kafkaProperties: true)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let cluster = values.endpoints("kafka").map(\.description).joined(separator: ",")
    return Settings(
      requests: values.integer("requests"), seed: UInt64(values.integer("seed")),
      input: values.optionalText("input"), senders: values.integer("senders"),
      kafka: cluster.isEmpty ? nil : try KafkaConfiguration(values, clientID: "martlet-demo"),
      kafkaFlags: values.kafka.flags, tokenKey: try TokenSeal(values).path,
      killsSender: values.boolean("kill-sender"),
      printsJSON: values.boolean("json"), keeps: values.boolean("keep"),
      stallMilliseconds: UInt64(values.milliseconds("stall-timeout")))
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      let place = try DemoPlace(settings, context)
      let run = try DemoRun(settings, place, context)
      let report = try run.run()
      StandardOutput.line(report.table)
      let problems = report.problems + run.remarks
      for problem in problems { context.log.error(problem) }
      let isKept = settings.keeps || !report.problems.isEmpty
      if isKept {
        context.log.info("folder kept", ["folder": place.folder])
      } else {
        place.remove()
      }
      if settings.printsJSON { StandardOutput.line(report.json) }
      guard report.problems.isEmpty else {
        throw ServiceFailure("the audit failed; logs are in \(place.folder)/logs")
      }
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }
}
