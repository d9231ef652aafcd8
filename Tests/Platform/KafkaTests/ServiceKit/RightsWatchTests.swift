// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

/// Rights that are missing at the start or taken away at run time, for a user with exactly those of the table.
@Suite(.onOwnThread) struct RightsWatchTests {
  private struct Place {
    let fixture: KafkaFixture
    let names: TopicNames
    let rights: KafkaRights
    let user: RestrictedUser
    let kafka: KafkaConfiguration
    let context: ServiceContext

    init(_ program: KafkaUser) throws {
      fixture = try KafkaFixture(embedded: true)
      names = TopicNames(prefix: fixture.prefix)
      rights = KafkaRights(of: program, names)
      for topic in rights.topics {
        try fixture.createTopic(String(topic.dropFirst(fixture.prefix.count)), partitions: 1)
      }
      let broker = try #require(fixture.broker)
      user = RestrictedUser(broker, rights: rights.all)
      var kafka = fixture.configuration
      kafka.common += user.properties
      self.kafka = kafka
      context = try .test()
      context.rights.begin(rights, user: nil)
    }

    var obstacle: String? { context.status.obstacles.first { $0.condition == "rights" }?.reason }
  }

  /// Each right of the table to see or to read a topic. Of a topic that is read and written the other right still shows
  /// it; one that has a single right is hidden without it.
  @Test(arguments: KafkaUser.allCases)
  func `each right to a topic is missed, named and found again`(program: KafkaUser) throws {
    let place = try Place(program)
    let admin = try KafkaAdmin(place.kafka)
    defer { admin.close() }
    var watch = ClusterWatch(place.kafka, [:], place.context)
    _ = try watch.listTopics(admin)
    #expect(place.obstacle == nil)
    for right in place.rights.all {
      guard case .topic(let topic) = right.resource else { continue }
      let operation: KafkaRight.Operation = right.operations.contains(.read) ? .read : .write
      place.user.revoke(operation, right.resource)
      #expect(
        try eventually {
          _ = try watch.listTopics(admin)
          return place.obstacle == "needs \(operation.rawValue) on topic \(topic)"
        }, "\(topic): \(place.obstacle ?? "")")
      place.user.grant(operation, right.resource)
      #expect(
        try eventually {
          _ = try watch.listTopics(admin)
          return place.obstacle == nil
        }, "\(topic): \(place.obstacle ?? "")")
    }
  }

  /// A cluster may leave the questions of the start without an answer for seconds.
  @Test func `what is missing is said before anything else is asked of the cluster`() throws {
    let place = try Place(.signer)
    place.user.revoke(.read, .topic(place.names.tokenRequests))
    let said = Mutex<String?>(nil)
    let status = place.context.status
    try ClusterWatch.start(
      place.kafka, [:], place.context,
      begin: { _ in
        let obstacle = status.obstacles.first { $0.condition == "rights" }
        said.withLock { $0 = obstacle?.reason ?? "nothing" }
      }, tell: { _ in })
    #expect(eventually { said.withLock { $0 } != nil })
    place.context.signals.requestStop()
    #expect(said.withLock { $0 } == "needs Read on topic \(place.names.tokenRequests)")
  }

  @Test func `a hidden topic is neither gone nor new: its partitions are not known`() throws {
    let place = try Place(.signer)
    let admin = try KafkaAdmin(place.kafka)
    defer { admin.close() }
    place.user.revoke(.read, .topic(place.names.tokenRequests))
    let listing = try admin.topicListing(
      naming: place.rights.topics + ["nowhere"], timeoutMilliseconds: 30_000)
    #expect(Set(listing.hidden.keys) == [place.names.tokenRequests, "nowhere"])
    #expect(listing.hidden[place.names.tokenRequests]?.name == "TOPIC_AUTHORIZATION_FAILED")
    #expect(listing.sizes.keys.sorted() == [place.names.providerTokens])
  }

  @Test
  func `a producer that may write to none of its topics says so before its first record`() throws {
    let place = try Place(.signer)
    let topic = KafkaRight.Resource.topic(place.names.providerTokens)
    place.user.revoke(.write, topic)
    let producer = try KafkaProducer(place.kafka)
    defer { producer.close() }
    let output = try producer.topic(known: place.names.providerTokens)
    var watch = ProducerWatch(place.context)
    var deliveries: [Delivery] = []
    func turn() {
      deliveries += producer.drainDeliveries()
      watch.turn(producer, now: MonotonicClock.milliseconds())
    }
    expectEventually {
      turn()
      return place.obstacle == "needs Write on topic \(place.names.providerTokens)"
    }
    #expect(counter("refused_by_kafka", place) > 0 && counter("producers_refused", place) == 1)
    place.user.grant(.write, topic)
    var isHanded = false
    expectEventually {
      turn()
      if !isHanded, case .queued = produce("x", producer, output) { isHanded = true }
      return place.obstacle == nil && !deliveries.isEmpty
    }
    #expect(deliveries.first?.refused == nil)
  }

  @Test func `a right to write that is taken away: the record waits, the right is named`() throws {
    let place = try Place(.api)
    let topic = KafkaRight.Resource.topic(place.names.devices)
    let producer = try KafkaProducer(place.kafka)
    defer { producer.close() }
    let output = try producer.topic(known: place.names.devices)
    var watch = ProducerWatch(place.context)
    var deliveries: [Delivery] = []
    func turn() {
      deliveries += producer.drainDeliveries()
      watch.turn(producer, now: MonotonicClock.milliseconds())
    }
    func wait(_ isReached: () -> Bool) -> Bool {
      eventually {
        turn()
        return isReached()
      }
    }
    _ = produce("one", producer, output)
    #expect(wait { deliveries.count == 1 })
    // Visible still, by another right.
    place.user.grant(.describe, topic)
    place.user.revoke(.write, topic)
    _ = produce("two", producer, output)
    #expect(wait { place.obstacle == "needs Write on topic \(place.names.devices)" })
    place.user.grant(.write, topic)
    #expect(wait { deliveries.count == 2 && place.obstacle == nil })
  }

  @Test func `of several topics that refuse records each is named until it takes one`() throws {
    let place = try Place(.api)
    let names = [place.names.devices, place.names.schedule]
    let producer = try KafkaProducer(place.kafka)
    defer { producer.close() }
    let outputs = try names.map { try producer.topic(known: $0) }
    var watch = ProducerWatch(place.context)
    var deliveries: [Delivery] = []
    func wait(_ isReached: () -> Bool) -> Bool {
      eventually {
        deliveries += producer.drainDeliveries()
        watch.turn(producer, now: MonotonicClock.milliseconds())
        return isReached()
      }
    }
    for output in outputs { _ = produce("one", producer, output) }
    #expect(wait { deliveries.count == 2 })
    for name in names {
      // Visible still, by another right.
      place.user.grant(.describe, .topic(name))
      place.user.revoke(.write, .topic(name))
    }
    for output in outputs { _ = produce("two", producer, output) }
    #expect(wait { place.obstacle?.hasSuffix(" and 1 more") == true }, "\(place.obstacle ?? "")")
    place.user.grant(.write, .topic(names[0]))
    #expect(wait { deliveries.count == 3 })
    #expect(wait { place.obstacle == "needs Write on topic \(names[1])" })
    place.user.grant(.write, .topic(names[1]))
    #expect(wait { deliveries.count == 4 && place.obstacle == nil })
  }

  private func produce(
    _ text: String, _ producer: KafkaProducer, _ topic: KafkaTopic
  ) -> ProduceResult {
    Array(text.utf8).withUnsafeBytes { producer.produce(topic, key: $0, value: $0, tag: 1) }
  }

  private func counter(_ name: String, _ place: Place) -> Int {
    place.context.counters.sums.first { $0.name == name }?.value ?? 0
  }
}
