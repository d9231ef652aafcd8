// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import TestSupport
import Testing

@testable import Kafka

@Suite struct ReaderTests {
  @Test func `a table is caught up only after everything that was there`() throws {
    let fixture = try KafkaFixture()
    let topic = try fixture.createTopic("table", partitions: 3, compacted: true)
    let producer = try KafkaProducer(fixture.configuration)
    let handle = try producer.topic(named: topic)
    for number in 0..<30 {
      try fixture.produce(producer, handle, key: "k\(number % 10)", value: "v\(number)")
    }
    try fixture.produce(producer, handle, key: "k3", value: nil)
    let table = try KafkaTable(fixture.configuration, topic: topic)
    #expect(!table.isCaughtUp)
    var content: [String: String] = [:]
    func poll() {
      table.poll(timeoutMilliseconds: 20) { key, value in
        content[String(decoding: key, as: UTF8.self)] = value.map {
          String(decoding: $0, as: UTF8.self)
        }
      }
    }
    expectEventually {
      poll()
      return table.isCaughtUp
    }
    #expect(content.count == 9)
    #expect(content["k3"] == nil)
    #expect(content["k9"] == "v29")
    try fixture.produce(producer, handle, key: "k3", value: "again")
    expectEventually {
      poll()
      return content["k3"] == "again"
    }
    #expect(table.rebuilds == 0)
    table.close()
  }

