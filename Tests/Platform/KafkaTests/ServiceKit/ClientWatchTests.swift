// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

/// A client of this process that finds no broker.
@Suite(.onOwnThread, .serialized) struct ClientWatchTests {
  private static let forgets = LibraryVersion.librdkafka >= LibraryVersion(2, 10, 0)
  /// Nobody listens there.
  private static let nowhere = "127.0.0.1:1"

  /// Of the clients of this name: other tests have others.
  private func withoutBroker(_ name: String) -> Set<String> {
    OpenClients.withoutBroker(timeoutMilliseconds: 200).filter { $0.hasPrefix(name + "#") }
  }

  @Test(.enabled(if: forgets))
  func `a client that finds no broker although there is one ends the process, in time`() throws {
    KafkaLog.silence()
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let context = try ServiceContext.test()
    let stranded = try KafkaProducer(
      KafkaConfiguration(bootstrap: Self.nowhere, clientID: "stranded"))
    defer { stranded.close() }
    var watch = ClusterWatch(fixture.configuration, [:], context)
    watch.findStranded(isReached: false, now: 0)
    #expect(context.failure == nil)
    watch.findStranded(isReached: true, now: StrandedClients.patience)
    #expect(context.failure?.description.contains("has found no broker for 60 s") == true)
    #expect(context.signals.isStopping)
  }

  @Test func `clients that find a broker are not stranded, nor is one that has ended`() throws {
    KafkaLog.silence()
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    var kafka = KafkaConfiguration(bootstrap: fixture.configuration.bootstrap, clientID: "found")
    let producer = try KafkaProducer(kafka)
    kafka = kafka.addressed(to: Self.nowhere)
    let away = try KafkaProducer(kafka)
    #expect(eventually { withoutBroker("found").count == 1 })
    away.close()
    #expect(eventually { withoutBroker("found").isEmpty })
    producer.close()
    #expect(withoutBroker("found").isEmpty)
  }

  @Test func `while the cluster is away nobody is stranded`() throws {
    KafkaLog.silence()
    let context = try ServiceContext.test()
    let kafka = KafkaConfiguration(bootstrap: Self.nowhere, clientID: "away")
    let admin = try KafkaAdmin(kafka)
    defer { admin.close() }
    var watch = ClusterWatch(kafka, [:], context)
    watch.findStranded(isReached: false, now: 0)
    watch.findStranded(isReached: false, now: 2 * StrandedClients.patience)
    #expect(context.failure == nil)
  }
}
