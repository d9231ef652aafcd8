// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import Glibc
import Kafka
import Records
import SenderDecisions
import ServiceKit
import TestSupport

@testable import Sender

/// A sender between a broker and a simulator, all in this process.
final class SenderRig {
  static let app = "com.example.app"
  let fixture: KafkaFixture
  let names: TopicNames
  let partitions: Int
  let simulator: Simulator
  let producer: KafkaProducer
  let folder = TemporaryFolder()
  /// Issues the gateways' certificates; the senders trust it.
  let authority: CertificateAuthority
  let key: SigningKey
  private let simulatorContext: ServiceContext
  private var senders: [RunningService] = []

  init(
    simulator flags: [String] = [], unregistered: [Int] = [], partitions: Int = 4,
    embedded: Bool = false, keys: Int = 1, hasToken: Bool = false
  ) throws {
    fixture = try KafkaFixture(embedded: embedded)
    names = TopicNames(prefix: fixture.prefix)
    self.partitions = partitions
    for topic in names.all {
      try fixture.createTopic(
        String(topic.name.dropFirst(fixture.prefix.count)),
        partitions: min(Int(topic.partitions), partitions), compacted: topic.cleanup == .compact)
    }
    key = try SigningKey.generate()
    authority = try CertificateAuthority()
    (simulator, simulatorContext) = try Self.startSimulator(
      in: folder, authority, key, flags, unregistered: unregistered, keys: keys)
    producer = try KafkaProducer(fixture.configuration)
    if hasToken { try publishToken() }
  }

  /// The PEM file of the gateway's root.
  var rootPath: String { folder.file("root.pem") }

  deinit {
    for sender in senders { sender.stop() }
    simulatorContext.signals.requestStop()
    simulator.wait()
    producer.close()
  }

