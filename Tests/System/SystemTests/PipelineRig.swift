// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPClient
import Kafka
import LabCommand
import Records
import ServiceKit
import Signer
import TestSupport
import Testing

/// The processes of a pipeline on a broker of their own whose faults a test commands.
final class PipelineRig {
  static let services = ["martlet-ingest", "martlet-signer", "martlet-sender", "martlet-feedback"]

  let folder = TemporaryFolder()
  let names = TopicNames()
  /// `host:port` of Kafka.
  let kafka: String
  let keys: String
  private let control: String
  private let broker: BuiltProgram
  private var programs: [String: BuiltProgram] = [:]
  var gateway = "localhost:1"
  /// `host:port` of the simulator's admin API.
  private(set) var gatewayAdmin = ""
  /// The command under which services start, with its flags, such as `prlimit`.
  var under: [String] = []

  /// - Parameter flags: for the broker.
  init(broker flags: [String] = []) throws {
    keys = folder.file("keys")
    let made = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), ["keys", "generate", keys], in: folder)
    try #require(made.status == 0, "keys generate printed: \(made.output)")
    let file = folder.file("broker.address")
    broker = try BuiltProgram.start(
      "martlet", ["broker", "--address-file", file, "--control", "127.0.0.1:0"] + flags, in: folder)
    kafka = try #require(broker.announcement(in: file), "it printed: \(broker.output)")
    let faults = broker.url(of: LabLog.faultInterface)
    let url = try #require(faults, "it printed: \(broker.output)")
    control = String(url.dropFirst("http://".count))
  }

  // MARK: Processes

  subscript(_ name: String) -> BuiltProgram { programs[name]! }

  /// Starts a service; nobody listens at the sender's gateway unless the simulator was started before.
  ///
  /// - Parameters:
  ///   - alias: what the test calls it, if not by its name.
  ///   - build: the folder of another build that it is of.
  func start(
    _ name: String, _ flags: [String] = [], kafka address: String? = nil, as alias: String? = nil,
    subcommand: [String] = [], of build: String? = nil
  ) throws {
    var own: [String: [String]] = [
      "martlet-signer": ["--credentials", keys + "/credentials.json"],
      "martlet-sender": [
        "--gateway", gateway, "--sandbox-gateway", gateway, "--gateway-roots", keys + "/root.pem",
      ],
      "martlet-feedback": ["--database", folder.file("tokens.sqlite")],
    ]
    // A host's own database.
    if flags.contains("--database") { own["martlet-feedback"] = [] }
    // The embedded broker rebalances a group in a session time-out less a second.
    let session = "--kafka.consumer.session.timeout.ms="
    let isOwn = !Self.services.contains(name) || flags.contains { $0.hasPrefix(session) }
    let command =
      under + [build.map { "\($0)/\(name)" } ?? ChildProcess.sibling(name)] + subcommand + [
        "--kafka", address ?? kafka,
      ]
      + ["--counters-interval", "200ms"] + (own[name] ?? [])
      + (isOwn ? [] : ["\(session)6000"]) + flags
    programs[alias ?? name] = try BuiltProgram.start(
      path: command[0], Array(command.dropFirst()), in: folder)
  }

  /// Starts the gateway that the sender will use; devices of these numbers are unregistered.
  func startSimulator(_ flags: [String] = [], unregistered: Range<Int> = 0..<0) throws {
    let declared = unregistered.map {
      #"{"token":"\#(Self.token($0))","state":"unregistered","timestamp":1790000000000}"#
    }
    try File.write(folder.file("tokens.json"), Array("[\(declared.joined(separator: ","))]".utf8))
    let file = folder.file("simulator.address")
    // That of one that was started before tells nothing.
    try File.remove(file)
    let program = try BuiltProgram.start(
      "apns-simulator",
      [
        "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--certificate",
        keys + "/gateway.pem", "--certificate-key", keys + "/gateway-key.pem", "--keys",
        keys + "/gateway-keys.json", "--tokens", folder.file("tokens.json"), "--address-file", file,
      ] + flags, in: folder)
    programs["apns-simulator"] = program
    let line = try #require(program.announcement(in: file), "it printed: \(program.output)")
    let address = line.firstMatch(of: #/"listening":"127.0.0.1:([0-9]+)"/#)
    gateway = "localhost:\(try #require(address, "it announced \(line)").1)"
    let admin = line.firstMatch(of: #/"admin":"([0-9.:]+)"/#)
    gatewayAdmin = String(try #require(admin, "it announced \(line)").1)
  }

  /// Whether a service takes part in its group.
  func isUp(_ name: String, withinMilliseconds limit: UInt64 = 60_000) -> Bool {
    name == "martlet-signer"
      ? self[name].prints(SignerLog.minting, withinMilliseconds: limit)
      : self[name].prints(ServiceKitLog.partitionsAssigned, withinMilliseconds: limit)
  }

  /// Waits until services take part in their groups.
  func awaitServices(_ names: [String] = PipelineRig.services) throws {
    for name in names {
      try #require(isUp(name), "\(name) printed: \(self[name].output.suffix(1_500))")
    }
  }

  /// Starts the four services.
  func startServices(_ flags: [String] = [], kafka address: String? = nil) throws {
    for name in Self.services { try start(name, flags, kafka: address) }
  }

  func signal(_ number: Int32) { for (_, program) in programs { program.signal(number) } }

  /// Expects that every process started here ends within the time, with such a status.
  func expectEnd(
    withinMilliseconds limit: UInt64 = 60_000, _ isExpected: (Int32) -> Bool
  ) {
    let deadline = MonotonicClock.milliseconds() + limit
    for (name, program) in programs {
      let now = MonotonicClock.milliseconds()
      let status = program.wait(withinMilliseconds: deadline > now ? deadline - now : 0)
      #expect(
        status.map(isExpected) == true,
        "\(name) ended with \(status.map(String.init) ?? "nothing"): \(program.output.suffix(1_500))"
      )
    }
  }

  /// Ends one process with SIGTERM; its exit status, or nil if it still runs.
  func stop(_ name: String) -> Int32? {
    let status = self[name].stop()
    if status != nil { programs[name] = nil }
    return status
  }

  func killBroker() { broker.signal(SIGKILL) }

  /// Ends the services with SIGTERM, then the broker, and expects that each says all is well.
  func stop() {
    signal(SIGTERM)
    expectEnd { $0 == 0 }
    #expect(broker.stop() == 0, "the broker printed: \(broker.output.suffix(1_500))")
  }

  // MARK: Faults

  /// What `PUT /brokers` of the broker's control takes: `{"up":false}`, `{"round_trip_ms":200}`.
  func setBroker(_ body: String) throws {
    let answer = try HTTPClient().put("http://\(control)/brokers", Array(body.utf8))
    try #require(answer.status == 200, "\(answer.text)")
  }

  /// What `PUT /topics` of the broker's control takes: `{"topic":"push.requests","error":"topic_not_authorized"}`.
  func setTopic(_ body: String) throws {
    let answer = try HTTPClient().put("http://\(control)/topics", Array(body.utf8))
    try #require(answer.status == 200, "\(answer.text)")
  }

  /// What `POST /errors` of the broker's control takes: `{"request":"produce","errors":["topic_not_authorized"]}`.
  func injectErrors(_ body: String) throws {
    let answer = try HTTPClient().post("http://\(control)/errors", Array(body.utf8))
    try #require(answer.status == 200, "\(answer.text)")
  }

  /// Takes back the faults of a kind of request that have not been used: `{"request":"produce"}`.
  func clearErrors(_ body: String) throws {
    let answer = try HTTPClient().put("http://\(control)/errors/clear", Array(body.utf8))
    try #require(answer.status == 200, "\(answer.text)")
  }

  /// Adds rules to the simulator's faults, as in docs/simulator.md.
  func addGatewayFaults(_ rules: String) throws {
    let answer = try HTTPClient().post("http://\(gatewayAdmin)/faults", Array(rules.utf8))
    try #require(answer.status < 300, "\(answer.text)")
  }

  /// Removes the rules of the simulator's faults.
  func clearGatewayFaults() throws {
    let answer = try HTTPClient().delete("http://\(gatewayAdmin)/faults")
    try #require(answer.status < 300, "\(answer.text)")
  }

  // MARK: Records

  static func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  /// An `apns-id` for a number.
  static func id(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  var configuration: KafkaConfiguration {
    KafkaConfiguration(bootstrap: kafka, clientID: "martlet-test")
  }

  /// Produces a record for each number, and waits until the broker has all.
  func produce(
    _ topic: String, _ numbers: Range<Int>, _ record: (Int) -> (key: String, value: String)
  ) throws {
    var configuration = configuration
    // Batches as they are under load: hundreds of records.
    configuration.producer.append(("linger.ms", "200"))
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: topic)
    var deliveries: [Delivery] = []
    for number in numbers {
      let (key, value) = record(number)
      let isQueued = eventually {
        let result = Array(key.utf8).withUnsafeBytes { key in
          Array(value.utf8).withUnsafeBytes { producer.produce(topic, key: key, value: $0, tag: 0) }
        }
        if case .queued = result { return true }
        deliveries += producer.drainDeliveries()
        return false
      }
      try #require(isQueued)
    }
    try #require(producer.flush(timeoutMilliseconds: 30_000))
  }

  /// Produces notifications as ingest does.
  func produceNotifications(_ numbers: Range<Int>, lane: Lane = .first, padding: Int = 0) throws {
    let body = #"{"aps":{"alert":"\#(String(repeating: "x", count: padding))"}}"#
    let now = WallClock.milliseconds()
    try produce(names.notifications(lane), numbers) { number in
      let envelope = [
        "M2", Lanes.standard.name(lane), "production", "com.example.app", "com.example.app",
        "alert", "10", "", Self.id(number), "\(now)", "", "", "", "",
      ].joined(separator: "\t")
      return (Self.token(number), envelope + "\n" + body)
    }
  }

  /// What a group has committed on a topic, over all partitions.
  func committed(_ topic: String, by group: ReaderGroup) throws -> Int {
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    let count = try admin.partitionCounts(timeoutMilliseconds: 30_000)[topic] ?? 0
    let all = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
    return try admin.groupOffsets(names.group(group), all, timeoutMilliseconds: 30_000)
      .reduce(0) { $0 + Int($1.offset ?? 0) }
  }

  /// Produces requests as applications do.
  func produceRequests(_ numbers: Range<Int>, padding: Int) throws {
    let text = String(repeating: "x", count: padding)
    try produce(names.requests, numbers) { number in
      (
        Self.token(number),
        #"{"id":"r\#(number)","app":"com.example.app","token":"\#(Self.token(number))","#
          + #""payload":{"aps":{"alert":"\#(text)"}}}"#
      )
    }
  }

  /// Runs `martlet` on this cluster, which must succeed; returns what it printed.
  func martlet(_ arguments: [String]) throws -> String {
    let run = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), arguments + ["--kafka", kafka], in: folder)
    #expect(run.status == 0, "\(arguments): \(run.output)")
    return run.output
  }

  /// Reads receipts from the first one until `isDone`, asked before every batch, is true; false when the time is up.
  func readReceipts(
    withinMilliseconds limit: UInt64 = 60_000, _ take: (JSONValue) throws -> Void,
    until isDone: () -> Bool
  ) throws -> Bool {
    try read(
      names.receipts, withinMilliseconds: limit,
      { record in
        for line in (record.value ?? "").split(separator: "\n") {
          try take(JSONDocument(String(line)).root)
        }
      }, until: isDone)
  }

  /// Reads a topic from its beginning until `isDone`, asked before every batch, is true; false when the time is up.
  func read(
    _ topic: String, withinMilliseconds limit: UInt64 = 60_000,
    _ take: (ReadRecord) throws -> Void, until isDone: () -> Bool
  ) throws -> Bool {
    try configuration.read(
      topic, withinMilliseconds: limit, { try take(ReadRecord($0)) }, until: { _ in isDone() })
  }
}