  @Test func `a long table is read in several calls`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(600, partitions: 1)
    let table = try KafkaTable(fixture.configuration, topic: topic)
    defer { table.close() }
    table.mostAtOnce = 1
    var (count, most) = (0, 0)
    expectEventually {
      let before = count
      table.pollRecords(timeoutMilliseconds: 20) { _ in count += 1 }
      most = max(most, count - before)
      return table.isCaughtUp
    }
    #expect(count == 600 && most <= 256)
  }

  /// One that is written to all the time has no end that a fetch meets: services waited ten seconds for it.
  @Test func `a table is caught up with its last record before its end is reported`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(600, partitions: 1)
    var configuration = fixture.configuration
    // The end of a log is reported when a fetch has waited there.
    configuration.consumer = [("fetch.wait.max.ms", "90000"), ("socket.timeout.ms", "180000")]
    let table = try KafkaTable(configuration, topic: topic)
    defer { table.close() }
    var count = 0
    expectEventually {
      table.pollRecords(timeoutMilliseconds: 20) { _ in count += 1 }
      return table.isCaughtUp
    }
    #expect(count == 600)
  }

  @Test func `an empty table is caught up too`() throws {
    let fixture = try KafkaFixture()
    let topic = try fixture.createTopic("table", partitions: 2, compacted: true)
    let table = try KafkaTable(fixture.configuration, topic: topic)
    expectEventually {
      table.poll(timeoutMilliseconds: 20) { _, _ in }
      return table.isCaughtUp
    }
    table.close()
  }

  /// A broker that is away says nothing of its partitions, and takes the answers about all others with it.
  @Test func `a table of the last hour has all of it, although one partition has no leader`() throws
  {
    let fixture = try KafkaFixture(topics: [("table", 2)], embedded: true)
    let broker = try #require(fixture.broker)
    let topic = fixture.name("table")
    // More than are read of a partition without a record of that time.
    try produceNumbers(fixture, topic, 24_000)
    let admin = try KafkaAdmin(fixture.configuration)
    let first = TopicPartition(topic: topic, partition: 0)
    let end = try admin.watermarks(first, timeoutMilliseconds: 5_000).high
    admin.close()
    #expect(end > 10_000)
    try broker.setLeader(topic: topic, partition: 1, broker: -1)
    let table = try KafkaTable(
      fixture.configuration, topic: topic, partitions: 2, since: 3_600_000)
    defer { table.close() }
    var count: Int64 = 0
    expectEventually(withinMilliseconds: 20_000) {
      table.pollRecords(timeoutMilliseconds: 20) { record in
        if record.partition == 0 { count += 1 }
      }
      return count >= end
    }
    #expect(count == end)
  }

  @Test func `a tail from the end sees only what comes afterwards`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(100, partitions: 2)
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .end)
    try produceNumbers(fixture, topic, 5, from: 100)
    var batch = KafkaBatch(capacity: 100)
    var seen: Set<String> = []
    expectEventually {
      _ = tail.poll(into: &batch, timeoutMilliseconds: 20)
      for index in 0..<batch.count {
        seen.insert(String(decoding: batch[index].value, as: UTF8.self))
      }
      batch.release()
      return seen.count >= 5
    }
    #expect(seen == ["100", "101", "102", "103", "104"])
    #expect(tail.missed == 0)
    tail.close()
  }

  /// `martlet trace` waited for each partition of each topic.
  @Test func `a tail begins although the broker has nothing for its first partition`() throws {
    let fixture = try KafkaFixture(topics: [("idle", 3)])
    var configuration = fixture.configuration
    // Longer than the tail waits for the ends of the others.
    configuration.consumer = [("fetch.wait.max.ms", "60000"), ("socket.timeout.ms", "120000")]
    let tail = try KafkaTail(configuration, topic: fixture.name("idle"), from: .end)
    tail.close()
  }

  @Test func `a tail from the end reads partitions that are added from their start`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 1)], embedded: true)
    let topic = fixture.name("numbers")
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .end)
    defer { tail.close() }
    try fixture.broker?.grow(topic: topic, to: 3)
    // What comes before the tail knows of them.
    try produceNumbers(fixture, topic, 100)
    var batch = KafkaBatch(capacity: 100)
    var seen: [Int32: Int] = [:]
    expectEventually {
      tail.followPartitions()
      _ = tail.poll(into: &batch, timeoutMilliseconds: 20)
      for index in 0..<batch.count { seen[batch[index].partition, default: 0] += 1 }
      batch.release()
      return seen.values.reduce(0, +) >= 100 && tail.isCaughtUp
    }
    #expect(seen.count == 3 && seen.values.reduce(0, +) == 100)
    #expect(tail.partitions == 3 && tail.missed == 0)
  }

  @Test func `what the broker dropped before it was read is counted`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 1)], embedded: true)
    let topic = fixture.name("numbers")
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .offsets([0: 0]))
    var configuration = fixture.configuration
    configuration.producer = [("compression.type", "none"), ("linger.ms", "5")]
    let producer = try KafkaProducer(configuration)
    let handle = try producer.topic(named: topic)
    let value = [UInt8](repeating: 120, count: 100_000)
    let total = 120
    for number in 0..<total {
      value.withUnsafeBytes {
        _ = producer.produce(handle, key: .init(start: nil, count: 0), value: $0, tag: UInt(number))
      }
      if number % 10 == 9 { #expect(producer.flush(timeoutMilliseconds: 30_000)) }
    }
    fixture.broker?.dropRecords(of: topic, before: 40)
    let admin = try KafkaAdmin(fixture.configuration)
    let marks = try admin.watermarks(
      TopicPartition(topic: topic, partition: 0), timeoutMilliseconds: 30_000)
    #expect(marks.low == 40)
    #expect(marks.high == Int64(total))
    var batch = KafkaBatch(capacity: 100)
    var last: Int64 = -1
    var count = 0
    expectEventually {
      _ = tail.poll(into: &batch, timeoutMilliseconds: 20)
      for index in 0..<batch.count { last = max(last, batch[index].offset) }
      count += batch.count
      batch.release()
      return last == Int64(total - 1)
    }
    #expect(count + tail.missed == total)
    tail.close()
    // A reader that comes after the drop from offset 0 is told as well.
    let late = try KafkaTail(fixture.configuration, topic: topic, from: .offsets([0: 0]))
    expectEventually {
      _ = late.poll(into: &batch, timeoutMilliseconds: 20)
      batch.release()
      return late.missed > 0
    }
    #expect(late.missed == Int(marks.low))
    late.close()
  }

  @Test func `a new topic is waited for until each partition has a leader`() throws {
    let fixture = try KafkaFixture(topics: [("new", 3)], embedded: true)
    let broker = try #require(fixture.broker)
    let topic = fixture.name("new")
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let partitions = (0..<3).map { TopicPartition(topic: topic, partition: $0) }
    try broker.setLeader(topic: topic, partition: 1, broker: -1)
    #expect(throws: KafkaError.self) {
      try admin.awaitLeaders(of: partitions, timeoutMilliseconds: 0)
    }
    let election = try LoopThread(name: "election") {
      try? broker.setLeader(topic: topic, partition: 1, broker: 1)
    }
    try admin.awaitLeaders(of: partitions, timeoutMilliseconds: 30_000)
    election.join()
    #expect(try admin.watermarks(partitions, timeoutMilliseconds: 30_000).map(\.high) == [0, 0, 0])
  }

  @Test func `a topic that is not there is an error`() throws {
    let fixture = try KafkaFixture()
    #expect(throws: KafkaError.self) {
      _ = try KafkaTail(fixture.configuration, topic: fixture.name("nothing"), from: .end)
    }
  }

  @Test func `the list of topics has their partitions and creates none`() throws {
    let fixture = try KafkaFixture(topics: [("three", 3), ("five", 5)])
    let admin = try KafkaAdmin(fixture.configuration)
    let counts = try admin.partitionCounts(timeoutMilliseconds: 30_000)
      .filter { $0.key.hasPrefix(fixture.prefix) }
    #expect(counts == [fixture.name("three"): 3, fixture.name("five"): 5])
  }

  /// A sender ended by itself when the coordinator moved while it was assigned partitions.
  @Test func `committed offsets are asked for again when the coordinator has moved`() throws {
    KafkaLog.silence()
    let broker = try EmbeddedBroker([.init("read", partitions: 1)])
    let admin = try KafkaAdmin(
      KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "martlet-test"))
    defer { admin.close() }
    broker.inject([.notCoordinator, .coordinatorNotAvailable, .disconnect], into: .offsetFetch)
    let partition = TopicPartition(topic: "read", partition: 0)
    let offsets = try admin.groupOffsets("readers", [partition], timeoutMilliseconds: 30_000)
    #expect(offsets == [CommittedOffset(partition, offset: nil)])
  }

  @Test func `the watermarks are asked of a new leader too`() throws {
    KafkaLog.silence()
    let broker = try EmbeddedBroker([.init("moved", partitions: 3)], brokers: 2)
    let admin = try KafkaAdmin(
      KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "martlet-test"))
    defer { admin.close() }
    let partitions = (0..<3).map { TopicPartition(topic: "moved", partition: $0) }
    for leader: Int32 in [1, 2, 1] {
      for partition in partitions {
        try broker.setLeader(topic: "moved", partition: partition.partition, broker: leader)
      }
      let marks = try admin.watermarks(partitions, timeoutMilliseconds: 30_000)
      #expect(marks.map(\.low) == [0, 0, 0] && marks.map(\.high) == [0, 0, 0])
    }
  }

  @Test func `the watermarks of many partitions come in the order asked for`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(100, partitions: 3)
    let admin = try KafkaAdmin(fixture.configuration)
    let partitions = [2, 0, 1].map { TopicPartition(topic: topic, partition: Int32($0)) }
    let together = try admin.watermarks(partitions, timeoutMilliseconds: 30_000)
    var single: [Watermarks] = []
    for partition in partitions {
      single.append(try admin.watermarks(partition, timeoutMilliseconds: 30_000))
    }
    #expect(together == single)
    #expect(together.reduce(0) { $0 + $1.high } == 100)
    #expect(together.allSatisfy { $0.low == 0 })
  }
}
