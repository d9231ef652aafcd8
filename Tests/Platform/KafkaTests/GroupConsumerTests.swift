// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@Suite struct GroupConsumerTests {
  @Test func `a member reads everything and the next one goes on where it committed`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(1_000, partitions: 4)
    let first = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try first.serve()
      first.takeAll()
      return first.taken.count >= 1_000
    }
    #expect(Set(first.taken) == Set((0..<1_000).map { String($0) }))
    first.commit()
    #expect(first.failedCommits == 0)
    first.close()
    try produceNumbers(fixture, topic, 100, from: 1_000)
    let second = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try second.serve()
      second.takeAll()
      return second.taken.count >= 100
    }
    #expect(Set(second.taken) == Set((1_000..<1_100).map { String($0) }))
    second.close()
  }

  /// The loops take records from the queues of partitions, the control thread takes events: each counts as polling. A
  /// member that librdkafka puts out (`max.poll.interval.ms`) gets a revocation with its next event.
  @Test(arguments: [true, false])
  func `a member keeps its place by taking records, and by taking events`(takesRecords: Bool) throws
  {
    let fixture = try KafkaFixture(topics: [("numbers", 1)], embedded: true)
    var configuration = fixture.configuration
    // No shorter than the session.
    let bound = KafkaFixture.sessionMilliseconds
    configuration.consumer.append(("max.poll.interval.ms", "\(bound)"))
    let member = try GroupMember(
      fixture, group: "readers", topic: fixture.name("numbers"), configuration)
    try expectEventually {
      try member.serve()
      return member.assignments == 1
    }
    let end = MonotonicClock.milliseconds() + UInt64(bound + 3_000)
    while MonotonicClock.milliseconds() < end {
      if takesRecords { member.takeAll() } else { try member.serve() }
      usleep(20_000)
    }
    try member.serve()
    #expect(member.revocations == 0 && member.errors.isEmpty, "\(member.errors)")
    member.close()
  }

  @Test func `a member gets the end of a partition`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(30)
    let member = try GroupMember(fixture, group: "readers", topic: topic, reportsEnds: true)
    let ended = try eventually {
      try member.serve()
      member.takeAll()
      return !member.ends.isEmpty
    }
    #expect(ended && member.ends.last == 30 && member.taken.count == 30)
    member.close()
  }

  /// Nothing else wakes librdkafka while its only partition holds its share: it looks once per second, so 100 shares
  /// would take more than 99 s.
  @Test func `a backlog of many shares of the prefetch is read without pauses`() throws {
    let (fixture, topic) = try KafkaFixture.numbers()
    try produceNumbers(fixture, topic, 10_000, recordsOfBatch: 50)
    var configuration = fixture.configuration
    configuration.consumer.append(("queued.min.messages", "100"))
    let member = try GroupMember(fixture, group: "readers", topic: topic, configuration)
    let complete = try eventually {
      try member.serve()
      member.takeAll()
      return member.taken.count >= 10_000
    }
    let isInOrder = member.taken == (0..<member.taken.count).map { String($0) }
    #expect(complete && isInOrder, "\(member.taken.count) of 10,000")
    member.close()
  }

  @Test func `a second member takes over partitions and nothing is lost`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(2_000, partitions: 4)
    let first = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try first.serve()
      // One at a time: what waits is held back by not taking it, also through the rebalance.
      first.take(upTo: 1)
      return first.taken.count >= 100
    }
    let second = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try first.serve()
      try second.serve()
      first.take(upTo: 1)
      return first.owned.count == 2 && second.owned.count == 2
    }
    // One, unless a busy machine cost a member its session.
    #expect(first.revocations >= 1)
    try produceNumbers(fixture, topic, 500, from: 2_000)
    let wanted = Set((0..<2_500).map { String($0) })
    try expectEventually {
      try first.serve()
      try second.serve()
      first.takeAll()
      second.takeAll()
      return Set(first.taken).union(second.taken) == wanted
    }
    #expect(Set(first.owned).isDisjoint(with: second.owned))
    first.close()
    second.close()
  }

  /// Nothing but the signal says that there is something to take, again and again after the queue was emptied.
  @Test func `a queue signals its number when records come`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(partitions: 2)
    let member = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try member.serve()
      return member.owned.count == 2
    }
    let signals = SourceSignals()
    let poller = try Poller()
    try poller.add(signals.fd, token: 1, .readable)
    for (index, queue) in member.queues.enumerated() {
      queue.signal(signals, as: UInt32(7 + index))
    }
    member.takeAll()
    var events: [ReadyEvent] = []
    for round in 0..<5 {
      let before = member.taken.count
      try produceNumbers(fixture, topic, 100, from: round * 100)
      var numbers: Set<UInt32> = []
      while member.taken.count < before + 100 {
        poller.wait(timeoutMilliseconds: 30_000, into: &events)
        try #require(!events.isEmpty, "no signal, \(member.taken.count - before) of 100 records")
        signals.take { numbers.insert($0) }
        member.takeAll()
      }
      #expect(numbers.isSubset(of: [7, 8]))
    }
    member.close()
  }

  @Test
  func `a refused session says what to set, and the member joins when it is not refused`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 2)], embedded: true)
    fixture.broker!.inject([.invalidSessionTimeout, .invalidSessionTimeout], into: .joinGroup)
    let consumer = try KafkaGroupConsumer(
      fixture.configuration, group: fixture.name("readers"), topics: [fixture.name("numbers")],
      wakeup: nil)
    defer { consumer.close() }
    var errors: [KafkaError] = []
    var isAssigned = false
    expectEventually {
      while let event = consumer.nextEvent() {
        if case .error(let error) = event { errors.append(error) }
        if case .assigned = event { isAssigned = true }
      }
      return isAssigned
    }
    let refusals = errors.filter(\.isOfMembership)
    #expect(refusals.count > 0)
    #expect(refusals.allSatisfy { $0.remedy?.contains("group.min.session.timeout.ms") == true })
  }

  /// librdkafka 2.0.2 gives a partition up for good when its one question for the committed offset meets a
  /// coordinator that has just moved: ingest and feedback stood still until the next rebalance.
  @Test func `a partition without a start begins although the coordinator moves`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 2)])
    guard let broker = fixture.broker else { return }
    let topic = fixture.name("numbers")
    try produceNumbers(fixture, topic, 100)
    let consumer = try KafkaGroupConsumer(
      fixture.configuration, group: fixture.name("readers"), topics: [topic], wakeup: nil)
    // More than one look of 500 ms can use up.
    broker.inject(Array(repeating: .notCoordinator, count: 12), into: .offsetFetch)
    var queues: [KafkaQueue] = []
    var taken = 0
    var errors = 0
    var batch = KafkaBatch(capacity: 200)
    let wakeup = Wakeup()
    let all = try eventually {
      while let event = consumer.nextEvent() {
        if case .error = event { errors += 1 }
        guard case .assigned(let partitions) = event else { continue }
        queues = partitions.map { consumer.openQueue($0, wakeup: wakeup) }
        try consumer.assign(partitions.map { PartitionStart($0, offset: nil) })
      }
      for queue in queues {
        taken += queue.take(into: &batch, upTo: 200)
        batch.release()
      }
      return taken >= 100
    }
    #expect(all, "\(taken) of 100 records, after \(errors) errors")
    for queue in queues { queue.close() }
    consumer.close()
  }

  @Test func `metadata committed beside an offset comes back`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(10)
    let member = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try member.serve()
      member.takeAll()
      return member.taken.count == 10
    }
    let partition = TopicPartition(topic: topic, partition: 0)
    try member.consumer.commit([CommitRequest(partition, offset: 7, metadata: "A1.holes")])
    let committed = try member.consumer.committed([partition], timeoutMilliseconds: 30_000)
    #expect(committed == [CommittedOffset(partition, offset: 7, metadata: Array("A1.holes".utf8))])
    let admin = try KafkaAdmin(fixture.configuration)
    let seen = try admin.groupOffsets(
      fixture.name("readers"), [partition], timeoutMilliseconds: 30_000)
    #expect(seen == committed)
    member.close()
  }

  @Test func `an asynchronous commit is answered by an event`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(1)
    let member = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try member.serve()
      return !member.owned.isEmpty
    }
    let partition = TopicPartition(topic: topic, partition: 0)
    try member.consumer.commitAsync([CommitRequest(partition, offset: 1)])
    var answer: GroupEvent?
    _ = eventually {
      answer = member.consumer.nextEvent(timeoutMilliseconds: 100)
      return answer != nil
    }
    guard case .offsetsCommitted(let results, let error) = answer else {
      return #expect(Bool(false), "no answer to the commit")
    }
    #expect(error == nil)
    #expect(results.map(\.partition) == [partition])
    #expect(results.map(\.offset) == [1])
    #expect(results.allSatisfy { $0.error == nil })
    member.close()
  }

  @Test func `a queue signals its wakeup once for what arrives`() throws {
    let (fixture, topic) = try KafkaFixture.numbers()
    let member = try GroupMember(fixture, group: "readers", topic: topic)
    try expectEventually {
      try member.serve()
      return !member.owned.isEmpty
    }
    for round in 0..<20 {
      member.takeAll()
      member.wakeup.clear()
      try produceNumbers(fixture, topic, 1, from: round)
      #expect(eventually { isReadable(member.wakeup) })
      #expect(eventually { member.take(upTo: 10) == 1 })
    }
    member.close()
  }

  @Test func `assigning without a queue is refused`() throws {
    let (fixture, topic) = try KafkaFixture.numbers()
    let consumer = try KafkaGroupConsumer(
      fixture.configuration, group: fixture.name("readers"), topics: [topic], wakeup: nil)
    let start = PartitionStart(TopicPartition(topic: topic, partition: 0), offset: 0)
    #expect(throws: KafkaError.self) { try consumer.assign([start]) }
    consumer.close()
  }

  /// As with a thread of librdkafka that does not end: it waits for records that are not given back.
  @Test func `a client that does not end holds its owner up for a moment only`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(3)
    let member = try GroupMember(fixture, group: "readers", topic: topic)
    var batch = KafkaBatch(capacity: 10)
    try expectEventually {
      try member.serve()
      if let queue = member.queues.first { _ = queue.take(into: &batch, upTo: 10) }
      return batch.count == 3
    }
    let begin = MonotonicClock.milliseconds()
    member.close()
    #expect(MonotonicClock.milliseconds() - begin < 20_000)
    #expect(KafkaClientEnd.isUnderWay)
    batch.release()
    #expect(eventually { !KafkaClientEnd.isUnderWay })
  }

  @Test func `a member that has lost its place joins again as a new client`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(3)
    let member = try GroupMember(fixture, group: "readers", topic: topic, instanceID: "one")
    func awaitAssignment(_ count: Int) throws {
      try expectEventually {
        try member.serve()
        return member.assignments == count && !member.queues.isEmpty
      }
    }
    try awaitAssignment(1)
    #expect(eventually { member.take(upTo: 10) > 0 })
    for queue in member.queues { queue.close() }
    member.queues = []
    let begin = MonotonicClock.milliseconds()
    member.consumer.retire()
    #expect(MonotonicClock.milliseconds() - begin < 10_000, "it waits for nothing")
    #expect(member.consumer.nextEvent(timeoutMilliseconds: 10) == nil)
    #expect(member.consumer.knownEnds([TopicPartition(topic: topic, partition: 0)]).isEmpty)
    try member.consumer.rejoin()
    try awaitAssignment(2)
    expectEventually {
      _ = member.take(upTo: 10)
      return member.taken.count >= 6
    }
    let place = TopicPartition(topic: topic, partition: 0)
    #expect(eventually { member.consumer.knownEnds([place]) == [place: 3] })
    member.close()
  }

  @Test func `records that were kept outlive their batch`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(3)
    let member = try GroupMember(fixture, group: "readers", topic: topic)
    var batch = KafkaBatch(capacity: 10)
    try expectEventually {
      try member.serve()
      if let queue = member.queues.first { _ = queue.take(into: &batch, upTo: 10) }
      return batch.count == 3
    }
    let kept = batch[1]
    batch.keep(1)
    batch.release()
    #expect(String(decoding: kept.value, as: UTF8.self) == "1")
    kept.destroy()
    member.close()
  }

  /// Of the embedded broker's addresses each lists all groups, as two brokers do while a group's coordinator changes.
  @Test(arguments: [false, true])
  func `the members of a group are counted once, though two brokers list it or one is silent`(
    _ isSilent: Bool
  ) throws {
    KafkaLog.silence()
    let broker = try EmbeddedBroker([.init("things", partitions: 1)], brokers: 2)
    if isSilent { broker.setRoundTrip(milliseconds: 600_000, broker: 2) }
    let configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "martlet-test")
    let consumer = try KafkaGroupConsumer(
      configuration, group: "readers", topics: ["things"], wakeup: nil)
    defer { consumer.close() }
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    try expectEventually {
      if case .assigned = consumer.nextEvent() { try consumer.assign([]) }
      return admin.memberCount(of: "readers", timeoutMilliseconds: 1_000) == 1
    }
  }
}
