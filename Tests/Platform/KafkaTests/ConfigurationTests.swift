// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Kafka

/// Properties of librdkafka that we set, with `PrefetchLimits`.
@Suite struct ConfigurationTests {
  @Test(arguments: [
    ("linger.msec", "5", "linger.msec"), ("acks", "perhaps", "acks=perhaps"),
    ("enable.auto.commit", "true", "enable.auto.commit cannot be set"),
    ("metadata.broker.list", "kafka:9092", "metadata.broker.list cannot be set"),
    ("partitioner", "consistent_random", "partitioner cannot be set"),
    ("delivery.report.only.error", "true", "delivery.report.only.error cannot be set"),
    ("transactional.id", "sender-1", "transactional.id cannot be set"),
  ])
  func `an unknown property, a bad value and what the promises rest on are refused by name`(
    name: String, value: String, words: String
  ) {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    let property: KafkaConfiguration.Property = (name, value)
    configuration.common = name == "acks" ? [] : [property]
    configuration.producer = name == "acks" ? [property] : []
    let error = #expect(throws: KafkaError.self) { _ = try KafkaProducer(configuration) }
    #expect(error?.message.contains(words) == true)
  }

  @Test func `of a codec that the cluster does not take the error names the setting`() {
    let error = KafkaError(code: 76, message: "refused")
    #expect(error.name == "UNSUPPORTED_COMPRESSION_TYPE")
    #expect(error.remedy?.contains("kafka.producer.compression.type") == true)
  }

  /// `remedy` speaks of records that are written.
  @Test func `of a topic that the cluster does not create the error names what helps`() {
    for (code, name, words) in [
      (29, "TOPIC_AUTHORIZATION_FAILED", "Create on the cluster"),
      (31, "CLUSTER_AUTHORIZATION_FAILED", "Create on the cluster"),
      (38, "INVALID_REPLICATION_FACTOR", "--replication"),
      (40, "INVALID_CONFIG", "topics create --dry-run"),
      (44, "POLICY_VIOLATION", "topics create --dry-run"),
    ] as [(Int32, String, String)] {
      let error = KafkaError(code: code, message: "topic push.devices: refused")
      #expect(error.name == name)
      #expect(error.remedyOfCreation?.contains(words) == true, "\(name)")
    }
    #expect(KafkaError(code: 36, message: "exists").remedyOfCreation == nil)
  }

  /// They work with librdkafka, and not with how partitions are taken and given back here.
  @Test(arguments: ["cooperative-sticky", "roundrobin,cooperative-sticky"])
  func `an assignor that gives partitions one by one is refused before anything is opened`(
    value: String
  ) {
    for isCommon in [false, true] {
      var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
      let property: KafkaConfiguration.Property = ("partition.assignment.strategy", value)
      if isCommon { configuration.common = [property] } else { configuration.consumer = [property] }
      let error = #expect(throws: KafkaError.self) { try configuration.check() }
      #expect(error?.message.contains("\(value) cannot be used") == true)
      #expect(error?.message.contains("use roundrobin") == true)
    }
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    configuration.consumer = [("partition.assignment.strategy", "range")]
    #expect(throws: Never.self) { try configuration.check() }
  }

  /// librdkafka would ask the program for a token, wait for it for ever, and say nothing.
  @Test func `OAUTHBEARER is refused unless librdkafka gets the tokens itself`() {
    func error(_ properties: KafkaConfiguration.Property...) -> KafkaError? {
      var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
      configuration.common = properties
      do throws(KafkaError) {
        try configuration.check()
        return nil
      } catch {
        return error
      }
    }
    let login: KafkaConfiguration.Property = ("security.protocol", "SASL_SSL")
    let mechanism: KafkaConfiguration.Property = ("sasl.mechanisms", "OAUTHBEARER")
    let words = "needs sasl.oauthbearer.method=oidc"
    #expect(error(login, mechanism)?.message.contains(words) == true)
    #expect(error(login, mechanism, ("sasl.oauthbearer.config", "a=b")) != nil)
    #expect(error(login, mechanism, ("enable.sasl.oauthbearer.unsecure.jwt", "true")) == nil)
    #expect(error(login, mechanism, ("sasl.mechanisms", "PLAIN")) == nil, "the last one counts")
    #expect(error(mechanism) == nil, "nobody logs in")
    // Some builds of librdkafka cannot, and say so.
    let oidc = error(login, mechanism, ("sasl.oauthbearer.method", "oidc"))
    #expect(oidc?.message.contains(words) != true)
  }

