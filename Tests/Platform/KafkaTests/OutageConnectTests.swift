// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Synchronization
import TestSupport
import Testing

/// Connects of a client while its cluster is away.
@Suite(.serialized) struct OutageConnectTests {
  /// An address that takes connections and closes them at once, as a load balancer without a broker behind it does.
  private final class Closing: Sendable {
    let port: UInt16
    private let count = Atomic(0)
    private let isStopping = Atomic(false)
    var connects: Int { count.load(ordering: .acquiring) }

    init() throws {
      let listener = try Socket.listening(on: .loopback(port: 0))
      port = listener.localAddress!.port
      let descriptor = dup(listener.fd)
      let thread = try LoopThread(name: "closing") { [self] in
        while !isStopping.load(ordering: .acquiring) {
          var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          guard poll(&entry, 1, 20) > 0 else { continue }
          let connection = accept(descriptor, nil, nil)
          guard connection >= 0 else { continue }
          count.add(1, ordering: .acquiringAndReleasing)
          close(connection)
        }
        close(descriptor)
      }
      thread.detach()
    }

    func stop() { isStopping.store(true, ordering: .releasing) }
  }

  /// 30 times in 3 s would be enough to find a cluster that is back; librdkafka 2.16.0 connected some hundred times, had it
  /// gone back to the bootstrap addresses (docs/kafka.md).
  @Test func `an outage is no storm of connects, whatever version of librdkafka`() throws {
    KafkaLog.silence()
    let address = try Closing()
    defer { address.stop() }
    let configuration = KafkaConfiguration(
      bootstrap: "127.0.0.1:\(address.port)", clientID: "storm")
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    #expect(eventually { address.connects > 0 })
    let (before, begin) = (address.connects, MonotonicClock.milliseconds())
    usleep(3_000_000)
    let connects = address.connects - before
    let passed = Int(MonotonicClock.milliseconds() - begin)
    #expect(connects * 20 < passed, "\(connects) connects in \(passed) ms")
  }
}
