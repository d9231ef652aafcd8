// SPDX-License-Identifier: Apache-2.0
public import CRdKafka
internal import Contract

/// The librdkafka properties of this process's clients, in layers: what Martlet needs at the bottom, a service's
/// preferences above, and the user's properties on top.
///
/// Property names and values are librdkafka's (CONFIGURATION.md); nothing is renamed.
public struct KafkaConfiguration: Sendable {
  public typealias Property = (name: String, value: String)

  /// The user's properties for every client.
  public var common: [Property] = []
  /// The user's properties for consumers; they win over `common`.
  public var consumer: [Property] = []
  /// The user's properties for producers; they win over `common`.
  public var producer: [Property] = []
  /// A service's own preferences for its consumers; the user's properties win over them.
  public var consumerPreferences: [Property] = []
  /// A service's own preferences for its producers; the user's properties win over them.
  public var producerPreferences: [Property] = []
  /// Returns true for a record that a table must skip; nil: none are skipped.
  public var isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  /// `host:port[,host:port…]`
  public private(set) var bootstrap: String
  public let clientID: String

  public init(bootstrap: String, clientID: String) {
    self.bootstrap = bootstrap
    self.clientID = clientID
  }

  /// Divides a budget for records prefetched by this process among the partitions it may own (`PrefetchLimits`), as a
  /// preference of the service.
  ///
  /// A fetch response counts against the limits only once it has arrived, so the bytes it may return per partition are
  /// divided, too.
  ///
  /// - Parameter partitions: all partitions of the topics read, in case this is the only process.
  public mutating func dividePrefetch(among partitions: Int, records: Int = 16_000) {
    let limits = PrefetchLimits(partitions: partitions, records: records, bytes: 32 << 20)
    consumerPreferences.append(("queued.min.messages", "\(limits.records)"))
    consumerPreferences.append(("queued.max.messages.kbytes", "\(limits.kilobytes)"))
    consumerPreferences.append(("fetch.message.max.bytes", "\(limits.answerBytes)"))
  }

  /// Sets one budget for a reader whose partitions share a queue, as a preference of the service: librdkafka then
  /// compares the whole queue with the limits, and stops fetching all of the partitions for a second when one is
  /// reached. So the limits are not divided, and leave room for a second's work.
  ///
  /// - Parameter partitions: the number read; only the bytes that one response may return are divided among them.
  public mutating func sharePrefetch(among partitions: Int) {
    consumerPreferences.append(("queued.min.messages", "32000"))
    consumerPreferences.append(("queued.max.messages.kbytes", "\(16 << 10)"))
    let fetch = PrefetchLimits.answerBytes(partitions: max(partitions, 1))
    consumerPreferences.append(("fetch.message.max.bytes", "\(fetch)"))
  }

  /// Lets a reader that only reads do so as fast as it can, as a preference: librdkafka 2.0.2 stops fetching a
  /// partition for a second when its share of either limit is queued. The queued records take at most 512 MiB, and only
  /// while they are fetched faster than they are consumed.
  public mutating func preferBulkReading(of partitions: Int) {
    let kilobytes = max((512 << 10) / max(partitions, 1), 2_048)
    let records = max(1_000_000 / max(partitions, 1), 100_000)
    consumerPreferences.append(("queued.min.messages", "\(records)"))
    consumerPreferences.append(("queued.max.messages.kbytes", "\(kilobytes)"))
  }

  /// Sets the time that a batch waits for more records (`KafkaDefaults`), as a preference of the service.
  public mutating func preferLinger(milliseconds: Double) {
    producerPreferences.append(Self.linger(milliseconds))
  }

  /// Takes records that anybody may have written and that are written again: librdkafka refuses above 1,000,000 bytes,
  /// and a topic, whose limit counts a compressed batch, has them. The topic still decides.
  public mutating func preferRecordsOfAnySize() {
    producerPreferences.append(("message.max.bytes", "\(64 << 20)"))
  }

