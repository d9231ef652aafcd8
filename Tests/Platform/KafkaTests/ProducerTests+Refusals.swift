// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

/// Records that the broker refuses, and topics that are not there.
extension ProducerTests {
  @Test func `a record that is too large is refused and the rest goes on`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1)
    let large = [UInt8](repeating: 65, count: 2_000_000)
    let result = large.withUnsafeBytes {
      producer.produce(topic, key: UnsafeRawBufferPointer(start: nil, count: 0), value: $0, tag: 1)
    }
    guard case .refused(let error) = result else {
      return #expect(Bool(false), "a record of 2 MB was accepted")
    }
    #expect(error.name == "MSG_SIZE_TOO_LARGE")
    try fixture.produce(producer, topic, key: nil, value: "small")
  }

  @Test func `a record that the broker refuses comes back refused`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1, embedded: true)
    // In its batch, and alone.
    fixture.broker!.inject([.invalidRecord, .invalidRecord], into: .produce)
    _ = produceOne(7, producer, topic)
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    var deliveries = producer.drainDeliveries()
    try #require(deliveries.count == 1)
    #expect(deliveries[0].tag == 7)
    #expect(deliveries[0].refused?.name == "INVALID_RECORD")
    _ = produceOne(8, producer, topic)
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    deliveries += producer.drainDeliveries()
    try #require(deliveries.count == 2)
    #expect(deliveries[1].refused == nil)
  }

  /// Access rights are taken away and given back by people: records wait for it, and the producer is full meanwhile.
  @Test func `a lack of authorisation is waited out`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1, embedded: true)
    let refusals = Array(repeating: EmbeddedBroker.Fault.topicNotAuthorized, count: 4)
    fixture.broker!.inject(refusals, into: .produce)
    _ = produceOne(7, producer, topic)
    var deliveries: [Delivery] = []
    let isFull = eventually(pauseMilliseconds: 1) {
      deliveries += producer.drainDeliveries()
      return producer.isFull
    }
    #expect(isFull && deliveries.isEmpty)
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    deliveries += producer.drainDeliveries()
    #expect(deliveries.map(\.tag) == [7])
    #expect(deliveries.compactMap { $0.refused?.name } == [])
  }

  @Test
  func `records that Kafka refuses are named with their topic, also between two attempts`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 2, embedded: true)
    fixture.broker!.inject(Array(repeating: .topicNotAuthorized, count: 8), into: .produce)
    _ = produceOne(7, producer, topic)
    var deliveries: [Delivery] = []
    var seen: Set<String?> = []
    let isWritten = eventually(pauseMilliseconds: 0) {
      deliveries += producer.drainDeliveries()
      if let trouble = producer.trouble { seen.insert(trouble.topics.first) }
      return !deliveries.isEmpty
    }
    #expect(isWritten && seen == [fixture.name("things")])
  }

  /// A topic that was deleted and is made again: what was on its way, and what comes meanwhile, waits for it.
  @Test func `a topic that is not there is waited for`() throws {
    let fixture = try KafkaFixture(topics: [("things", 2)], embedded: true)
    let broker = fixture.broker!
    var configuration = fixture.configuration
    // librdkafka believes in a topic that it has just been told of for 30 s, whatever the brokers say.
    configuration.producerPreferences.append(("topic.metadata.propagation.max.ms", "0"))
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    broker.setTopic(fixture.name("things"), fault: .unknownTopicOrPartition)
    // Makes the client ask for the topic.
    broker.inject([.notLeader], into: .produce)
    var tags: [UInt: Int] = [:]
    var deliveries: [Delivery] = []
    var accepted = 0
    expectEventually {
      // One at a time: the embedded broker takes later sequence numbers after it refused an earlier one, and
      // librdkafka concludes that it has the earlier one, too.
      if producer.outstanding == 0, case .queued = produceOne(accepted, producer, topic) {
        accepted += 1
      }
      deliveries += producer.drainDeliveries()
      return producer.trouble != nil
    }
    #expect(producer.isFull)
    #expect(producer.trouble?.topics == [fixture.name("things")])
    #expect(producer.trouble?.error.remedy?.contains("topics create") == true)
    #expect(producer.refusals > 0)
    broker.setTopic(fixture.name("things"), fault: nil)
    try produce(accepted..<(accepted + 10), producer, topic, &tags) { _ in }
    #expect(deliveries.allSatisfy { $0.refused == nil })
    #expect(producer.trouble == nil)
    #expect(producer.outstanding == 0 && producer.outstandingBytes == 0)
    let stored = try fixture.read(fixture.name("things"), count: accepted + 10)
    #expect(Set(stored.map(\.value)) == Set((0..<(accepted + 10)).map { String($0) }))
  }

  /// While only a right is missing, a record keeps its partition; the topic is made again without that partition.
  @Test func `a held record whose partition is gone goes to another one`() throws {
    KafkaLog.silence()
    var broker: EmbeddedBroker? = try EmbeddedBroker([.init("things", partitions: 8)])
    let bootstrap = broker!.bootstrap
    var configuration = KafkaConfiguration(bootstrap: bootstrap, clientID: "martlet-test")
    configuration.common = [("reconnect.backoff.max.ms", "200")]
    configuration.producer = [("linger.ms", "1"), ("topic.metadata.refresh.interval.ms", "100")]
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: "things")
    var deliveries: [Delivery] = []
    for number in 0..<40 { _ = produceOne(number, producer, topic) }
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    deliveries += producer.drainDeliveries()
    let number = Int(try #require(deliveries.first { $0.partition > 0 }).tag)
    broker!.inject(Array(repeating: .topicNotAuthorized, count: 100), into: .produce)
    _ = produceOne(number, producer, topic)
    expectEventually(pauseMilliseconds: 1) {
      deliveries += producer.drainDeliveries()
      return producer.trouble != nil
    }
    let port = try #require(bootstrap.split(separator: ":").last.flatMap { UInt16($0) })
    broker = nil
    broker = try EmbeddedBroker([.init("things", partitions: 1)], port: port)
    // Until the client knows of it, which nothing tells.
    letPass(milliseconds: 2_000)
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    deliveries = []
    deliveries += producer.drainDeliveries()
    #expect(deliveries.map(\.tag) == [UInt(number)])
    #expect(deliveries.allSatisfy { $0.refused == nil })
    #expect(broker?.brokers == 1)
  }

  @Test func `a topic is not made by asking for it`() throws {
    let fixture = try KafkaFixture()
    let producer = try KafkaProducer(fixture.configuration)
    #expect(throws: KafkaError.self) {
      _ = try producer.topic(named: fixture.name("missing"), timeoutMilliseconds: 2_000)
    }
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    #expect(throws: KafkaError.self) {
      _ = try KafkaTail(fixture.configuration, topic: fixture.name("missing"), from: .beginning)
    }
    let counts = try admin.partitionCounts(timeoutMilliseconds: 30_000)
    #expect(counts[fixture.name("missing")] == nil)
  }

  /// A topic may take less than a batch holds: then it takes the records one by one, in their order.
  @Test func `the records of a batch that is too large are produced one by one`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    var configuration = fixture.configuration
    configuration.producer = [("linger.ms", "100")]
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    fixture.broker!.inject([.messageTooLarge], into: .produce)
    for number in 0..<10 { _ = produceOne(number, producer, topic) }
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    let deliveries = producer.drainDeliveries()
    #expect(deliveries.map(\.tag) == Array(0..<10))
    #expect(deliveries.allSatisfy { $0.refused == nil })
    let stored = try fixture.read(fixture.name("things"), count: 10)
    #expect(stored.map(\.value) == (0..<10).map { String($0) })
  }

  @Test func `a refused record comes back with its content`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1, embedded: true)
    fixture.broker!.inject([.messageTooLarge, .messageTooLarge], into: .produce)
    let headers = [KafkaHeader("reason", "because")]
    Array("key".utf8).withUnsafeBytes { key in
      Array("value".utf8).withUnsafeBytes { value in
        _ = producer.produce(topic, key: key, value: value, headers: headers, tag: 7)
      }
    }
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    var deliveries = producer.drainDeliveries()
    #expect(deliveries.map(\.refused?.name) == ["MSG_SIZE_TOO_LARGE"])
    let record = try #require(producer.refusedRecord(7))
    #expect(record.key == Array("key".utf8) && record.value == Array("value".utf8))
    #expect(record.headers == headers && record.topic == topic)
    let error = try #require(deliveries[0].refused)
    let words = producer.describe(refused: 7, error)
    #expect(words.hasPrefix("topic \(fixture.name("things")) does not take a record of 8 bytes: "))
    deliveries += producer.drainDeliveries()
    #expect(producer.refusedRecord(7) == nil)
    #expect(producer.describe(refused: 7, error) == "\(error)")
  }

  /// A later record with its tag would be told of with its content.
  @Test func `a refused record that is abandoned leaves nothing behind`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1, embedded: true)
    fixture.broker!.inject([.invalidRecord, .invalidRecord], into: .produce)
    _ = produceOne(7, producer, topic)
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    #expect(producer.abandon() == 0)
    #expect(producer.drainDeliveries().isEmpty)
    #expect(producer.refusedRecord(7) == nil)
  }
}
