// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization

/// The end of one librdkafka client, on a thread of its own.
///
/// librdkafka waits there for all of its threads. One of a broker may never end, as after a topic was made again with
/// fewer partitions, and a coordinator that is away holds a commit for as long as a session lasts. Nothing of ours waits
/// in a client that is ended, so nobody has to wait for more than a moment.
public struct KafkaClientEnd {
  /// The longest wait of a client's owner for its end.
  private static let patienceMilliseconds: UInt64 = 2_000
  private static let open = Atomic<Int>(0)

  /// True if a client of this process has not ended yet. Then the process ends with `_exit`: what exit(3) takes down,
  /// such as OpenSSL, its threads still use.
  public static var isUnderWay: Bool { open.load(ordering: .acquiring) > 0 }

  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  /// No descriptor: the process may have none left.
  private let ended = Flag()

  /// Begins it. Everything that was made with the client is given back.
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
      // Without a thread to spare the owner waits for as long as it takes.
      body()
    }
  }

  /// Returns when the client has ended, or the time is up.
  func wait() {
    let deadline = MonotonicClock.milliseconds() + Self.patienceMilliseconds
    while !ended.isSet.load(ordering: .acquiring), MonotonicClock.milliseconds() < deadline {
      usleep(500)
    }
  }
}
