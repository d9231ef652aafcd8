// SPDX-License-Identifier: Apache-2.0
import Kafka
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

  package static let name = "demo"
  package static let summary =
    "Sends generated requests through Kafka, ingest, senders and the simulated gateway, and checks"
    + " receipts, dead letters, the gateway's own list and the token database against each other."
    + " Fails if anything is lost."
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      .integer("requests", default: 20_000, in: 1...10_000_000, "Requests to generate."),
      .integer("seed", default: 1, "Chooses the requests; the same seed makes the same ones."),
      .path("input", placeholder: "FILE", "Requests of your own instead, one JSON object a line."),
      .integer("senders", default: 2, in: 1...64, "Sending processes."),
      .endpoints("kafka", "An existing Kafka cluster instead of the embedded broker."),
      CommonSettings.tokenKey,
      .boolean(
        "kill-sender", "Kill one sender with SIGKILL half-way, to see that nothing is lost."),
      .boolean("json", "Print the result as one JSON object on the last line as well."),
      .boolean("keep", "Keep the folder with requests, keys, logs and database (and the topics)."),
      .duration(
        "stall-timeout", default: "30s", in: 1_000...3_600_000,
        "Give up when nothing has happened for this long."),
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
        context.log.info("kept", ["folder": place.folder])
      } else {
        place.remove()
      }
      if settings.printsJSON { StandardOutput.line(report.json) }
      guard report.problems.isEmpty else {
        throw ServiceFailure("the run does not add up; logs are in \(place.folder)/logs")
      }
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }
}