  /// Sends each record without a key to a random partition, as a preference of the service. librdkafka would send those
  /// of 10 ms to one partition; five in a row make it spin until the broker answers (docs/kafka.md).
  public mutating func preferSpreading() {
    producerPreferences.append(("sticky.partitioning.linger.ms", "0"))
  }

  private static func linger(_ milliseconds: Double) -> Property {
    ("linger.ms", "\(Int(milliseconds))")
  }

  private static func fetchWait(_ milliseconds: Double) -> Property {
    ("fetch.wait.max.ms", "\(Int(milliseconds))")
  }

  /// The same configuration with other bootstrap servers.
  public func addressed(to bootstrap: String) -> KafkaConfiguration {
    var configuration = self
    configuration.bootstrap = bootstrap
    return configuration
  }

  /// The principal, as far as it is known here: the SASL user name; nil without one.
  public var user: String? {
    (common + consumer).last { $0.name == "sasl.username" }?.value
  }

  /// The SASL mechanism of the clients; nil without SASL.
  public var saslMechanism: String? {
    let properties = common + consumer + producer
    let isSASL = properties.last { $0.name == "security.protocol" }?.value.lowercased()
      .hasPrefix("sasl_")
    guard isSASL == true else { return nil }
    // librdkafka's default.
    return properties.last { ["sasl.mechanism", "sasl.mechanisms"].contains($0.name) }?.value
      ?? "GSSAPI"
  }

  /// The role of a client; each has its own default properties.
  enum Role {
    case producer, group, reader, admin

    var isConsumer: Bool { self == .group || self == .reader }
  }

  /// Every property of a client of that role; later ones override earlier ones.
  func properties(for role: Role) -> [Property] {
    var all: [Property] = [
      ("bootstrap.servers", bootstrap), ("client.id", clientID),
      ("socket.nagle.disable", "true"),  // librdkafka's own default since 2.10 (#4986)
      ("socket.keepalive.enable", "true"),
      // Added partitions and recreated topics are noticed within this time.
      ("topic.metadata.refresh.interval.ms", "10000"),
      ("reconnect.backoff.ms", "50"),
      ("reconnect.backoff.max.ms", "500"),  // recovery from a broker outage: 7.5 s → 3.4 s
      ("log_level", "4"),
      // librdkafka's producers and admin clients create the topics they ask for, if the cluster allows it.
      ("allow.auto.create.topics", "false"),
    ]
    all += Self.ofNewerLibraries
    switch role {
    case .producer: all += Self.producerDefaults + producerPreferences
    case .group:
      all +=
        Self.readerDefaults + Self.readersOfNewerLibraries + Self.groupDefaults
        + consumerPreferences
    case .reader:
      all += Self.readerDefaults + Self.readersOfNewerLibraries + consumerPreferences
    case .admin: all += [("queued.min.messages", "1")]
    }
    all += common
    if role == .producer { all += producer }
    if role.isConsumer { all += consumer }
    // The ends of logs are asked for as they are read: to readers of uncommitted records a log would seem to end before
    // what they have committed, as one that was truncated.
    if role == .admin { all += consumer.filter { $0.name == "isolation.level" } }
    return all
  }

  private static let producerDefaults: [Property] = [
    ("acks", "all"),
    ("enable.idempotence", "true"),
    ("compression.type", "lz4"),
    linger(KafkaDefaults.linger),
    ("message.timeout.ms", "0"),  // never gives a record up
    ("queue.buffering.max.messages", "200000"),
    ("queue.buffering.max.kbytes", "131072"),
    ("partitioner", "murmur2_random"),  // the Java client's: same key, same partition
  ]

  private static let readerDefaults: [Property] = [
    ("auto.offset.reset", "earliest"),
    ("check.crcs", "true"),
    ("isolation.level", "read_committed"),
    fetchWait(KafkaDefaults.tableFetchWait),
    ("fetch.error.backoff.ms", "50"),
    ("fetch.message.max.bytes", "1048576"),
    // A `.reader` gets at most about this many records per second and partition (librdkafka 2.0.2); a group member
    // wakes librdkafka instead (`FetchWakeup`).
    ("queued.min.messages", "4000"),
    ("queued.max.messages.kbytes", "4096"),  // of each partition
  ]

