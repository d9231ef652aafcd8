// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import ServiceKit
import Synchronization
import TestSupport

@testable import Sender

/// Produces notifications at a steady pace on a thread of its own, until it is told to stop.
final class SteadyTraffic {
  private let state: State
  private var thread: LoopThread?

  private final class State: Sendable {
    let isStopping = Atomic(false)
    let sent = Atomic(0)
  }

  /// - Parameters:
  ///   - first: the number that device tokens and ids count up from.
  ///   - milliseconds: between two notifications.
  init(
    _ rig: SenderRig, lane: Lane = .first, app: String = SenderRig.app, from first: Int,
    everyMilliseconds milliseconds: UInt64
  ) throws {
    let state = State()
    self.state = state
    let configuration = rig.fixture.configuration
    let name = lane == .bulk ? rig.names.notifications(.bulk) : rig.names.notifications(.first)
    thread = try LoopThread(name: "traffic") {
      do {
        let producer = try KafkaProducer(configuration)
        let topic = try producer.topic(named: name)
        var deliveries: [Delivery] = []
        var next = MonotonicClock.milliseconds()
        while !state.isStopping.load(ordering: .relaxed) {
          let number = first + state.sent.load(ordering: .relaxed)
          SenderRig.produce(
            producer, topic, SenderRig.token(number),
            SenderRig.envelope(id: SenderRig.id(number), lane: lane, app: app))
          state.sent.add(1, ordering: .relaxed)
          deliveries += producer.drainDeliveries()
          deliveries.removeAll(keepingCapacity: true)
          next += milliseconds
          let now = MonotonicClock.milliseconds()
          if next > now { usleep(UInt32(next - now) * 1_000) }
        }
        _ = producer.flush(timeoutMilliseconds: 30_000)
        producer.close()
      } catch {
        preconditionFailure("the traffic cannot start: \(error)")
      }
    }
  }

  deinit { stop() }

  /// Notifications produced so far.
  var sent: Int { state.sent.load(ordering: .relaxed) }

  /// Ends it; how many notifications were produced.
  @discardableResult
  func stop() -> Int {
    state.isStopping.store(true, ordering: .relaxed)
    thread.take()?.join()
    return sent
  }
}
