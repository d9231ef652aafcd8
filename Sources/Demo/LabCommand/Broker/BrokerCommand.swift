// SPDX-License-Identifier: Apache-2.0
import Bytes
import CommandKit
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import HTTPServer
import Kafka
public import ServiceKit
public import Settings

/// `martlet broker`: the embedded Kafka broker in a process of its own.
public enum BrokerCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    var topics: [TopicSpecification] = []
    @Declared(CommonSettings.topicPrefix) private var topicPrefix: String
    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    fileprivate var lanes = Lanes.standard

    @Declared(PartitionCounts.setting) private var partitions: [String]

    @Declared(
      .path(
        "address-file", use: .output, placeholder: "FILE",
        "File for the broker's address (host:port), which is also printed on standard output."))
    var addressFile: String?

    @Declared(
      .integer("port", default: 0, in: 0...65_535, "Port on 127.0.0.1; 0 takes a free one."))
    private var portNumber: Int

    @Declared(.integer("brokers", default: 1, in: 1...9, "Brokers that the cluster simulates."))
    var brokers: Int

    @Declared(
      .endpoint(
        "control",
        "Address and port (0 takes a free one) of an HTTP interface that injects faults, for tests"
          + " (docs/guarantees.md). Off by default; keep it on a loopback address.")) var control:
      Endpoint?

    var names: TopicNames { TopicNames(prefix: topicPrefix, lanes: lanes) }
    var port: UInt16 { UInt16(portNumber) }

    public init() {}
  }

  /// Between two checks for unread records that were dropped, in milliseconds.
  private static let checkInterval: Int64 = 500

  public static let name = LabProgram.broker.rawValue
  public static let summary = LabProgram.broker.summary
  public static let belongsToTerminal = true
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.lanes = try Lanes(values)
    settings.topics = try PartitionCounts.specifications(settings.names, values)
    return settings
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      let topics = settings.topics.map { BrokerTopic($0, of: settings.names) }
      let broker = try EmbeddedBroker(topics, brokers: settings.brokers, port: settings.port)
      let watch = RetentionWatch(broker, topics, context)
      announce(broker, settings, context)
      context.reportReady()
      let control = try settings.control.map {
        try BrokerControl(broker, settings.topics).serve(host: $0.host, port: $0.port)
      }
      defer { withExtendedLifetime(control) {} }
      if let control, let host = settings.control?.host {
        context.log.info("fault interface", ["url": "http://\(host):\(control.port)"])
      }
      StandardOutput.line(broker.bootstrap)
      if let file = settings.addressFile {
        try File.write(file, Array((broker.bootstrap + "\n").utf8), mode: 0o644)
      }
      defer { if let file = settings.addressFile { try? File.remove(file) } }
      watch.run(everyMilliseconds: checkInterval)
      try watch.finish()
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private static func announce(
    _ broker: EmbeddedBroker, _ settings: Settings, _ context: ServiceContext
  ) {
    context.log.warning(
      "embedded broker: in memory only, not for production",
      ["address": broker.bootstrap, "topics": "\(settings.topics.count)"])
    let capacity = Backlog.capacity >> 20
    for topic in [settings.names.receipts, settings.names.deadLetters] {
      guard let found = settings.topics.first(where: { $0.name == topic }) else { continue }
      let total = Int(found.partitions) * capacity
      context.log.info(
        "ring buffer: keeps the newest \(total) MiB",
        ["topic": topic, "partitions": "\(found.partitions)", "each": "\(capacity)MiB"])
    }
  }
}

extension BrokerTopic {
  /// - Parameter names: of the pipeline that the topic belongs to.
  init(_ topic: TopicSpecification, of names: TopicNames) {
    self.init(
      topic.name, partitions: Int(topic.partitions), reader: topic.readerGroup,
      isTable: topic.cleanup == .compact,
      spillsInto: names.notifications.contains(topic.name) ? names.retries : [])
  }
}
