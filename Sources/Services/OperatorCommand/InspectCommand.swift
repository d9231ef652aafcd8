// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
package import ServiceKit
package import Settings

/// `martlet inspect TOPIC`: what is on a topic, readable.
package enum InspectCommand: Service {
  package struct Settings: Sendable {
    let kafka: KafkaConfiguration
    let names: TopicNames
    let topic: String
    let fromEnd: Bool
    let follows: Bool
    let limit: Int
    let isRaw: Bool
  }

  package static let name = "inspect"
  package static let summary =
    "Prints the records of a topic, decoded, one a line. Device tokens are shortened; provider tokens"
    + " are never shown."
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix,
      .choice(
        "from", of: ["beginning", "end"], default: "beginning",
        "Where to begin; end shows only what is written from now on, and follows."),
      .boolean("follow", "Go on with what is written later, until stopped."),
      .integer("limit", default: 0, "Stop after so many lines; 0 is no limit."),
      .boolean("raw", "Show device tokens in full and values as they are."),
    ], kafkaProperties: true,
    operands: .init(
      "TOPIC", 1...1,
      "A topic of Martlet by its short name, such as receipts, notifications, dead-letters; or any"
        + " full name."))

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let names = TopicNames(prefix: values.text(CommonSettings.topicPrefix.name))
    let word = values.operands[0]
    let fromEnd = values.text("from") == "end"
    return Settings(
      kafka: try KafkaConfiguration(values, clientID: "martlet-inspect"), names: names,
      topic: TopicLookup.find(word, in: names) ?? word, fromEnd: fromEnd,
      follows: values.boolean("follow") || fromEnd, limit: values.integer("limit"),
      isRaw: values.boolean("raw"))
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    defer { cluster.admin.close() }
    do {
      let known = try cluster.admin.partitionCounts(timeoutMilliseconds: 10_000)
      guard known[settings.topic] != nil else {
        throw ServiceFailure(
          "there is no topic \(settings.topic); Martlet's own are \(TopicLookup.list(settings.names))"
        )
      }
      let tail = try KafkaTail(
        cluster.configuration, topic: settings.topic, from: settings.fromEnd ? .end : .beginning)
      defer { tail.close() }
      show(tail, settings, context)
      if tail.missed > 0 {
        StandardError.line("\(tail.missed) records were gone before they could be read")
      }
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private static func show(_ tail: KafkaTail, _ settings: Settings, _ context: ServiceContext) {
    var batch = KafkaBatch(capacity: 200)
    let printer = RecordPrinter(settings.names, topic: settings.topic, isRaw: settings.isRaw)
    var shown = 0
    while !context.signals.isStopping {
      let count = tail.poll(into: &batch, timeoutMilliseconds: 100)
      defer { batch.release() }
      for index in 0..<count {
        for line in printer.lines(batch[index]) {
          guard StandardOutput.line(line) else { return }
          shown += 1
          if shown == settings.limit { return }
        }
      }
      if count == 0 && tail.isCaughtUp && !settings.follows { return }
    }
  }
}
