// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@Suite struct ProducerTests {
  @Test func `a record is read back with key value headers and timestamp`() throws {
    let fixture = try KafkaFixture(topics: [("things", 3)])
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    let before = WallClock.milliseconds()
    let headers = [KafkaHeader("reason", "because"), KafkaHeader("empty", "")]
    try fixture.produce(producer, topic, key: "k", value: "v", headers: headers)
    let records = try fixture.read(fixture.name("things"), count: 1)
    #expect(records.count == 1)
    #expect(records[0].key == "k")
    #expect(records[0].value == "v")
    #expect(records[0].headers == headers)
    #expect(records[0].timestamp >= before - 1_000)
  }

  @Test func `no key no value and empty ones stay what they are`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)])
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    try fixture.produce(producer, topic, key: nil, value: "keyless")
    try fixture.produce(producer, topic, key: "gone", value: nil)
    try fixture.produce(producer, topic, key: "k", value: "")
    let records = try fixture.read(fixture.name("things"), count: 3)
    #expect(records.map(\.key) == [nil, "gone", "k"])
    #expect(records.map(\.value) == ["keyless", nil, ""])
  }

  @Test func `every record gets one delivery with its tag`() throws {
    let fixture = try KafkaFixture(topics: [("things", 4)])
    let wakeup = Wakeup()
    let producer = try KafkaProducer(fixture.configuration, wakeup: wakeup)
    let topic = try producer.topic(named: fixture.name("things"))
    let tags = try produce(10_000, producer, topic)
    #expect(tags.count == 10_000)
    #expect(Set(tags.keys) == Set(0..<10_000))
    #expect(tags.values.allSatisfy { $0 == 1 })
    #expect(producer.outstanding == 0)
    #expect(producer.outstandingBytes == 0)
  }

  @Test func `records without a key that are to be spread are not all sent to one partition`()
    throws
  {
    let fixture = try KafkaFixture(topics: [("things", 12)])
    var configuration = fixture.configuration
    configuration.preferSpreading()
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
    for tag: UInt in 0..<240 { _ = producer.produce(topic, key: noKey, value: noKey, tag: tag) }
    #expect(producer.flush(timeoutMilliseconds: 20_000))
    let partitions = producer.drainDeliveries().sorted { $0.tag < $1.tag }.map(\.partition)
    #expect(Set(partitions).count == 12)
    let repeats = zip(partitions, partitions.dropFirst()).count { $0 == $1 }
    #expect(repeats < 60, "one in twelve stays by chance")
  }

  @Test func `transient errors and dropped connections lose nothing`() throws {
    let fixture = try KafkaFixture(topics: [("things", 2)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    fixture.broker!.inject(
      [.notLeader, .requestTimedOut, .disconnect, .notEnoughReplicas], into: .produce)
    let tags = try produce(2_000, producer, topic)
    #expect(Set(tags.keys) == Set(0..<2_000))
    let stored = try fixture.read(fixture.name("things"), count: 2_000)
    #expect(Set(stored.map(\.value)) == Set((0..<2_000).map { String($0) }))
  }

  @Test func `a fatal error replaces the client and nothing is lost`() throws {
    let fixture = try KafkaFixture(topics: [("things", 3)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    var tags: [UInt: Int] = [:]
    try produce(0..<3_000, producer, topic, &tags) { number in
      if number == 1_000 || number == 2_000 { producer.injectFatalError() }
    }
    #expect(Set(tags.keys) == Set(0..<3_000))
    #expect(tags.values.allSatisfy { $0 == 1 })
    #expect(producer.restarts == 2)
    let stored = try fixture.read(fixture.name("things"), count: 3_000)
    #expect(Set(stored.map(\.value)) == Set((0..<3_000).map { String($0) }))
  }

  @Test func `records held through a fatal error keep their order headers and tombstones`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    var configuration = fixture.configuration
    configuration.producer = [("linger.ms", "60000")]
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    for number in 0..<100 {
      let key = Array("k\(number)".utf8)
      let value = Array("\(number)".utf8)
      key.withUnsafeBytes { key in
        value.withUnsafeBytes { value in
          _ = producer.produce(
            topic, key: key, value: number % 10 == 0 ? nil : value,
            headers: number % 2 == 0 ? [KafkaHeader("n", "\(number)")] : [], tag: UInt(number))
        }
      }
    }
    producer.injectFatalError()
    #expect(producer.flush(timeoutMilliseconds: 20_000))
    #expect(producer.restarts == 1)
    let stored = try fixture.read(fixture.name("things"), count: 100)
    #expect(stored.map(\.key) == (0..<100).map { "k\($0)" })
    #expect(stored.map(\.value) == (0..<100).map { $0 % 10 == 0 ? nil : "\($0)" })
    #expect(stored[2].headers == [KafkaHeader("n", "2")])
    #expect(stored[3].headers.isEmpty)
  }

  /// On a busy machine librdkafka's threads may run too late, and the record lingers.
  @Test func `a record that is alone does not linger`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let producer = try lingering(fixture, milliseconds: 2_000)
    let topic = try producer.topic(named: fixture.name("things"))
    var quick = 0
    for round: UInt in 0..<6 {
      submit(round, producer, topic)
      producer.sendPromptly()
      var deliveries: [Delivery] = []
      let start = MonotonicClock.milliseconds()
      let isAnswered = eventually {
        deliveries += producer.drainDeliveries()
        return !deliveries.isEmpty
      }
      #expect(isAnswered)
      if MonotonicClock.milliseconds() - start < 1_500 { quick += 1 }
    }
    #expect(quick >= 2)
  }

  @Test func `a record beside another that is not acknowledged lingers`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let producer = try lingering(fixture, milliseconds: 60_000)
    let topic = try producer.topic(named: fixture.name("things"))
    submit(0, producer, topic)
    var deliveries: [Delivery] = []
    deliveries += producer.drainDeliveries()
    submit(1, producer, topic)
    producer.sendPromptly()
    letPass(milliseconds: 100)
    deliveries += producer.drainDeliveries()
    #expect(deliveries.isEmpty)
    #expect(producer.flush(timeoutMilliseconds: 20_000))
  }

  private func lingering(_ fixture: KafkaFixture, milliseconds: Int) throws -> KafkaProducer {
    var configuration = fixture.configuration
    configuration.producer = [("linger.ms", "\(milliseconds)")]
    return try KafkaProducer(configuration)
  }

  private func submit(_ tag: UInt, _ producer: KafkaProducer, _ topic: KafkaTopic) {
    _ = Array("\(tag)".utf8).withUnsafeBytes { value in
      producer.produce(
        topic, key: UnsafeRawBufferPointer(start: nil, count: 0), value: value, tag: tag)
    }
  }

  @Test func `a sequence error of the broker loses nothing`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    fixture.broker!.inject([.outOfOrderSequence, .unknownProducer], into: .produce)
    let tags = try produce(500, producer, topic)
    #expect(Set(tags.keys) == Set(0..<500))
    let stored = try fixture.read(fixture.name("things"), count: 500)
    #expect(Set(stored.map(\.value)).count == 500)
  }

  @Test func `a full queue says so and takes records again after deliveries`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    var configuration = fixture.configuration
    configuration.producer = [("queue.buffering.max.messages", "100"), ("linger.ms", "50")]
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    var accepted = 0
    for number in 0..<150 {
      if case .queued = produceOne(number, producer, topic) { accepted += 1 }
    }
    #expect(accepted == 100)
    #expect(producer.isFull)
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    #expect(!producer.isFull)
    guard case .queued = produceOne(1, producer, topic) else {
      Issue.record("a producer with room refused a record")
      return
    }
  }

  @Test func `a record that is too large is refused and the rest goes on`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)])
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    let large = [UInt8](repeating: 65, count: 2_000_000)
    let result = large.withUnsafeBytes {
      producer.produce(topic, key: UnsafeRawBufferPointer(start: nil, count: 0), value: $0, tag: 1)
    }
    guard case .refused(let error) = result else {
      Issue.record("a record of 2 MB was accepted")
      return
    }
    #expect(error.name == "MSG_SIZE_TOO_LARGE")
    try fixture.produce(producer, topic, key: nil, value: "small")
  }

  @Test func `a record that the broker refuses comes back refused`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    // In its batch, and alone.
    fixture.broker!.inject([.invalidRecord, .invalidRecord], into: .produce)
    _ = produceOne(7, producer, topic)
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    var deliveries: [Delivery] = []
    deliveries += producer.drainDeliveries()
    try #require(deliveries.count == 1)
    #expect(deliveries[0].tag == 7)
    #expect(deliveries[0].refused?.name == "INVALID_RECORD")
    _ = produceOne(8, producer, topic)
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    deliveries += producer.drainDeliveries()
    try #require(deliveries.count == 2)
    #expect(deliveries[1].refused == nil)
  }

  /// Access rights are taken away and given back by people: records wait for it, and the producer is full meanwhile.
  @Test func `a lack of authorisation is waited out`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    let refusals = Array(repeating: EmbeddedBroker.Fault.topicNotAuthorized, count: 4)
    fixture.broker!.inject(refusals, into: .produce)
    _ = produceOne(7, producer, topic)
    var deliveries: [Delivery] = []
    let isFull = eventually(pauseMilliseconds: 1) {
      deliveries += producer.drainDeliveries()
      return producer.isFull
    }
    #expect(isFull && deliveries.isEmpty)
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    deliveries += producer.drainDeliveries()
    #expect(deliveries.map(\.tag) == [7])
    #expect(deliveries.compactMap { $0.refused?.name } == [])
  }

  @Test func `records that Kafka refuses are named with their topic, also between two attempts`()
    throws
  {
    let fixture = try KafkaFixture(topics: [("things", 2)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    fixture.broker!.inject(Array(repeating: .topicNotAuthorized, count: 8), into: .produce)
    _ = produceOne(7, producer, topic)
    var deliveries: [Delivery] = []
    var seen: Set<String?> = []
    let isWritten = eventually(withinMilliseconds: 60_000, pauseMilliseconds: 0) {
      deliveries += producer.drainDeliveries()
      if let trouble = producer.trouble { seen.insert(trouble.topics.first) }
      return !deliveries.isEmpty
    }
    #expect(isWritten && seen == [fixture.name("things")])
  }

  /// A topic that was deleted and is made again: what was on its way, and what comes meanwhile, waits for it.
  @Test func `a topic that is not there is waited for`() throws {
    let fixture = try KafkaFixture(topics: [("things", 2)], embedded: true)
    KafkaLog.silence()
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
    let isWaiting = eventually {
      // One at a time: the embedded broker takes later sequence numbers after it refused an earlier one, and
      // librdkafka concludes that it has the earlier one, too.
      if producer.outstanding == 0, case .queued = produceOne(accepted, producer, topic) {
        accepted += 1
      }
      deliveries += producer.drainDeliveries()
      return producer.trouble != nil
    }
    #expect(isWaiting)
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
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    deliveries += producer.drainDeliveries()
    let number = Int(try #require(deliveries.first { $0.partition > 0 }).tag)
    broker!.inject(Array(repeating: .topicNotAuthorized, count: 100), into: .produce)
    _ = produceOne(number, producer, topic)
    let isHeld = eventually(pauseMilliseconds: 1) {
      deliveries += producer.drainDeliveries()
      return producer.trouble != nil
    }
    #expect(isHeld)
    let port = try #require(bootstrap.split(separator: ":").last.flatMap { UInt16($0) })
    broker = nil
    broker = try EmbeddedBroker([.init("things", partitions: 1)], port: port)
    // Until the client knows of it, which nothing tells.
    letPass(milliseconds: 2_000)
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    deliveries = []
    deliveries += producer.drainDeliveries()
    #expect(deliveries.map(\.tag) == [UInt(number)])
    #expect(deliveries.allSatisfy { $0.refused == nil })
    #expect(broker?.brokers == 1)
  }

  @Test(
    .enabled(
      if: KafkaFixture.realCluster != nil,
      "needs a real cluster (MARTLET_TEST_KAFKA=host:port): the embedded broker makes what is asked for"
    ))
  func `a topic is not made by asking for it`() throws {
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
    let counts = try admin.partitionCounts(timeoutMilliseconds: 5_000)
    #expect(counts[fixture.name("missing")] == nil)
  }

  /// A topic may take less than a batch holds: then it takes the records one by one, in their order.
  @Test func `the records of a batch that is too large are produced one by one`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    var configuration = fixture.configuration
    configuration.producer = [("linger.ms", "100")]
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    fixture.broker!.inject([.messageTooLarge], into: .produce)
    for number in 0..<10 { _ = produceOne(number, producer, topic) }
    #expect(producer.flush(timeoutMilliseconds: 20_000))
    var deliveries: [Delivery] = []
    deliveries += producer.drainDeliveries()
    #expect(deliveries.map(\.tag) == Array(0..<10))
    #expect(deliveries.allSatisfy { $0.refused == nil })
    let stored = try fixture.read(fixture.name("things"), count: 10)
    #expect(stored.map(\.value) == (0..<10).map { String($0) })
  }

  @Test func `a refused record comes back with its content`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    fixture.broker!.inject([.messageTooLarge, .messageTooLarge], into: .produce)
    let headers = [KafkaHeader("reason", "because")]
    Array("key".utf8).withUnsafeBytes { key in
      Array("value".utf8).withUnsafeBytes { value in
        _ = producer.produce(topic, key: key, value: value, headers: headers, tag: 7)
      }
    }
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    var deliveries: [Delivery] = []
    deliveries += producer.drainDeliveries()
    #expect(deliveries.map(\.refused?.name) == ["MSG_SIZE_TOO_LARGE"])
    let record = try #require(producer.refusedRecord(7))
    #expect(record.key == Array("key".utf8) && record.value == Array("value".utf8))
    #expect(record.headers == headers && record.topic == topic)
    deliveries += producer.drainDeliveries()
    #expect(producer.refusedRecord(7) == nil)
  }

  @Test func `an outage of the broker is waited out`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    KafkaLog.silence()
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    try fixture.produce(producer, topic, key: nil, value: "before")
    fixture.broker!.setDown()
    _ = produceOne(1, producer, topic)
    #expect(!producer.flush(timeoutMilliseconds: 300))
    fixture.broker!.setUp()
    #expect(producer.flush(timeoutMilliseconds: 10_000))
  }

  private func produceOne(
    _ number: Int, _ producer: KafkaProducer, _ topic: KafkaTopic
  ) -> ProduceResult {
    Array(String(number).utf8).withUnsafeBytes {
      producer.produce(topic, key: $0, value: $0, tag: UInt(number))
    }
  }

  private func produce(
    _ count: Int, _ producer: KafkaProducer, _ topic: KafkaTopic
  ) throws -> [UInt: Int] {
    var tags: [UInt: Int] = [:]
    try produce(0..<count, producer, topic, &tags) { _ in }
    return tags
  }

  /// Produces numbers until each has its answer, trying again what did not fit; counts answers by tag.
  private func produce(
    _ numbers: Range<Int>, _ producer: KafkaProducer, _ topic: KafkaTopic,
    _ tags: inout [UInt: Int], _ before: (Int) -> Void
  ) throws {
    var deliveries: [Delivery] = []
    func drain() {
      deliveries += producer.drainDeliveries()
      for delivery in deliveries where delivery.errorCode == 0 {
        tags[delivery.tag, default: 0] += 1
      }
      deliveries.removeAll(keepingCapacity: true)
    }
    for number in numbers {
      before(number)
      let queued = eventually(pauseMilliseconds: 1) {
        if case .queued = produceOne(number, producer, topic) { return true }
        drain()
        return false
      }
      guard queued else { throw KafkaFixtureTimeout() }
    }
    let answered = eventually {
      drain()
      return producer.outstanding == 0
    }
    guard answered else { throw KafkaFixtureTimeout() }
  }
}
