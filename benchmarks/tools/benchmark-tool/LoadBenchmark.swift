// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Settings
import Waiting

/// Produces notifications or requests as fast as their readers take them, or on a schedule, then waits until all are
/// committed: the load of the benchmarks. Prints one JSON object.
///
/// A record's id begins with its number in eight hexadecimal digits and four of the run. With the run's start and the
/// rate they say when the record was due, so that a time measured from then hides no record that was late.
enum LoadCommand: Service {
  struct Load: DeclaredSettings {
    var kafka = KafkaConfiguration(bootstrap: "", clientID: "benchmark-load")
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) private var topicPrefix: String

    @Declared(
      .choice(
        "kind",
        of: [
          "notifications", "bulk", "requests", "feedback", "receipts", "provider-tokens",
          "invalid-tokens",
        ],
        default: "notifications",
        "Which topic is written: push.notifications, push.notifications.bulk, push.requests,"
          + " push.feedback with an answer 410 for each record, push.receipts with 100 lines in each"
          + " record, push.provider-tokens with one credential for each app, or push.invalid-tokens."
      )
    ) var kind: String

    @Declared(
      .integer("count", default: 100_000, in: 1...1_000_000_000, "Records to produce."))
    var count: Int

    @Declared(
      .integer("rate", default: 0, "Records per second; 0 means as fast as possible."))
    var rate: Int

    @Declared(
      .text(
        "app", default: "com.example.app", "Bundle id; with --apps more than 1, a prefix."))
    var app: String

    @Declared(
      .integer("apps", default: 1, in: 1...10_000, "Apps that the records are spread over."))
    var apps: Int

    @Declared(
      .boolean("unread", "Do not wait until the records are consumed: they are a backlog."))
    var isUnread: Bool

    @Declared(
      .integer(
        "users", default: 0, in: 0...1_000_000_000,
        "Requests are to so many users, u0, u1 and so on, in place of tokens."
      ))
    var users: Int

    @Declared(
      .integer(
        "devices", default: 0, in: 0...1_000_000_000,
        "Notifications are states of so many devices in turn, of which the newest counts (supersede); 0: each has a device"
          + " of its own."))
    var devices: Int

    @Declared(.integer("body", default: 262, in: 30...4_096, "Bytes of each body."))
    var body: Int

    var names: TopicNames { TopicNames(prefix: topicPrefix) }
    /// Provider tokens and invalid tokens are tables: no group commits what it has read of them.
    var waits: Bool { kind != "provider-tokens" && kind != "invalid-tokens" && !isUnread }
  }

  static let name = "load"
  static let summary = "Produces a load to a running pipeline and waits until it is consumed."
  static let reportsCounters = false
  static let table = SettingTable(declaredBy: Load.self, kafkaProperties: true)

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Load {
    var load = Load.reading(values)
    load.kafka = try KafkaConfiguration(values, clientID: "benchmark-load")
    return load
  }

  static func run(_ load: Load, _ context: ServiceContext) throws(ServiceFailure) {
    do {
      try Producing(load, context).run()
    } catch {
      throw ServiceFailure("\(error)")
    }
  }
}

/// One run of the load.
private final class Producing {
  private let load: LoadCommand.Load
  private let context: ServiceContext
  private let producer: KafkaProducer
  private let admin: KafkaAdmin
  private let topic: KafkaTopic
  private let topicName: String
  private let group: String
  private let wakeup = Wakeup()
  private var acknowledged = 0
  /// By partition, one past the newest offset that this run has written.
  private var ends: [Int32: Int64] = [:]
  private var key = ByteBuffer(capacity: 128)
  private var value = ByteBuffer(capacity: 8_192)
  private var id = ByteBuffer(capacity: 64)
  private var random: SeededGenerator
  /// Tells the ids of this run from those of another.
  private let run16: UInt16

