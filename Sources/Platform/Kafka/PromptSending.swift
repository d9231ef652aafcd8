// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization

/// Sends the records that linger in a producer, without blocking the producer's owner.
///
/// librdkafka sends without lingering only while a thread waits in `rd_kafka_flush`. A dedicated thread waits there
/// until everything is acknowledged.
struct PromptSending: ~Copyable {
  /// The longest wait, in milliseconds: records produced meanwhile do not linger either.
  private static let atMost: Int32 = 10

  private let thread: LoopThread
  private let state: State

  private final class State: Sendable {
    let wakeup = Wakeup()
    let isEnding = Atomic(false)
  }

  /// Starts the thread; nil if the system cannot create one. `producer` must live until `end` has returned.
  init?(_ producer: OpaquePointer) {
    let state = State()
    nonisolated(unsafe) let producer = producer
    let thread = try? LoopThread(name: "send-now") {
      while !state.isEnding.load(ordering: .acquiring) {
        var wanted = pollfd(fd: state.wakeup.fd, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, -1) == 1 else { continue }
        state.wakeup.clear()
        rd_kafka_flush(producer, Self.atMost)
      }
    }
    guard let thread else { return nil }
    self.thread = thread
    self.state = state
  }

  /// Sends the lingering records now.
  func request() { state.wakeup.signal() }

  /// Ends the thread, which takes 10 ms at most.
  consuming func end() {
    state.isEnding.store(true, ordering: .releasing)
    state.wakeup.signal()
    thread.join()
  }
}
