// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import ServiceKit

/// The folder, requests file and topics of a demo.
struct DemoSetup {
  let folder: String
  /// The requests, generated or the user's.
  let requests: String
  let names: TopicNames
  /// The devices that the gateway must report as unregistered.
  let unregistered: [(token: String, app: String)]
  let credentials: [KeyFolder.Credential]
  private let created: KafkaConfiguration?

  init(_ settings: DemoCommand.Settings, _ context: ServiceContext) throws {
    folder = try ScratchFolder.make("martlet-demo")
    if let input = settings.input {
      requests = input
      unregistered = []
      credentials = [.init(teamID: "DEMOTEAM01", keyID: "DEMOKEY001", apps: ["*"])]
    } else {
      requests = "\(folder)/requests.ndjson"
      let generator = DemoGenerator(seed: settings.seed, requests: settings.requests)
      unregistered = generator.unregistered
      credentials = Self.credentials
      try Self.write(generator, settings.requests, to: requests)
      context.log(
        LabLog.requestsGenerated, ["requests": "\(settings.requests)", "seed": "\(settings.seed)"])
    }
    do { (names, created) = try Self.topics(settings, context) } catch {
      File.removeTree(folder)
      throw error
    }
  }

  /// One credential per team, with its apps.
  private static var credentials: [KeyFolder.Credential] {
    var teams: [String: [DemoTexts.App]] = [:]
    for app in DemoTexts.apps { teams[app.teamID, default: []].append(app) }
    return teams.values.compactMap { apps in
      apps.first.map { .init(teamID: $0.teamID, keyID: $0.keyID, apps: apps.map(\.bundleID)) }
    }
  }

  private static func write(_ generator: DemoGenerator, _ count: Int, to path: String) throws {
    guard let file = fopen(path, "w") else { throw SystemError.last("cannot write \(path)") }
    var generator = generator
    for _ in 0..<count { fputs(generator.next() + "\n", file) }
    guard fclose(file) == 0 else { throw SystemError.last("cannot write \(path)") }
  }

  /// An embedded broker has the usual topics. A cluster gets topics for this run only, so that the demo never touches
  /// another pipeline's records.
  private static func topics(
    _ settings: DemoCommand.Settings, _ context: ServiceContext
  ) throws -> (TopicNames, KafkaConfiguration?) {
    guard let kafka = settings.kafka else { return (TopicNames(), nil) }
    let cluster = try KafkaCluster(kafka, context)
    var random = SystemRandomNumberGenerator()
    let names = TopicNames(
      prefix: "martlet-demo-\(String(UInt32.random(in: 0 ... .max, using: &random), radix: 16)).")
    do {
      let results = try cluster.admin.createTopics(
        names.all.map { $0.kafka(replication: nil) }, timeoutMilliseconds: 30_000)
      if let error = results.compactMap(\.error).first { throw error }
    } catch {
      delete(names, cluster.configuration, context)
      throw error
    }
    context.log(LabLog.topicsCreated, ["prefix": names.prefix])
    return (names, cluster.configuration)
  }

  /// Says what the run leaves.
  func leave(_ context: ServiceContext) {
    context.log(LabLog.folderKept, ["folder": folder])
    if let created { Self.tellTopics(names, created, context) }
  }

  /// Deletes the folder and the topics; says so if topics are left.
  func remove(_ context: ServiceContext) {
    if let created { Self.delete(names, created, context) }
    File.removeTree(folder)
  }

  private static func delete(
    _ names: TopicNames, _ kafka: KafkaConfiguration, _ context: ServiceContext
  ) {
    do {
      let admin = try KafkaAdmin(kafka)
      defer { admin.close() }
      let results = try admin.deleteTopics(names.all.map(\.name), timeoutMilliseconds: 30_000)
      if let error = results.compactMap(\.error).first(where: { $0.code != unknownTopic }) {
        throw error
      }
    } catch {
      tellTopics(names, kafka, context, because: "\(error)")
    }
  }

  /// Kafka's error UNKNOWN_TOPIC_OR_PARTITION: there is nothing to delete.
  private static let unknownTopic: Int32 = 3

  private static func tellTopics(
    _ names: TopicNames, _ kafka: KafkaConfiguration, _ context: ServiceContext,
    because error: String? = nil
  ) {
    let (prefix, remedy) = (names.prefix, removal(of: names.prefix, at: kafka.bootstrap))
    guard let error else {
      return context.log(LabLog.topicsLeft, ["prefix": prefix, "remedy": remedy])
    }
    context.log(LabLog.topicsLeft, ["prefix": prefix, "remedy": remedy, "error": error])
  }

  /// The command that deletes the topics with this prefix.
  static func removal(of prefix: String, at bootstrap: String) -> String {
    let pattern = String(prefix.flatMap { $0 == "." ? "\\." : String($0) })
    return "kafka-topics.sh --bootstrap-server \(bootstrap) --delete --topic '\(pattern).*'"
  }
}
