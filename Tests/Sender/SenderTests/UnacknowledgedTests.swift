// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

@testable import Sender

/// A broker that takes nothing, although it can be read: the bytes that a producer may hold stop the intake. The number
/// of outcomes that do is in `SenderDecisionsTests/Dispatch/TenantFairnessTests.swift`.
@Suite(.serialized) struct UnacknowledgedTests {
  /// What was taken before and is answered later comes on top of the bound.
  private static let inFlight = 500

  /// Lets a sender work whose producer cannot begin; returns how many records were taken when that stood still.
  ///
  /// - Parameter least: where it must not stand still, however long a busy machine takes for the next record.
  private func taken(of count: Int, atLeast least: Int, _ value: (Int) -> String) throws -> Int {
    let gateway = try ScriptedGateway()
    let rig = try SenderRig(embedded: true)
    let broker = try #require(rig.fixture.broker)
    try rig.publishToken()
    let topic = try rig.producer.topic(named: rig.names.notifications(.first))
    for number in 0..<count {
      SenderRig.produce(rig.producer, topic, SenderRig.token(number), value(number))
    }
    #expect(rig.producer.flush(timeoutMilliseconds: 30_000))
    // An idempotent producer sends nothing before it has its number.
    broker.inject(Array(repeating: .notCoordinator, count: 100_000), into: .initProducerID)
    let sender = try rig.startSender(
      ["--max-open", "1000000", "--max-in-flight", "\(Self.inFlight)"], loops: 1,
      answering: gateway)
    var last = (taken: 0, since: MonotonicClock.milliseconds())
    expectEventually {
      let (taken, now) = (sender.counter("taken"), MonotonicClock.milliseconds())
      if taken != last.taken { last = (taken, now) }
      return taken >= least && now - last.since >= 1_500
    }
    #expect(try rig.committed() <= 0)
    broker.clearFaults(of: .initProducerID)
    #expect(try eventually { try rig.committed() == count })
    #expect(sender.counter("taken") == count)
    return last.taken
  }

  @Test
  func `16 MiB of dead letters stop the intake, and all are there when Kafka takes them`() throws {
    let garbage = String(repeating: "x", count: 4_000)
    let least = 3_001
    let taken = try taken(of: 6_000, atLeast: least) { _ in garbage }
    let most = Publisher.unacknowledgedBytesAtMost / garbage.utf8.count + Self.inFlight
    #expect(taken >= least && taken <= most, "\(taken) were taken of at most \(most)")
  }
}