  @Test func `a member's name is set where the program knows of it`() {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    configuration.consumer = [("group.instance.id", "one")]
    let error = #expect(throws: KafkaError.self) { try configuration.check() }
    #expect(error?.message.contains("set --instance-id instead") == true)
  }

  @Test func `times for which brokers delay answers add up`() {
    let before = KafkaThrottle.milliseconds
    for milliseconds in [250, 0, -1, 100] as [Int32] {
      KafkaThrottle.callback(nil, nil, 7, milliseconds, nil)
    }
    #expect(KafkaThrottle.milliseconds - before == 350)
    #expect(KafkaThrottle.broker == 7)
  }

  /// A topic that was deleted must not come back with the cluster's number of partitions.
  @Test func `no client makes topics by asking for them`() {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    for role in [KafkaConfiguration.Role.producer, .group, .reader, .admin] {
      let said = configuration.properties(for: role).filter {
        $0.name == "allow.auto.create.topics"
      }
      #expect(said.map(\.value) == ["false"])
    }
    configuration.common = [("allow.auto.create.topics", "true")]
    let error = #expect(throws: KafkaError.self) { _ = try KafkaProducer(configuration) }
    #expect(error?.message.contains("allow.auto.create.topics cannot be set") == true)
  }

  /// Behind an open transaction, the end of a log depends on it: one that seems to end before what the group has committed
  /// counts as truncated, and is read from its first record.
  @Test func `the ends of logs are asked for with the isolation level of those who read them`() {
    func level(_ role: KafkaConfiguration.Role, _ value: String?) -> String? {
      var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
      if let value { configuration.consumer = [("isolation.level", value)] }
      return configuration.properties(for: role).last { $0.name == "isolation.level" }?.value
    }
    for role in [KafkaConfiguration.Role.group, .reader, .admin] {
      #expect(level(role, "read_uncommitted") == "read_uncommitted", "\(role)")
    }
    // librdkafka's own default is the same.
    #expect(level(.admin, nil) == nil && level(.group, nil) == "read_committed")
    #expect(level(.producer, "read_uncommitted") == nil)
  }