  private static func startSimulator(
    in folder: TemporaryFolder, _ authority: CertificateAuthority, _ key: SigningKey,
    _ flags: [String], unregistered: [Int], keys count: Int
  ) throws -> (Simulator, ServiceContext) {
    func write(_ bytes: [UInt8], _ name: String) throws { try File.write(folder.file(name), bytes) }
    try authority.issueServer().write(
      certificate: folder.file("gateway.pem"), key: folder.file("gateway-key.pem"))
    try write(authority.certificatePEM, "root.pem")
    try write(key.publicKey.pem(), "public.pem")
    let keys = (1...count).map {
      #"{"team_id":"TEAM000001","key_id":"\#(Self.keyID($0))","environment":"any","apps":["*"],"#
        + #""public_key_file":"public.pem"}"#
    }
    try write(Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8), "keys.json")
    let gone = unregistered.map {
      #"{"token":"\#(Self.token($0))","state":"unregistered","timestamp":1790000000000}"#
    }
    try write(Array("[\(gone.joined(separator: ","))]".utf8), "tokens.json")
    let all =
      [
        "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--certificate",
        folder.file("gateway.pem"), "--certificate-key", folder.file("gateway-key.pem"),
        "--keys", folder.file("keys.json"), "--tokens", folder.file("tokens.json"),
      ] + flags
    let context = try SimulatorService.context(all)
    return (try Simulator(try SimulatorSettings(context.values), context), context)
  }

  /// Puts a provider token of every app on its topic.
  func publishToken(
    issuedAt: Int64 = WallClock.seconds(), generation: Int64 = 1, keyID: String = "KEY0000001",
    apps: [String] = ["*"], sealed seal: TokenSeal = .none
  ) throws {
    let minter = try ProviderTokenMinter(key: key, teamID: "TEAM000001", keyID: keyID)
    let record = ProviderTokenRecord(
      credential: "TEAM000001/\(keyID)/any", teamID: "TEAM000001", keyID: keyID,
      scope: .any, apps: apps, issuedAt: issuedAt, generation: generation,
      token: try minter.mint(issuedAt: issuedAt))
    let topic = try producer.topic(named: names.providerTokens)
    let value = try seal.sealed(record).value
    try fixture.produce(
      producer, topic, key: record.credential, value: String(decoding: value, as: UTF8.self))
  }

  /// What a file with these keys (one per line) makes of `--token-key`.
  func seal(_ keys: String, file: String = "token-key") throws -> TokenSeal {
    try File.write(folder.file(file), Array(keys.utf8))
    let flags = ["--kafka", "localhost:1", "--token-key", folder.file(file)]
    return try SenderSettings(SenderSettings.table.values(flags)).seal
  }

  /// scripts/test runs these tests over both implementations of HTTP/2.
  private static let http2: [String] =
    getenv("MARTLET_TEST_HTTP2").map { ["--http2", String(cString: $0)] } ?? []

  /// - Parameters:
  ///   - gateway: the simulator's unless told.
  ///   - sandbox: the same one unless told.
  @discardableResult
  func startSender(
    _ flags: [String] = [], loops: Int = 2, gateway: String? = nil, sandbox: String? = nil,
    answering: ScriptedGateway? = nil, fixed change: (inout DispatchSettings) -> Void = { _ in }
  ) throws -> RunningService {
    let gateway =
      answering.map { "localhost:\($0.address.port)" } ?? gateway
      ?? "localhost:\(simulator.address.port)"
    // Whatever else /etc/hosts says of localhost, most gateways here have one address.
    try File.write(folder.file("localhost"), Array("127.0.0.1 localhost\n".utf8))
    let hosts =
      flags.contains("--gateway-hosts") ? [] : ["--gateway-hosts", folder.file("localhost")]
    let context = try SenderService.context(
      [
        "--kafka", fixture.configuration.bootstrap, "--topic-prefix", fixture.prefix,
        "--gateway", gateway, "--sandbox-gateway", sandbox ?? gateway, "--gateway-roots",
        answering?.roots ?? folder.file("root.pem"), "--loops", "\(loops)",
        "--kafka.consumer.session.timeout.ms=\(KafkaFixture.sessionMilliseconds)",
      ] + Self.http2 + hosts + flags)
    var settings = try SenderSettings(context.values)
    change(&settings.fixed)
    let sender = try RunningService(context, settings, SenderService.run)
    senders.append(sender)
    return sender
  }

  /// A notification record's value.
  static func envelope(
    id: String, lane: Lane = .first, expiration: String = "", app: String = app,
    created: Int64 = WallClock.milliseconds(), environment: Environment = .production,
    body: String = #"{"aps":{"alert":"x"}}"#, carrying more: [String] = []
  ) -> String {
    let fields = [
      "M2", Lanes.standard.name(lane), "\(environment)", app, app, "alert", "10", expiration, id,
      "\(created)",
      "order-1", "", "", "",
    ]
    return (fields + more).joined(separator: "\t") + "\n" + body
  }

  static func id(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  /// The id of the gateway's nth signing key, from 1.
  static func keyID(_ number: Int) -> String {
    "KEY" + String(repeating: "0", count: 7 - "\(number)".count) + "\(number)"
  }

  static func token(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  /// The sum of what the group has committed on the transactional lane.
  func committed() throws -> Int {
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let all = (0..<Int32(partitions)).map {
      TopicPartition(topic: names.notifications(.first), partition: $0)
    }
    let offsets = try admin.groupOffsets(names.group(.sender), all, timeoutMilliseconds: 30_000)
    return offsets.reduce(0) { $0 + Int($1.offset ?? 0) }
  }

  /// Produces to the transactional lane and waits for nothing.
  func send(_ key: String, _ value: String) throws {
    let topic = try producer.topic(named: names.notifications(.first))
    let result = Array(key.utf8).withUnsafeBytes { key in
      Array(value.utf8).withUnsafeBytes { value in
        producer.produce(topic, key: key, value: value, tag: 0)
      }
    }
    if case .refused(let error) = result { throw error }
  }

  /// Pauses the transactional lane, or resumes it.
  func pauseLane(_ isPaused: Bool) throws { try controlLane(isPaused ? #"{"paused":true}"# : nil) }

  /// Writes a control record of the transactional lane.
  func controlLane(_ value: String?) throws {
    let topic = try producer.topic(named: names.controls)
    _ = try fixture.produce(
      producer, topic, key: PauseSubject.lane("transactional").key, value: value)
  }

  /// Writes a control record of a pace.
  func control(_ subject: PaceSubject, _ value: String?) throws {
    let topic = try producer.topic(named: names.controls)
    _ = try fixture.produce(producer, topic, key: subject.key, value: value)
  }

  /// All receipts, after a while in which no more of them should come.
  func receipts(afterMilliseconds pause: UInt32) throws -> [Receipt] {
    letPass(milliseconds: pause)
    let parser = JSONParser()
    var receipts: [Receipt] = []
    let isWhole = try fixture.configuration.read(
      names.receipts, { receipts += try Receipt.all(in: $0.value, parser: parser) },
      until: { $0.isCaughtUp })
    guard isWhole else { throw KafkaFixtureTimeout() }
    return receipts
  }

  /// Receipts until there are `count`, or the time is up.
  func receipts(_ count: Int, withinMilliseconds limit: UInt64 = 60_000) throws -> [Receipt] {
    _ = producer.flush(timeoutMilliseconds: 30_000)
    let parser = JSONParser()
    var receipts: [Receipt] = []
    try fixture.configuration.read(
      names.receipts, withinMilliseconds: limit,
      { receipts += try Receipt.all(in: $0.value, parser: parser) },
      until: { _ in receipts.count >= count })
    return receipts
  }
}
