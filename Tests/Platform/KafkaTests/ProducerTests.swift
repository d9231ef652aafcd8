// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@Suite struct ProducerTests {
  @Test func `a record is read back with key value headers and timestamp`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 3)
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
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1)
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

  @Test
  func `records without a key that are to be spread are not all sent to one partition`() throws {
    let fixture = try KafkaFixture(topics: [("things", 12)])
    var configuration = fixture.configuration
    configuration.preferSpreading()
    let producer = try KafkaProducer(configuration)
    let topic = try producer.topic(named: fixture.name("things"))
    let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
    for tag: UInt in 0..<240 { _ = producer.produce(topic, key: noKey, value: noKey, tag: tag) }
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    let partitions = producer.drainDeliveries().sorted { $0.tag < $1.tag }.map(\.partition)
    #expect(Set(partitions).count == 12)
    let repeats = zip(partitions, partitions.dropFirst()).count { $0 == $1 }
    #expect(repeats < 60, "one in twelve stays by chance")
  }

  @Test func `transient errors and dropped connections lose nothing`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 2, embedded: true)
    fixture.broker!.inject(
      [.notLeader, .requestTimedOut, .disconnect, .notEnoughReplicas], into: .produce)
    let tags = try produce(2_000, producer, topic)
    #expect(Set(tags.keys) == Set(0..<2_000))
    let stored = try fixture.read(fixture.name("things"), count: 2_000)
    #expect(Set(stored.map(\.value)) == Set((0..<2_000).map { String($0) }))
  }

  @Test func `a fatal error replaces the client and nothing is lost`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 3, embedded: true)
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
    #expect(producer.flush(timeoutMilliseconds: 30_000))
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
      expectEventually {
        deliveries += producer.drainDeliveries()
        return !deliveries.isEmpty
      }
      if MonotonicClock.milliseconds() - start < 1_500 { quick += 1 }
    }
    #expect(quick >= 2)
  }

  @Test func `a record beside another that is not acknowledged lingers`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let producer = try lingering(fixture, milliseconds: 60_000)
    let topic = try producer.topic(named: fixture.name("things"))
    submit(0, producer, topic)
    var deliveries = producer.drainDeliveries()
    submit(1, producer, topic)
    producer.sendPromptly()
    letPass(milliseconds: 100)
    deliveries += producer.drainDeliveries()
    #expect(deliveries.isEmpty)
    #expect(producer.flush(timeoutMilliseconds: 30_000))
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
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1, embedded: true)
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
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    #expect(!producer.isFull)
    guard case .queued = produceOne(1, producer, topic) else {
      return #expect(Bool(false), "a producer with room refused a record")
    }
  }

  @Test func `a queue without a limit of records has room`() throws {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    configuration.producer = [("queue.buffering.max.messages", "0")]
    let producer = try KafkaProducer(configuration)
    #expect(!producer.isFull)
    let topic = try producer.topic(known: "things")
    guard case .queued = produceOne(1, producer, topic) else {
      return #expect(Bool(false), "a producer with room refused a record")
    }
    #expect(!producer.isFull)
    #expect(producer.abandon() == 1)
  }

  @Test func `an outage of the broker is waited out`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("things", 1, embedded: true)
    try fixture.produce(producer, topic, key: nil, value: "before")
    fixture.broker!.setDown()
    _ = produceOne(1, producer, topic)
    #expect(!producer.flush(timeoutMilliseconds: 300))
    fixture.broker!.setUp()
    #expect(producer.flush(timeoutMilliseconds: 30_000))
  }

  func produceOne(_ number: Int, _ producer: KafkaProducer, _ topic: KafkaTopic) -> ProduceResult {
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
  func produce(
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
