// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
package import ServiceKit
package import Settings

/// `martlet up`: everything on one machine.
package enum UpCommand: Service {
  package struct Settings: Sendable {
    let folder: String?
    let senders: Int
    let topicPrefix: String
    let kafka: String?
    let kafkaFlags: [String]
    let tokenKey: String?
  }

  package static let name = "up"
  package static let summary =
    "Runs everything on this machine: an embedded Kafka broker, the simulator, signer, ingest, senders"
    + " and feedback, until Ctrl-C. For trying it out: the broker holds records in memory only."
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      .integer("senders", default: 1, in: 1...64, "Sending processes."),
      .path(
        "dir", use: .folder,
        "Where keys, logs and the database are kept; without it they go to a temporary folder that"
          + " stays behind."),
      .endpoints("kafka", "A Kafka cluster to use instead of the embedded broker."),
      CommonSettings.topicPrefix, CommonSettings.tokenKey,
    ], kafkaProperties: true)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let cluster = values.endpoints("kafka").map(\.description).joined(separator: ",")
    return Settings(
      folder: values.optionalText("dir"), senders: values.integer("senders"),
      topicPrefix: values.text(CommonSettings.topicPrefix.name),
      kafka: cluster.isEmpty ? nil : cluster, kafkaFlags: values.kafka.flags,
      tokenKey: try TokenSeal(values).path)
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      var plan = LocalPipeline.Plan(
        folder: try settings.folder ?? TemporaryPlace.make("martlet-up"),
        credentials: [.init(teamID: "MARTLETDEV", keyID: "MARTLETKEY", apps: ["*"])])
      plan.senders = settings.senders
      plan.kafka = settings.kafka
      plan.topicPrefix = settings.topicPrefix
      plan.kafkaFlags = settings.kafkaFlags
      plan.tokenKey = settings.tokenKey
      let pipeline = try LocalPipeline(plan, log: context.log)
      try pipeline.start()
      defer { stop(pipeline, context) }
      for line in introduction(pipeline) { StandardOutput.line(line) }
      try wait(pipeline, context)
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// Until a stop is requested. Throws when the broker dies: what it held is gone, and no process
  /// can make up for that.
  private static func wait(
    _ pipeline: LocalPipeline, _ context: ServiceContext
  ) throws(ServiceFailure) {
    while !context.signals.isStopping {
      if let broker = pipeline.processes.state("broker"), broker.pid == nil {
        throw ServiceFailure(
          "the broker has ended, and all records with it; see \(pipeline.logFile("broker"))")
      }
      usleep(100_000)
    }
  }

  private static func stop(_ pipeline: LocalPipeline, _ context: ServiceContext) {
    let killed = pipeline.stop()
    if let status = pipeline.processes.state("broker")?.lastStatus, status != 0 {
      context.log.error(
        "the broker reports lost records", ["log": pipeline.logFile("broker")])
    }
    if killed.isEmpty { context.log.info("all processes have ended") }
  }

  private static func introduction(_ pipeline: LocalPipeline) -> [String] {
    let topic = pipeline.plan.topicPrefix + "requests"
    let memory = pipeline.plan.kafka == nil ? " (in memory: gone when this ends)" : ""
    let example =
      #"{"app":"com.example.app","token":"00fc13adff785122b4ad28809a3420982341241421348097878e577c"#
      + #"991de8f0","payload":{"aps":{"alert":"Hello"}}}"#
    return [
      "Martlet is up. Kafka at \(pipeline.kafka)\(memory), simulator at \(pipeline.gateway)",
      "state and logs in \(pipeline.plan.folder)",
      "",
      "produce a request:",
      "  echo '\(example)' | kcat -P -b \(pipeline.kafka) -t \(topic)",
      "  martlet import FILE --kafka \(pipeline.kafka)",
      "watch the outcomes:",
      "  martlet inspect receipts --follow --kafka \(pipeline.kafka)",
      "make a broadcast channel:",
      "  martlet channels create --app com.example.app --config \(pipeline.channelSettings)",
      "",
      "Ctrl-C ends it.",
    ]
  }
}
