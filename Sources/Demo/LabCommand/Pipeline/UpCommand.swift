// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
public import ServiceKit
public import Settings
import Telemetry

/// `martlet up`: runs everything on one machine.
public enum UpCommand: Command {
  public struct Settings: DeclaredSettings, Sendable {
    /// The cluster to use; nil for an embedded broker.
    var cluster: KafkaConfiguration?
    var kafkaFlags: [String] = []
    @Declared(.integer("senders", default: 1, in: 1...64, "Number of sender processes."))
    var senders: Int

    @Declared(
      .path(
        "dir", use: .folder,
        "Folder for keys, logs, records and the database; without it a temporary one, which is not removed."
      )) var folder: String?

    @Declared(
      .endpoints(
        "kafka",
        "Kafka cluster to use instead of the embedded broker; create its topics with martlet topics create."
      )) private var bootstrap: [Endpoint]

    @Declared(
      .integer(
        "kafka-port", in: 1...65_535,
        "Port of the embedded broker on 127.0.0.1; by default 9092, or a free port if that is taken."
      )) private var port: Int?

    @Declared(CommonSettings.topicPrefix) private var topicPrefix: String
    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    @Declared(CommonSettings.payloadRules) fileprivate var payloadRules: String
    fileprivate var lanes = Lanes.standard

    @Declared(CommonSettings.tokenKey) var tokenKey: String?

    @Declared(
      .path(
        "webhooks", placeholder: "FILE",
        "Also start martlet-webhooks with this file of subscriptions; endpoints may use http://.")
    ) var subscriptions: String?

    var names: TopicNames { TopicNames(prefix: topicPrefix, lanes: lanes) }
    /// The embedded broker's port; nil uses the usual port if it is free.
    var kafkaPort: UInt16? { port.map { UInt16($0) } }
    fileprivate var isOnCluster: Bool { !bootstrap.isEmpty }

    public init() {}