  /// Properties that only newer versions of librdkafka have, and whose defaults differ from ours or must not change;
  /// docs/kafka.md, "Versions of librdkafka", has the reasons.
  static let newDefaults: [Property] = [
    ("enable.metrics.push", "false"),
    ("metadata.recovery.strategy", recoveryStrategy(of: KafkaLibrary.version)),
    ("retry.backoff.max.ms", "500"),
  ]

  /// What a client does when it has lost all brokers. librdkafka 2.16.0 re-bootstraps without a pause as long as a
  /// bootstrap server accepts connections and closes them: an outage becomes a connection storm.
  static func recoveryStrategy(of version: (major: Int, minor: Int, patch: Int)) -> String {
    version == (2, 16, 0) ? "none" : "rebootstrap"
  }

  /// The same for consumers. Without the first, a full partition is checked again when `FetchWakeup` asks for it.
  static let newReaderDefaults: [Property] = [
    ("fetch.queue.backoff.ms", "5"), ("group.protocol", "classic"),
  ]

  /// The properties that this version of librdkafka knows.
  private static let ofNewerLibraries = newDefaults.filter { hasProperty($0.name) }
  private static let readersOfNewerLibraries = newReaderDefaults.filter { hasProperty($0.name) }

  /// True if the fetch backoff of a full partition can be configured.
  static let hasFetchBackoff = hasProperty("fetch.queue.backoff.ms")

  private static let groupDefaults: [Property] = [
    // librdkafka has one fetch request open per broker. While every partition with records holds its share of the
    // prefetch, that request names only partitions without any, and no more of a backlog arrives until it is answered.
    fetchWait(KafkaDefaults.fetchWait),
    // Eager: cooperative assignment loses partitions in 2.0.2 (librdkafka #4059).
    ("partition.assignment.strategy", "roundrobin"),
    // How long the partitions of a dead host wait. Longer than a killed replica needs to come back under its instance
    // id, and than KRaft needs to fence a dead broker (9 s); docs/operations.md, "Rebalances".
    ("session.timeout.ms", "15000"),
    // A member learns of a rebalance with its next heartbeat; the first members wait until the last has learnt of it.
    ("heartbeat.interval.ms", "300"),
    ("max.poll.interval.ms", "60000"),
  ]

  /// Properties that the user cannot set, because Martlet's guarantees rest on them.
  private static let reserved: [String: String] = [
    "allow.auto.create.topics":
      "a topic that was deleted would come back with the cluster's number of partitions",
    "bootstrap.servers": "set the bootstrap address itself instead",
    // librdkafka's older name of it.
    "metadata.broker.list": "set the bootstrap address itself instead",
    "enable.auto.commit": "an offset is committed only when its outcome is acknowledged",
    "enable.auto.offset.store": "an offset is committed only when its outcome is acknowledged",
    "enable.partition.eof": "readers of tables rely on it",
    "auto.offset.reset": "any value but earliest would skip records silently",
    "group.id": "each service has its own group",
    "group.instance.id": "set --instance-id instead",
    "enable.idempotence": "the order and uniqueness of produced records rest on it",
    "enable.gapless.guarantee": "it turns one refused record into the end of the producer",
    "delivery.report.only.error": "no record would ever count as written",
    "transactional.id": "librdkafka then takes no record outside of a transaction",
    "partitioner":
      "what follows a record with its key, such as a cancellation, has to reach its partition",
  ]

