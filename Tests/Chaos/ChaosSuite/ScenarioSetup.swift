// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import LabCommand
import Records
import ServiceKit

/// The environment of a scenario: its folder, topics, requests, and the processes' options.
struct ScenarioSetup {
  let folder: String
  let names: TopicNames
  let generator: DemoGenerator
  /// The file that shims in processes read; nil without a shim.
  let shimControl: String?
  private let createdOn: KafkaConfiguration?

  /// The time at which the gateway last saw its unregistered devices: an hour before the suite started, so that
  /// registrations may be newer.
  static let unregisteredSince = WallClock.milliseconds() - 3_600_000

  private var hostsFile: String { "\(folder)/hosts" }

  /// The number of requests that the generator's devices are spread over.
  private static let population = 20_000

  init(_ options: ChaosOptions, _ scenario: Scenario, _ log: Logger) throws {
    let folder = try ScratchFolder.make("martlet-chaos-\(scenario.name)")
    self.folder = folder
    generator = DemoGenerator(
      seed: options.seed, requests: Self.population,
      activities: scenario.hasActivities ? options.activities : 0)
    shimControl = options.shim.map { _ in "\(folder)/shim.control" }
    (names, createdOn) = try Self.topics(options)
    let devices = generator.unregistered.map { device -> JSONValue in
      [
        "token": .string(device.token), "state": "unregistered",
        "timestamp": .integer(Self.unregisteredSince), "topic": .string(device.app),
      ]
    }
    try File.write("\(folder)/unregistered.json", JSONValue.array(devices).text)
    try File.write(hostsFile, Array(DeadAddresses.hosts.utf8))
  }

  /// A cluster gets topics for this run only.
  private static func topics(_ options: ChaosOptions) throws -> (TopicNames, KafkaConfiguration?) {
    guard let address = options.kafka else { return (TopicNames(), nil) }
    let kafka = KafkaConfiguration(bootstrap: address, clientID: "martlet-chaos")
    let admin = try KafkaAdmin(kafka)
    defer { admin.close() }
    var random = SystemRandomNumberGenerator()
    let number = String(UInt32.random(in: 0 ... .max, using: &random), radix: 16)
    let names = TopicNames(prefix: "martlet-chaos-\(number).")
    let topics = names.all.map { topic in
      KafkaTopicSpecification(
        topic.name, partitions: Int(topic.partitions), replication: 0,
        configuration: [
          // A malformed record of 1 MiB, with its headers.
          "cleanup.policy": topic.cleanup.rawValue, "max.message.bytes": "4000000",
        ])
    }
    let results = try admin.createTopics(topics, timeoutMilliseconds: 30_000)
    if let error = results.compactMap(\.error).first { throw error }
    try admin.awaitLeaders(of: topics, timeoutMilliseconds: 30_000)
    return (names, kafka)
  }

  /// The plan for starting a scenario's pipeline.
  func plan(_ options: ChaosOptions, _ scenario: Scenario) -> LocalPipeline.Plan {
    var plan = LocalPipeline.Plan(
      folder: folder,
      credentials: [
        .init(
          teamID: "DEMOTEAM01", keyID: "DEMOKEY001", apps: ["com.example.shop", "com.example.news"]),
        .init(
          teamID: "DEMOTEAM02", keyID: "DEMOKEY002", apps: ["com.example.chat", "com.example.ride"]),
      ])
    plan.senders = scenario.senders
    plan.kafka = options.kafka
    if scenario.hasDeadAddresses { plan.gatewayHosts = hostsFile }
    plan.topicPrefix = names.prefix
    plan.hasScheduler = scenario.hasScheduler
    plan.brokers = scenario.brokers
    plan.brokerFlags = ["--control", "127.0.0.1:0"]
    plan.kafkaFlags = ["--kafka.consumer.heartbeat.interval.ms=500"]
    // Where a busy machine has not read all apns-ids in time, repeats are sent again: none of a scenario's bounds.
    plan.extra["martlet-sender"] =
      ["--loops", "2", "--counters-interval", "0s", "--dedup-rebuild", "60s"] + scenario.senderFlags
    plan.extra["martlet-feedback"] = scenario.feedbackFlags
    // A day's invalid devices within a minute must not count as a wave here.
    if !scenario.feedbackFlags.contains("--bad-token-limit") {
      plan.extra["martlet-feedback"]?.append(contentsOf: ["--bad-token-limit", "10000000"])
    }
    for name in [
      "martlet-sender", "martlet-feedback", "martlet-ingest", "martlet-signer", "martlet-scheduler",
    ] {
      let session = Self.session(of: name, options, scenario)
      plan.extra[name, default: []].append("--kafka.consumer.session.timeout.ms=\(session)")
      if scenario.namesMembers { plan.extra[name]?.append(contentsOf: ["--instance-id", "chaos"]) }
    }
    plan.extra["apns-simulator"] =
      [
        "--tokens", "\(folder)/unregistered.json", "--latency", "lognormal:20ms,200ms",
        "--record-limit", "10000000",
      ] + scenario.gatewayFlags
    if scenario.hasActivities {
      // Two senders with four loops each have a connection per loop. Their pushes take 200 ms.
      plan.extra["apns-simulator"]?.append(contentsOf: [
        "--capacity", "\(options.activities)",
        "--max-concurrent-streams", "\(max(1, options.activities / 20))",
      ])
    }
    // A debug build takes minutes for a backtrace, and the run waits for it.
    plan.environment["broker"] = ["SWIFT_BACKTRACE=enable=no"]
    if let shim = options.shim, let shimControl, scenario.usesShim {
      let senders = (1...scenario.senders).map { "sender-\($0)" }
      for name in ["ingest", "signer", "feedback", "scheduler"] + senders {
        plan.environment[name] = ["LD_PRELOAD=\(shim)", "CHAOS_CONTROL=\(shimControl).\(name)"]
      }
    }
    return plan
  }

  /// The session timeout of a program's group, in milliseconds.
  private static func session(
    of program: String, _ options: ChaosOptions, _ scenario: Scenario
  ) -> Int {
    if let own = scenario.sessionMilliseconds { return own }
    let stays = program == "martlet-sender" && scenario.sendersStay
    return stays ? Scenario.longSession : options.sessionMilliseconds
  }

  /// Deletes the folder.
  func remove() { File.removeTree(folder) }

  /// Deletes this run's topics from the cluster.
  func removeTopics() {
    guard let createdOn, let admin = try? KafkaAdmin(createdOn) else { return }
    _ = try? admin.deleteTopics(names.all.map(\.name), timeoutMilliseconds: 30_000)
    admin.close()
  }
}
