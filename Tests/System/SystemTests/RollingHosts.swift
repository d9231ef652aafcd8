// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPClient
import Kafka
import Records
import TestSupport
import Testing

/// Hosts of a pipeline, each with a copy of every service, that change their version under load.
final class RollingHosts {
  /// A version of the programs.
  enum Build: String, CustomStringConvertible {
    case previous, this

    var description: String { rawValue }
  }

  /// The folder with the previous version's services; nil unless scripts/previous-build has been run.
  static let previous: String? = {
    let check = try? BuiltProgram.run(
      Repository.path("scripts/previous-build"), ["--check"], in: TemporaryFolder())
    return check?.status == 0 ? Repository.path(".build/previous/bin") : nil
  }()

  /// Requests per second, at most.
  static let rate = 100
  static let unregistered = 0..<40
  static let busy = stride(from: 60, to: 3_000, by: 49)
  let rig: PipelineRig
  private let producer: KafkaProducer
  private let requests: KafkaTopic
  private(set) var produced = 0
  /// Counts the database files, which differ after each step back.
  private var database = 0

  init() throws {
    rig = try PipelineRig()
    producer = try KafkaProducer(rig.configuration)
    requests = try producer.topic(named: rig.names.requests)
    try rig.startSimulator(unregistered: Self.unregistered)
    // Devices that are busy once: their pushes go over a retry topic, from one version to another.
    let rules = Self.busy.map {
      #"{"id":"too_many_requests","when":{"token":"\#(PipelineRig.token($0))","times":1}}"#
    }
    try rig.addGatewayFaults(#"{"rules":[\#(rules.joined(separator: ","))]}"#)
  }

  private func name(_ service: String, _ host: String) -> String { "\(service)@\(host)" }

  /// Starts every service of a host, and waits, under load, until each has its partitions.
  func start(_ host: String, of build: Build) throws {
    for service in PipelineRig.services {
      let flags =
        service == "martlet-feedback"
        ? ["--database", rig.folder.file("tokens-\(host)-\(database).sqlite")] : []
      try rig.start(
        service, flags, as: name(service, host), of: build == .previous ? Self.previous : nil)
    }
    for service in PipelineRig.services {
      let program = rig[name(service, host)]
      let sign = service == "martlet-signer" ? "mints now" : "assigned"
      // A signer on standby mints nothing.
      let isUp = try load(within: 60_000) {
        program.output.contains(sign)
          || service == "martlet-signer" && program.output.contains(" ready")
      }
      try #require(isUp, "\(build) \(service) printed: \(program.output.suffix(1_500))")
    }
  }

  /// Stops every service of a host as systemd does, under load, and starts those of another version.
  func roll(_ host: String, to build: Build, back: Bool) throws {
    for service in PipelineRig.services { rig[name(service, host)].signal(SIGTERM) }
    for service in PipelineRig.services {
      let program = rig[name(service, host)]
      let hasEnded = try load(within: 60_000) { program.wait(withinMilliseconds: 0) != nil }
      let status = program.wait(withinMilliseconds: 0)
      #expect(hasEnded && status == 0, "\(service) printed: \(program.output.suffix(1_500))")
    }
    // An older program refuses a newer database: operations.md.
    if back { database += 1 }
    try start(host, of: build)
  }

  /// Produces some 100 requests per second until `isDone`; false when the time is up.
  func load(within limit: UInt64, _ isDone: () throws -> Bool) throws -> Bool {
    try eventually(withinMilliseconds: limit, pauseMilliseconds: 50) {
      for _ in 0..<Self.rate / 20 { try produce() }
      _ = producer.drainDeliveries()
      return try isDone()
    }
  }

  private func produce() throws {
    let number = produced
    let more = number % 3 == 0 ? #","headers":{"apns-new":"on"},"data":{"n":"\#(number)"}"# : ""
    let lane = number % 4 == 0 ? "bulk" : "transactional"
    let text =
      #"{"id":"r\#(number)","app":"com.example.app","token":"\#(PipelineRig.token(number))","#
      + #""payload":{"aps":{"alert":"x"}},"lane":"\#(lane)""# + more + "}"
    let key = Array(PipelineRig.token(number).utf8)
    guard case .queued = producer.produce(requests, key: key, value: Array(text.utf8), tag: 0)
    else { return }
    produced += 1
  }

  /// The outcomes of every request, by its id, once there is one of each. What was taken again is no outcome.
  func outcomes() throws -> [String: [JSONValue]] {
    try #require(producer.flush(timeoutMilliseconds: 30_000))
    producer.close()
    var outcomes: [String: [JSONValue]] = [:]
    let isRead = try rig.readReceipts(
      { receipt in
        // Of a second notification for a request, whose device may be known as invalid by then.
        let repeated = ["deduplicated", "suppressed"]
        guard !repeated.contains(receipt["outcome"]?.string ?? "") else { return }
        outcomes[receipt["id"]?.string ?? "", default: []].append(receipt)
      }, until: { outcomes.count >= produced })
    #expect(isRead, "\(produced - outcomes.count) of \(produced) have no outcome")
    return outcomes
  }

  /// How often the gateway accepted each push.
  func acceptances() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    let seen = try HTTPClient().get("http://\(rig.gatewayAdmin)/requests").text
    for line in seen.split(separator: "\n") {
      let request = try JSONDocument(String(line)).root
      guard request["status"]?.int == 200, let id = request["apns_id"]?.string else { continue }
      counts[id, default: 0] += 1
    }
    return counts
  }

  /// How many devices push.invalid-tokens names.
  func invalidTokens() throws -> Int {
    var tokens: Set<String> = []
    _ = try rig.read(
      rig.names.invalidTokens, { tokens.insert($0.key ?? "") },
      until: { tokens.count >= Self.unregistered.count })
    return tokens.count
  }

  /// How many records a topic has ever had.
  func count(_ topic: String) throws -> Int64 {
    let admin = try KafkaAdmin(rig.configuration)
    defer { admin.close() }
    let partitions = try admin.partitionCounts(timeoutMilliseconds: 30_000)[topic] ?? 0
    return try admin.watermarks(
      (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) },
      timeoutMilliseconds: 30_000
    ).reduce(0) { $0 + $1.high }
  }
}
