// SPDX-License-Identifier: Apache-2.0
import CRdKafka
import EmbeddedKafka
import TestSupport
import Testing

@testable import Kafka

@Suite struct TopicListingTests {
  private func listing(_ code: rd_kafka_resp_err_t?) -> TopicListing {
    var listing = TopicListing()
    listing.sizes["there"] = TopicSize(partitions: 3, copies: 1)
    listing.errors["asked"] = code.map { KafkaError($0, "topic asked") }
    return listing
  }

  @Test func `a topic is known with a size, or if the cluster says that there is none`() {
    #expect(listing(nil).knows("there"))
    #expect(listing(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).knows("asked"))
    #expect(listing(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION).knows("asked"), "no name of a topic")
  }

  /// Such a one is asked for again: nobody may say that it does not exist.
  @Test func `one that is hidden, in the making, not answered for, or just come to sight is not`() {
    for code in [
      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
      RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT,
    ] {
      #expect(!listing(code).knows("asked"), "\(code)")
    }
    #expect(!listing(nil).knows("asked"))
    let names = ["there", "asked", "another"]
    #expect(listing(RD_KAFKA_RESP_ERR__TIMED_OUT).unknown(among: names) == ["asked", "another"])
    let missing = listing(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    #expect(missing.unknown(among: names) == ["another"])
  }

  /// A cluster that is shared may have very many others, and each process asks every ten seconds.
  @Test func `topics asked for by name are answered without any others`() throws {
    let fixture = try KafkaFixture(topics: [("mine", 3), ("others", 5)], embedded: true)
    let (mine, others) = (fixture.name("mine"), fixture.name("others"))
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    for _ in 1...2 {
      let listing = try admin.topicListing(naming: [mine, "nowhere"], timeoutMilliseconds: 5_000)
      #expect(listing.sizes == [mine: TopicSize(partitions: 3, copies: 1)])
      #expect(listing.errors["nowhere"]?.isOfMissingPartition == true)
    }
    #expect(try admin.topicSize(others, timeoutMilliseconds: 5_000).partitions == 5)
    let error = #expect(throws: KafkaError.self) {
      _ = try admin.topicSize("nowhere", timeoutMilliseconds: 5_000)
    }
    #expect(error?.isOfMissingPartition == true)
    let leaders = try admin.leaders(
      of: [TopicPartition(topic: others, partition: 4)], timeoutMilliseconds: 5_000)
    #expect(leaders == [TopicPartition(topic: others, partition: 4): 1])
    // Nothing was created by being asked for.
    let all = try admin.topicListing(timeoutMilliseconds: 5_000).sizes
    #expect(Set(all.keys) == [mine, others])
  }

  /// librdkafka takes the last part of an IPv6 address without brackets for no port, and asks somebody else.
  @Test func `a broker's address can be given to a client, an IPv6 one too`() {
    #expect(KafkaAdmin.address("2001:db8::5", 9_092) == "[2001:db8::5]:9092")
    #expect(KafkaAdmin.address("kafka-1.example.com", 9_092) == "kafka-1.example.com:9092")
  }

  /// Azure Event Hubs has no id. Services would wait for a broker for ever.
  @Test func `a cluster without an id and a controller has answered`() throws {
    let fixture = try KafkaFixture(topics: [("things", 2)], embedded: true)
    fixture.broker?.hideClusterID()
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    #expect(eventually { (try? admin.awaitAnswer(timeoutMilliseconds: 250)) != nil })
    fixture.broker?.setDown()
    let counts = try? admin.partitionCounts(timeoutMilliseconds: 300)
    #expect(counts == nil, "the broker is down")
    fixture.broker?.setUp()
    #expect(eventually { (try? admin.awaitAnswer(timeoutMilliseconds: 250)) != nil })
    let found = try admin.partitionCounts(timeoutMilliseconds: 5_000)
    #expect(found[fixture.name("things")] == 2)
  }
}
