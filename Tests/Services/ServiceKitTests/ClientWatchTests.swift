import Contract
// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import EmbeddedKafka
import EventLoop
import Kafka
import Settings
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

/// A client of librdkafka that has forgotten all brokers of its cluster.
@Suite(.onOwnThread, .serialized) struct ClientWatchTests {
  private static let forgets = LibraryVersion.librdkafka >= LibraryVersion(2, 10, 0)

  private struct Place {
    let fixture: KafkaFixture
    let proxy: AuthorizingProxy
    let kafka: KafkaConfiguration
    let context: ServiceContext

    /// - Parameter name: of its clients, by which a test knows them among those of others.
    init(_ name: String) throws {
      fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
      let topic = KafkaRight.Resource.topic(fixture.name("things"))
      let rights = [KafkaRight(topic, [.read, .write])]
      proxy = try AuthorizingProxy(to: fixture.configuration.bootstrap, rights: rights)
      kafka = KafkaConfiguration(bootstrap: proxy.bootstrap, clientID: name)
      let table = SettingTable([])
      context = ServiceContext(
        name: "test", log: Logger(service: "test", level: .error),
        values: try table.read(CommandLineFlags([], for: table)))
    }

    func stranded() -> Set<String> {
      OpenClients.withoutBroker(timeoutMilliseconds: 200)
        .filter { $0.hasPrefix(kafka.clientID + "#") }
    }
  }

  /// A broker that answers while it starts names none. If this fails, librdkafka has been mended.
  @Test(.enabled(if: forgets))
  func `a client that was told of no broker looks for none again, and the process ends`() throws {
    KafkaLog.silence()
    let place = try Place("stranded")
    defer { place.proxy.close() }
    let admin = try KafkaAdmin(place.kafka)
    defer { admin.close() }
    _ = try admin.topicSizes(timeoutMilliseconds: 10_000)
    #expect(place.stranded() == [])
    place.proxy.hideBroker(true)
    _ = try? admin.topicSizes(timeoutMilliseconds: 1_000)
    place.proxy.hideBroker(false)
    #expect(eventually { place.stranded().count == 1 })
    var watch = ClientWatch(place.kafka, place.context)
    watch.look(isReached: false, now: 0)
    #expect(place.context.failure == nil)
    watch.look(isReached: false, now: StrandedClients.patience)
    #expect(place.context.failure?.description.contains("has found no broker for 60 s") == true)
    #expect(place.context.signals.isStopping)
  }

  @Test func `clients that find a broker are not stranded, nor is one that has ended`() throws {
    KafkaLog.silence()
    let place = try Place("found")
    defer { place.proxy.close() }
    let producer = try KafkaProducer(place.kafka)
    let away = try KafkaProducer(place.kafka.addressed(to: "127.0.0.1:1"))
    #expect(eventually { place.stranded().count == 1 })
    away.close()
    #expect(place.stranded() == [])
    producer.close()
    #expect(place.stranded() == [])
  }

  @Test func `while the cluster is away nobody is stranded`() throws {
    KafkaLog.silence()
    let place = try Place("away")
    place.proxy.close()
    let admin = try KafkaAdmin(place.kafka)
    defer { admin.close() }
    var watch = ClientWatch(place.kafka, place.context)
    watch.look(isReached: false, now: 0)
    watch.look(isReached: false, now: 2 * StrandedClients.patience)
    #expect(place.context.failure == nil)
  }
}
