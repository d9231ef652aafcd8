// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

/// Why a command that writes stands, on a broker that takes nothing.
@Suite(.serialized) struct WriteWatchTests {
  init() { KafkaLog.silence() }

  /// Produces until nothing more is acknowledged, and looks until that is over, or everything is.
  private func write(
    _ count: Int, to topic: String, _ broker: EmbeddedBroker, _ standstill: Standstill,
    whileStanding: (UInt64) -> Void = { _ in }
  ) throws -> String? {
    var kafka = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "writer")
    kafka.common = [("reconnect.backoff.max.ms", "200")]
    kafka.producer = [("compression.type", "none")]
    let cluster = try KafkaCluster(kafka, .test())
    defer { cluster.admin.close() }
    let producer = try KafkaProducer(kafka)
    defer { producer.close() }
    let target = try producer.topic(named: topic)
    var watch = WriteWatch(cluster, [topic], standstill: standstill)
    var progress: ProgressLine?
    let value = [UInt8](repeating: 7, count: 1_000)
    var produced = 0
    let start = MonotonicClock.milliseconds()
    while produced < count || producer.outstanding > 0 {
      if produced < count, case .queued = producer.produce(target, key: nil, value: value, tag: 0) {
        produced += 1
      } else {
        usleep(1_000)
      }
      _ = producer.drainDeliveries()
      whileStanding(MonotonicClock.milliseconds() - start)
      do throws(ServiceFailure) {
        try watch.look(producer.standing, &progress)
      } catch {
        return "\(error)"
      }
    }
    return nil
  }

  @Test func `a broker that is away is named, and the command goes on when it is back`() throws {
    let broker = try EmbeddedBroker([BrokerTopic("things", partitions: 1)])
    broker.setRoundTrip(milliseconds: 20)
    var isDown = false
    var isUp = false
    let error = try write(
      2_000, to: "things", broker, Standstill(noticeable: 500, patience: 60_000)
    ) { time in
      if !isDown {
        broker.setDown()
        isDown = true
      } else if time > 3_000, !isUp {
        broker.setUp()
        isUp = true
      }
    }
    #expect(error == nil && isUp)
  }

  @Test func `a broker that stays away ends the command, which says so`() throws {
    let broker = try EmbeddedBroker([BrokerTopic("things", partitions: 1)])
    var isDown = false
    let error = try write(
      2_000, to: "things", broker, Standstill(noticeable: 500, patience: 3_000)
    ) { _ in
      if !isDown { broker.setDown() }
      isDown = true
    }
    #expect(error?.contains("cannot list the brokers at") == true, "\(error ?? "nothing")")
  }
}