  init(_ load: LoadCommand.Load, _ context: ServiceContext) throws {
    self.load = load
    self.context = context
    let kafka = load.kafka
    switch load.kind {
    case "requests": (topicName, group) = (load.names.requests, load.names.group(.ingest))
    case "feedback": (topicName, group) = (load.names.feedback, load.names.group(.feedback))
    case "receipts": (topicName, group) = (load.names.receipts, load.names.group(.feedback))
    case "bulk": (topicName, group) = (load.names.notifications(.bulk), load.names.group(.sender))
    case "provider-tokens":
      (topicName, group) = (load.names.providerTokens, load.names.group(.sender))
    case "invalid-tokens":
      (topicName, group) = (load.names.invalidTokens, load.names.group(.ingest))
    default: (topicName, group) = (load.names.notifications(.first), load.names.group(.sender))
    }
    producer = try KafkaProducer(kafka, wakeup: wakeup)
    topic = try producer.topic(named: topicName)
    admin = try KafkaAdmin(kafka)
    random = SeededGenerator(seed: MonotonicClock.nanoseconds())
    run16 = UInt16(truncatingIfNeeded: random.next())
  }

  func run() throws {
    let start = MonotonicClock.nanoseconds()
    let startedAt = WallClock.milliseconds()
    var produced = 0
    while produced < load.count, !context.signals.isStopping {
      drainDeliveries()
      guard !producer.isFull, produced < allowed(since: start) else {
        usleep(500)
        continue
      }
      let batch = min(200, load.count - produced, max(1, allowed(since: start) - produced))
      for _ in 0..<batch where produce(produced) { produced += 1 }
    }
    while acknowledged < produced {
      drainDeliveries()
      usleep(500)
    }
    if load.waits { try waitUntilCommitted() }
    let seconds = Double(MonotonicClock.nanoseconds() - start) / 1e9
    StandardOutput.line(
      "{\"produced\":\(produced),\"seconds\":\(seconds),\"run\":\(run16),\"started_at\":\(startedAt)}"
    )
    producer.close()
    admin.close()
  }

  /// The number of records that the rate allows by now.
  private func allowed(since start: UInt64) -> Int {
    guard load.rate > 0 else { return load.count }
    return Int(Double(MonotonicClock.nanoseconds() - start) / 1e9 * Double(load.rate)) + 1
  }

  private func drainDeliveries() {
    for delivery in producer.drainDeliveries() {
      acknowledged += 1
      ends[delivery.partition] = max(ends[delivery.partition] ?? 0, delivery.offset + 1)
    }
  }

  private func produce(_ number: Int) -> Bool {
    fill(number)
    let bytes = key.count + value.count
    if case .queued = producer.produce(topic, key: key.bytes, value: value.bytes, tag: UInt(bytes))
    {
      return true
    }
    return false
  }

  /// A record with a token and an id of its own.
  private func fill(_ number: Int) {
    key.removeAll()
    value.removeAll()
    if load.kind == "provider-tokens" { return fillToken(number) }
    var token: [UInt8] = []
    if load.devices > 0 {
      token = Array(repeating: 0, count: 24)
      withUnsafeBytes(of: (number % load.devices).bigEndian) { token.append(contentsOf: $0) }
    }
    while token.count < 32 { withUnsafeBytes(of: random.next()) { token.append(contentsOf: $0) } }
    token.withUnsafeBytes { key.append(hex: $0) }
    switch load.kind {
    case "requests": fillRequest(number)
    case "feedback": fillFeedback(number)
    case "receipts": fillReceipts()
    case "invalid-tokens": fillInvalidToken(number)
    default: fillNotification(number)
    }
  }

  private func fillInvalidToken(_ number: Int) {
    let device = DeviceKey(
      token: String(decoding: key.bytes, as: UTF8.self), app: load.app, environment: .production)
    let record = InvalidTokenRecord(
      device: device, invalidSince: WallClock.milliseconds(), reason: "Unregistered",
      at: WallClock.milliseconds())
    key.removeAll()
    device.bytes.withUnsafeBytes { key.append($0) }
    record.value.withUnsafeBytes { value.append($0) }
  }

  /// A user far from the last one, so that no page of the database is warm.
  private func user(_ number: Int) -> String { "u\(number * 2_654_435_761 % max(1, load.users))" }

