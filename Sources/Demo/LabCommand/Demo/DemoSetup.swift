// SPDX-License-Identifier: Apache-2.0
import Bytes
import CommandKit
import Contract
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
    (names, created) = try Self.topics(settings, context)
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
    let results = try cluster.admin.createTopics(
      names.all.map { $0.kafka(replication: nil) }, timeoutMilliseconds: 30_000)
    if let error = results.compactMap(\.error).first { throw error }
    context.log(LabLog.topicsCreated, ["prefix": names.prefix])
    return (names, cluster.configuration)
  }

  /// Deletes the folder and the topics.
  func remove() {
    if let created, let admin = try? KafkaAdmin(created) {
      _ = try? admin.deleteTopics(names.all.map(\.name), timeoutMilliseconds: 30_000)
      admin.close()
    }
    ScratchFolder.remove(folder)
  }
}