  /// A librdkafka configuration for a client of that role, with `fixed` overriding everything.
  ///
  /// Throws for a property that librdkafka does not know, a value it rejects, and a property that Martlet reserves.
  func makeNative(_ role: Role, fixed: [Property] = []) throws(KafkaError) -> NativeConfiguration {
    for (name, _) in common + consumer + producer {
      if let why = Self.reserved[name] {
        throw .invalid("Kafka property \(name) cannot be set: \(why)")
      }
    }
    let native = NativeConfiguration()
    let all = properties(for: role) + fixed
    for (name, value) in all {
      if let why = Self.objection(to: name, value) {
        throw .invalid("Kafka property \(name)=\(value) cannot be used: \(why)")
      }
      try native.set(name, value)
    }
    if !Self.canLogIn(all) {
      throw .invalid(
        "Kafka property sasl.mechanisms=OAUTHBEARER needs sasl.oauthbearer.method=oidc with a client id, its secret and"
          + " the URL of a token endpoint; tokens of another origin, such as those of AWS IAM, cannot be used: log in"
          + " with SCRAM or PLAIN instead")
    }
    // Only where the client's events are consumed: otherwise they would pile up.
    if role == .producer || role == .group { native.reportThrottling() }
    return native
  }

  /// False if librdkafka would ask the program for each token (OAUTHBEARER without a method of its own): nobody answers,
  /// and the client then never connects and reports no error.
  private static func canLogIn(_ properties: [Property]) -> Bool {
    func value(_ names: String...) -> String {
      properties.last { names.contains($0.name) }?.value.lowercased() ?? ""
    }
    return !value("security.protocol").hasPrefix("sasl_")
      || value("sasl.mechanisms", "sasl.mechanism") != "oauthbearer"
      || value("sasl.oauthbearer.method") == "oidc"
      || ["true", "t", "1"].contains(value("enable.sasl.oauthbearer.unsecure.jwt"))
  }

  /// Why a group member here cannot work with a value that librdkafka accepts; nil if it can.
  private static func objection(to name: String, _ value: String) -> String? {
    let why = "partitions are taken and given back all at once here, not one by one"
    switch name {
    case "partition.assignment.strategy" where value.contains("cooperative-sticky"):
      return "\(why); use roundrobin (the default) or range"
    case "group.protocol" where value.lowercased() == "consumer":
      return "\(why); use classic (the default)"
    default: return nil
    }
  }
}

/// Owns a `rd_kafka_conf_t` until a client takes it.
public struct NativeConfiguration: ~Copyable {
  let raw: OpaquePointer

  public init() {
    raw = rd_kafka_conf_new()
    rd_kafka_conf_set_log_cb(raw, KafkaLog.callback)
  }

  deinit { rd_kafka_conf_destroy(raw) }

  public func set(_ name: String, _ value: String) throws(KafkaError) {
    let limit = 512
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: limit)
    defer { text.deallocate() }
    text.pointee = 0
    switch rd_kafka_conf_set(raw, name, value, text, limit) {
    case RD_KAFKA_CONF_OK: return
    case RD_KAFKA_CONF_UNKNOWN:
      throw .invalid(
        "librdkafka has no property \(name); see its CONFIGURATION.md for those it has")
    default:
      throw .invalid("Kafka property \(name)=\(value): \(String(cString: text))")
    }
  }

  /// True if there is a property of this name, for clients or for topics.
  ///
  /// Tries to set it: when asked for a property that has no value, librdkafka answers as if it did not know it.
  func has(_ name: String) -> Bool {
    rd_kafka_conf_set(raw, name, "", nil, 0) != RD_KAFKA_CONF_UNKNOWN
  }

  func integer(_ name: String) -> Int? {
    var size = 64
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: size)
    defer { text.deallocate() }
    guard rd_kafka_conf_get(raw, name, text, &size) == RD_KAFKA_CONF_OK else { return nil }
    return Int(String(cString: text))
  }

  func reportThrottling() { rd_kafka_conf_set_throttle_cb(raw, KafkaThrottle.callback) }

  func enableEvents(_ events: Int32) { rd_kafka_conf_set_events(raw, events) }

  /// Creates a client, which takes ownership of the configuration.
  public consuming func makeClient(_ type: rd_kafka_type_t) throws(KafkaError) -> OpaquePointer {
    let limit = 512
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: limit)
    defer { text.deallocate() }
    text.pointee = 0
    let configuration = raw
    discard self
    if let client = rd_kafka_new(type, configuration, text, limit) { return client }
    rd_kafka_conf_destroy(configuration)
    throw .invalid("cannot create a Kafka client: \(String(cString: text))")
  }
}