  @Test func `no consumer that authenticates with Kerberos is woken by a user name`() {
    let limits: [KafkaConfiguration.Property] = [
      ("queued.min.messages", "100"), ("queued.max.messages.kbytes", "100"),
    ]
    func isWoken(_ properties: KafkaConfiguration.Property...) -> Bool {
      FetchWakeup(OpaquePointer(bitPattern: 8)!, limits + properties, hasOwnPause: false) != nil
    }
    #expect(isWoken() && isWoken(("security.protocol", "SSL")))
    #expect(!isWoken(("security.protocol", "SASL_SSL")))  // librdkafka's default is GSSAPI
    #expect(!isWoken(("security.protocol", "sasl_ssl"), ("sasl.mechanism", "GSSAPI")))
    for mechanism in ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] {
      #expect(isWoken(("security.protocol", "sasl_ssl"), ("sasl.mechanisms", mechanism)))
    }
  }

  @Test
  func `a share is read as librdkafka reads numbers; none is needed where a pause can be set`() {
    let limits: [KafkaConfiguration.Property] = [
      ("queued.min.messages", "0x10"), ("queued.max.messages.kbytes", "100"),
    ]
    let client = OpaquePointer(bitPattern: 8)!
    #expect(FetchWakeup(client, limits, hasOwnPause: true) == nil)
    var mark = FetchWakeup(client, limits, hasOwnPause: false)?.makeMark()
    let told = (0..<8).map { mark?.take(records: 1, through: $0, bytes: 0, isEmpty: false) }
    #expect(told == Array(repeating: false, count: 7) + [true])
  }

  @Test func `a property of newer versions is set where librdkafka has it, and only there`() {
    let configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    for role in [KafkaConfiguration.Role.producer, .group, .reader, .admin] {
      let set = configuration.properties(for: role)
      let ofReaders = role.isConsumer ? KafkaConfiguration.newReaderDefaults : []
      for (name, value) in KafkaConfiguration.newDefaults + ofReaders {
        let said = set.filter { $0.name == name }.map(\.value)
        #expect(
          said == (KafkaConfiguration.hasProperty(name) ? [value] : []), "\(name) of a \(role)")
      }
    }
  }

  @Test func `the page about Kafka has the properties of newer versions with their values`() throws
  {
    let page = try Repository.text("docs/kafka.md")
    let all = KafkaConfiguration.newDefaults + KafkaConfiguration.newReaderDefaults
    for (name, value) in all + [("socket.nagle.disable", "true")]
    where name != "metadata.recovery.strategy" {
      #expect(page.contains("\n| `\(name)` | `\(value)` |"), "\(name)")
    }
    #expect(page.contains("\n| `metadata.recovery.strategy` | `rebootstrap`; `none` with 2.16.0 |"))
  }

  @Test(arguments: [
    (2, 10, 1, "rebootstrap"), (2, 15, 1, "rebootstrap"), (2, 16, 0, "none"),
    (2, 16, 1, "rebootstrap"), (2, 17, 0, "rebootstrap"), (3, 16, 0, "rebootstrap"),
  ])
  func `one version of librdkafka does not go back to the bootstrap addresses`(
    major: Int, minor: Int, patch: Int, strategy: String
  ) {
    #expect(KafkaConfiguration.recoveryStrategy(of: (major, minor, patch)) == strategy)
  }

  @Test func `a producer property does not reach consumers`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)])
    var configuration = fixture.configuration
    configuration.producer = [("no.such.property", "1")]
    let tail = try KafkaTail(configuration, topic: fixture.name("things"), from: .end)
    tail.close()
    #expect(throws: KafkaError.self) { _ = try KafkaProducer(configuration) }
  }

  @Test func `added partitions are followed by every client within ten seconds`() {
    let configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    for role in [KafkaConfiguration.Role.producer, .group, .reader] {
      let interval = configuration.properties(for: role)
        .last { $0.name == "topic.metadata.refresh.interval.ms" }
      #expect(interval?.value == "10000", "\(role)")
    }
  }

  @Test(arguments: [1, 12, 10_000])
  func `a reader in bulk is not stopped by what waits`(partitions: Int) throws {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    configuration.preferBulkReading(of: partitions)
    func value(_ name: String) -> Int {
      configuration.properties(for: .reader).last { $0.name == name }.flatMap { Int($0.value) } ?? 0
    }
    // More than is shown in the second for which librdkafka stops fetching.
    #expect(value("queued.min.messages") * partitions >= 1_000_000)
    let bytes = value("queued.max.messages.kbytes") * partitions << 10
    #expect(bytes > 500 << 20)
    _ = try configuration.makeNative(.reader)
  }

  @Test func `the user's property wins over a preference`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)])
    var configuration = fixture.configuration
    configuration.producerPreferences = [("queue.buffering.max.messages", "1")]
    configuration.producer = [("queue.buffering.max.messages", "2"), ("linger.ms", "1000")]
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    var queued = 0
    for tag in 0..<3 {
      if case .queued = producer.produce(topic, key: none, value: none, tag: UInt(tag)) {
        queued += 1
      }
    }
    #expect(queued == 2)
  }

  @Test func `a session outlasts a restart and a broker's death`() {
    let configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    let timeout = configuration.properties(for: .group).last { $0.name == "session.timeout.ms" }
    let milliseconds = timeout.flatMap { Int($0.value) } ?? 0
    // KRaft's broker.session.timeout.ms, and Kafka's own session time-out.
    #expect(milliseconds > 9_000 && milliseconds < 45_000)
  }

  @Test func `prefetch is divided among partitions within bounds`() {
    func limits(_ partitions: Int) -> [String] {
      var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
      configuration.dividePrefetch(among: partitions)
      return configuration.consumerPreferences.map(\.value)
    }
    #expect(limits(1) == ["4000", "32768", "262144"])
    #expect(limits(28) == ["571", "1170", "112347"])
    #expect(limits(1_000) == ["250", "256", "32768"])
    #expect(limits(0) == ["4000", "32768", "262144"])
  }

  @Test func `partitions that share a queue share its limits undivided`() {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    configuration.dividePrefetch(among: 28)
    configuration.sharePrefetch(among: 28)
    #expect(
      configuration.consumerPreferences.suffix(3).map(\.value) == ["32000", "16384", "112347"])
  }

  @Test func `the error about an absent broker has its address`() throws {
    KafkaLog.silence()
    let admin = try KafkaAdmin(KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test"))
    defer { admin.close() }
    let error = #expect(throws: KafkaError.self) {
      try admin.awaitAnswer(timeoutMilliseconds: 300)
    }
    #expect(error?.message.contains("127.0.0.1:1") == true)
    #expect(error?.isRetriable == true)
  }
}
