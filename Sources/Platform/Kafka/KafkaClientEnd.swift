// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization

/// Destroys one librdkafka client, on a thread of its own.
///
/// librdkafka waits there for all of its threads. A broker thread may never end, as after a topic was recreated with
/// fewer partitions, and an unreachable coordinator holds a commit for as long as a session lasts. No work of ours
/// depends on a client that is being destroyed, so its owner waits only briefly.
public struct KafkaClientEnd {
  /// The longest time that a client's owner waits for it to end.
  private static let patienceMilliseconds: UInt64 = 2_000
  private static let open = Atomic<Int>(0)

  /// True if a client of this process has not ended yet. The process then exits with `_exit`, because its threads still
  /// use what exit(3) tears down, such as OpenSSL.
  public static var isUnderWay: Bool { open.load(ordering: .acquiring) > 0 }

  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  /// A flag without a descriptor: the process may have none left.
  private let ended = Flag()

  /// Starts the destruction and releases everything that was created with the client.
  init(_ client: OpaquePointer) {
    Self.open.add(1, ordering: .acquiringAndReleasing)
    nonisolated(unsafe) let client = client
    let ended = ended
    let body = { @Sendable in
      rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
      Self.open.subtract(1, ordering: .acquiringAndReleasing)
      ended.isSet.store(true, ordering: .releasing)
    }
    do {
      try LoopThread(name: "kafka-end", body).detach()
    } catch {
      // If no thread can be created, the owner waits for as long as it takes.
      body()
    }
  }

  /// Returns when the client has ended or the time is up.
  func wait() {
    let deadline = MonotonicClock.milliseconds() + Self.patienceMilliseconds
    while !ended.isSet.load(ordering: .acquiring), MonotonicClock.milliseconds() < deadline {
      usleep(500)
    }
  }
}