  /// An answer of APNs that the device is gone.
  private func fillFeedback(_ number: Int) {
    let now = WallClock.milliseconds()
    value.append("{\"token\":\"")
    value.append(key.bytes)
    value.append("\",\"app\":\"")
    appendApp(number)
    value.append("\",\"environment\":\"production\",\"topic\":\"")
    appendApp(number)
    value.append("\",\"status\":410,\"reason\":\"Unregistered\",\"timestamp\":")
    value.append(decimal: now)
    value.append(",\"apns_id\":\"")
    appendID(number)
    value.append("\",\"sent_at\":")
    value.append(decimal: now)
    value.append(",\"at\":")
    value.append(decimal: now)
    value.append("}")
    key.append(":")
    appendApp(number, to: &key)
    key.append(":production")
  }

  /// Lines as a sender writes them, of pushes that all were accepted.
  private func fillReceipts() {
    let now = WallClock.milliseconds()
    for _ in 0..<100 {
      id.removeAll()
      let bits = NotificationID(version4: random.next(), random.next())
      id.append("\(bits)")
      var line = ReceiptLine(.delivered, at: now)
      line.apnsID = id.bytes
      line.escapedID = id.bytes
      line.app = UnsafeRawBufferPointer("com.example.app" as StaticString)
      line.environment = .production
      line.token = key.bytes
      line.lane = UnsafeRawBufferPointer("transactional" as StaticString)
      line.status = 200
      line.attempts = 1
      line.created = now
      ReceiptEncoder.append(line, into: &value)
    }
  }

  private func appendApp(_ number: Int) { appendApp(number, to: &value) }

  private func appendApp(_ number: Int, to buffer: inout ByteBuffer) {
    buffer.append(load.app)
    if load.apps > 1 { buffer.append(decimal: Int64(number % load.apps)) }
  }

  /// A credential for one app, with a token that only a gateway without validation takes.
  private func fillToken(_ number: Int) {
    let team = "\(load.app)\(number)"
    let record = ProviderTokenRecord(
      credential: "\(team)/KEY0000001/any", teamID: team, keyID: "KEY0000001", scope: .any,
      apps: [team], issuedAt: WallClock.seconds(), generation: 1,
      token: String(repeating: "x", count: 180))
    key.append(record.credential)
    record.value.withUnsafeBytes { value.append($0) }
  }

  private func fillNotification(_ number: Int) {
    value.append("M2\t")
    value.append(load.kind == "bulk" ? "bulk" : "transactional")
    value.append("\tproduction\t")
    appendApp(number)
    value.append("\t")
    appendApp(number)
    value.append("\talert\t10\t\t")
    appendID(number)
    value.append("\t")
    value.append(decimal: WallClock.milliseconds())
    value.append(load.devices > 0 ? "\t\t\t\t\tsupersede=state\n" : "\t\t\t\t\n")
    appendBody()
  }

  private func fillRequest(_ number: Int) {
    value.append("{\"id\":\"")
    appendID(number)
    value.append("\",\"app\":\"")
    appendApp(number)
    if load.users > 0 {
      value.append("\",\"user\":\"")
      value.append(user(number))
    } else {
      value.append("\",\"token\":\"")
      value.append(key.bytes)
    }
    value.append("\",\"payload\":")
    appendBody()
    value.append("}")
  }

  private func appendBody() {
    value.append("{\"aps\":{\"alert\":\"")
    for _ in 0..<max(0, load.body - 22) { value.append(UInt8(ascii: "x")) }
    value.append("\"}}")
  }

  /// NNNNNNNN-RRRR-…: the record's number and its run's.
  private func appendID(_ number: Int) {
    let number = UInt32(truncatingIfNeeded: number).bigEndian
    withUnsafeBytes(of: number) { value.append(hex: $0) }
    value.append("-")
    withUnsafeBytes(of: run16.bigEndian) { value.append(hex: $0) }
    let bits = (random.next(), random.next())
    withUnsafeBytes(of: bits) { bytes in
      for (start, end) in [(0, 2), (2, 4), (4, 10)] {
        value.append("-")
        value.append(hex: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      }
    }
  }

  private func waitUntilCommitted() throws {
    let partitions = ends.keys.map { TopicPartition(topic: topicName, partition: $0) }
    while !context.signals.isStopping {
      let offsets = try admin.groupOffsets(group, partitions, timeoutMilliseconds: 5_000)
      let isDone = offsets.allSatisfy { ($0.offset ?? 0) >= ends[$0.partition.partition] ?? 0 }
      if isDone { return }
      usleep(20_000)
    }
  }
}
