// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import HTTPServer
import Kafka
public import ServiceKit
public import Settings

/// `martlet broker`: runs the embedded Kafka broker in its own process.
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

    @Declared(
      .path(
        "dir", use: .folder,
        "Folder for records and state, which a later start finds again; without it they are kept in memory, 1 GiB at most."
      )) var folder: String?

    @Declared(.integer("brokers", default: 1, in: 1...9, "Brokers that the cluster simulates."))
    var brokers: Int

    @Declared(
      .boolean(
        "create-topics",
        "Make each topic that a client names and that is not there, with one partition, as Kafka does by its"
          + " auto.create.topics.enable. Off, a wrong name is an error instead of a new topic."))
    fileprivate var createsTopics: Bool

    @Declared(
      .path(
        "users", placeholder: "FILE",
        "File of users, readable by its owner only: a line \"user NAME PASSWORD\" for each (SASL PLAIN), and below it a line"
          + " for each right, such as \"read topic push.requests\", \"all group *\" or \"create cluster\". Without it every"
          + " client may do everything.")) fileprivate var usersFile: String?
    var access = AccessControl()

    @Declared(
      .endpoint(
        "control",
        "Address and port (0 takes a free one) of an HTTP interface that injects faults, for tests"
          + " (docs/guarantees.md). Off by default; keep it on a loopback address.")) var control:
      Endpoint?

    var names: TopicNames { TopicNames(prefix: topicPrefix, lanes: lanes) }
    var port: UInt16 { UInt16(portNumber) }

    public init() {}

    public mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      guard portNumber + brokers - 1 <= 65_535 else {
        throw values.error("port", "leaves no port for broker \(brokers)")
      }
      lanes = try Lanes(values)
      topics = try PartitionCounts.specifications(names, values)
      if let file = usersFile { access = try BrokerCommand.access(file, values) }
    }
  }

  /// The interval between checks of the broker's counters, in milliseconds.
  private static let checkInterval: Int64 = 500

  public static let name = LabProgram.broker.rawValue
  public static let summary = LabProgram.broker.summary
  public static let belongsToTerminal = true
  public static let table = SettingTable(declaredBy: Settings.self)

  private static func access(
    _ file: String, _ values: SettingValues
  ) throws(SettingErrors) -> AccessControl {
    do {
      if let problem = try File.exposure(of: file) { throw values.error("users", problem) }
      let text = try File.text(file, limit: 1 << 20)
      return try AccessControl(file: text)
    } catch let error as SettingErrors {
      throw error
    } catch {
      throw values.error("users", "\(error)")
    }
  }

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try orFail {
      OpenFileLimit.raise()
      let broker = try EmbeddedBroker(
        settings.topics.map { BrokerTopic($0) }, brokers: settings.brokers, port: settings.port,
        folder: settings.folder, access: settings.access, createsTopics: settings.createsTopics)
      let watch = BrokerWatch(broker, context)
      announce(broker, settings, context)
      context.reportReady()
      let control = try settings.control.map {
        try BrokerControl(broker, settings.topics).serve(host: $0.host, port: $0.port)
      }
      defer { withExtendedLifetime(control) {} }
      if let control, let host = settings.control?.host {
        let address = Endpoint(host: host, port: control.port)
        context.log(LabLog.faultInterface, ["url": "http://\(address)"])
      }
      StandardOutput.line(broker.bootstrap)
      if let file = settings.addressFile {
        try File.write(file, Array((broker.bootstrap + "\n").utf8), mode: 0o644)
      }
      defer { if let file = settings.addressFile { try? File.remove(file) } }
      watch.run(everyMilliseconds: checkInterval)
    }
  }

  private static func announce(
    _ broker: EmbeddedBroker, _ settings: Settings, _ context: ServiceContext
  ) {
    context.log(
      LabLog.oneNode,
      [
        "address": broker.bootstrap, "topics": "\(settings.topics.count)",
        "records": settings.folder ?? "in memory",
      ])
  }
}