    public mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      lanes = try Lanes(values)
      if isOnCluster {
        guard kafkaPort == nil else {
          throw values.error(
            "kafka-port", "belongs to the embedded broker, which does not run with --kafka")
        }
        cluster = try KafkaConfiguration(values, clientID: "martlet-up")
      }
      kafkaFlags = values.kafka.flags
      tokenKey = try TokenSeal(values).path
    }
  }

  /// The maximum size of a process's log in bytes; the previous one is kept as well.
  private static let logLimit = 8 << 20

  public static let name = LabProgram.up.rawValue
  public static let summary = LabProgram.up.summary
  public static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  public static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    try orFail {
      if let cluster = settings.cluster { try checkCluster(cluster, settings.names, context) }
      let pipeline = try LocalPipeline(try plan(settings, context), log: context.log)
      try pipeline.start()
      var errors = ErrorRelay(pipeline)
      do {
        try work(pipeline, &errors, context)
      } catch {
        _ = stop(pipeline, &errors, context)
        throw error
      }
      if let failure = stop(pipeline, &errors, context) { throw failure }
    }
  }

  private static func plan(
    _ settings: Settings, _ context: ServiceContext
  ) throws -> LocalPipeline.Plan {
    var plan = LocalPipeline.Plan(
      folder: try settings.folder ?? ScratchFolder.make("martlet-up"),
      credentials: [
        .init(teamID: "MARTLETDEV", keyID: KeyFolder.Credential.freshKeyID(), apps: ["*"])
      ])
    plan.senders = settings.senders
    plan.kafka = settings.cluster?.bootstrap
    plan.kafkaPort = settings.kafkaPort
    plan.topicPrefix = settings.names.prefix
    let lanes = ["--lanes", settings.lanes.texts.joined(separator: ",")]
    plan.brokerFlags = lanes
    for program in ["martlet-ingest", "martlet-sender", "martlet-api", "martlet-scheduler"] {
      plan.extra[program] = lanes
    }
    for program in ["martlet-ingest", "martlet-api"] {
      plan.extra[program, default: []] += ["--payload-rules", settings.payloadRules]
    }
    plan.kafkaFlags = settings.kafkaFlags
    plan.tokenKey = settings.tokenKey
    plan.logLimit = logLimit
    plan.hasConsole = true
    plan.hasAPI = true
    plan.hasScheduler = true
    plan.subscriptions = settings.subscriptions
    return plan
  }

  /// Checks that a pipeline can work there: without another one, and on correctly configured topics.
  private static func checkCluster(
    _ configuration: KafkaConfiguration, _ names: TopicNames, _ context: ServiceContext
  ) throws {
    let cluster = try KafkaCluster(configuration, context)
    try checkTopics(cluster, names)
    try OtherPipeline(cluster, names).refuse(context)
    // Without the right to read configurations nothing is known.
    try? TopicCheck(names.all, of: names, cluster.admin, timeoutMilliseconds: 5_000)
      .report(context.log)
  }

  /// Without its topics no process stays up.
  private static func checkTopics(_ cluster: KafkaCluster, _ names: TopicNames) throws {
    let configuration = cluster.configuration
    let wanted = names.all.map(\.name)
    let listing = try cluster.admin.topicListing(naming: wanted, timeoutMilliseconds: 10_000)
    // Creating what this user may not see, or what no broker answered for, is no remedy.
    let unknown = listing.unknown(among: wanted)
    for topic in wanted where unknown.contains(topic) {
      try cluster.demand(topic, "martlet topics create creates it")
    }
    let missing = wanted.filter { listing.sizes[$0] == nil && !unknown.contains($0) }
    guard let first = missing.first else { return }
    let more = missing.count == 1 ? "" : " and \(missing.count - 1) more"
    let prefix = names.prefix == TopicNames.defaultPrefix ? "" : " --topic-prefix \(names.prefix)"
    let lanes =
      names.lanes == .standard ? "" : " --lanes \(names.lanes.texts.joined(separator: ","))"
    throw ServiceFailure(
      "the cluster at \(configuration.bootstrap) lacks the topic \(first)\(more): martlet topics create"
        + " --kafka \(configuration.bootstrap)\(prefix)\(lanes) creates them")
  }

  /// Works until a stop is requested.
  private static func work(
    _ pipeline: LocalPipeline, _ errors: inout ErrorRelay, _ context: ServiceContext
  ) throws {
    guard try pipeline.waitUntilReady(context) else { return }
    for line in introduction(pipeline) { StandardOutput.line(line) }
    var room = DiskRoom(pipeline.plan.folder)
    while !context.signals.isStopping {
      errors.show()
      if room.hasFilled() { context.log(LabLog.diskFull, ["folder": pipeline.plan.folder]) }
      try pipeline.writeAddresses()
      usleep(100_000)
    }
  }

  /// Stops all processes.
  ///
  /// - Returns: The failure of the run, if records were lost.
  private static func stop(
    _ pipeline: LocalPipeline, _ errors: inout ErrorRelay, _ context: ServiceContext
  ) -> ServiceFailure? {
    let killed = pipeline.stop()
    errors.show()
    if killed.isEmpty { context.log(LabLog.allExited) }
    guard pipeline.journal.hasLoss else { return nil }
    return ServiceFailure("unread records were lost; see \(pipeline.plan.folder)/logs")
  }

  private static func introduction(_ pipeline: LocalPipeline) -> [String] {
    let topic = pipeline.plan.topicPrefix + "requests"
    let isEmbedded = pipeline.plan.kafka == nil
    let notes = ["kafka": isEmbedded ? "one node without replicas" : ""]
    let width = pipeline.addresses.map(\.name.count).max() ?? 0
    let addresses = pipeline.addresses.map { name, address in
      let gap = String(repeating: " ", count: width - name.count + 2)
      return "  \(name)\(gap)\(address)" + (notes[name].map { $0.isEmpty ? "" : "  (\($0))" } ?? "")
    }
    let longest = pipeline.statusPages.map(\.process.count).max() ?? 0
    let pages = pipeline.statusPages.map { process, url in
      "  \(process)\(String(repeating: " ", count: longest - process.count + 2))\(url)"
    }
    let example =
      #"{"app":"com.example.app","token":"00fc13adff785122b4ad28809a3420982341241421348097878e577c"#
      + #"991de8f0","payload":{"aps":{"alert":"Hello"}}}"#
    let start =
      ["Martlet is up: every process has its partitions."] + addresses + [
        "status pages (/metrics, /readyz, /debug/state):"
      ] + pages + [
        "addresses for scripts: \(pipeline.addressesFile)",
        "addresses for a shell: . \(ShellWord.quoted(pipeline.shellFile))",
        "state and logs in \(pipeline.plan.folder)",
      ]
    let curl = pipeline.api.map { api in
      [
        "send a request over HTTP:",
        "  curl --json '\(example)' -H 'Authorization: Bearer \(api.key)' \(api.url)/v1/notifications",
      ]
    }
    let prefix = pipeline.plan.topicPrefix
    let cluster =
      "--kafka \(pipeline.kafka)"
      + (prefix == TopicNames.defaultPrefix ? "" : " --topic-prefix \(ShellWord.quoted(prefix))")
    let commands =
      (curl ?? []) + [
        "produce a request:",
        "  echo '\(example)' | kcat -P -b \(pipeline.kafka) -t \(topic)",
        "  martlet import FILE \(cluster)",
        "watch receipts:",
        "  martlet inspect receipts --follow \(cluster)",
        "start another sender:",
        "  \(ShellWord.quoted(ChildProcess.sibling("martlet-sender"))) --config "
          + ShellWord.quoted(pipeline.senderSettings),
        "create a broadcast channel:",
        "  martlet channels create --app com.example.app --config "
          + ShellWord.quoted(pipeline.channelSettings),
      ]
    return start + [""] + commands + ["", "Ctrl-C stops everything."]
  }
}
