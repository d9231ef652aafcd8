// SPDX-License-Identifier: Apache-2.0
import EventLoop
public import Records
import Synchronization

/// When one thread last began a turn. It alone writes.
public final class Heartbeat: Sendable {
  public let name: String
  private let last: Atomic<UInt64>

  init(_ name: String) {
    self.name = name
    last = Atomic(MonotonicClock.milliseconds())
  }

  public func beat(_ now: UInt64) { last.store(now, ordering: .relaxed) }

  var time: UInt64 { last.load(ordering: .relaxed) }
}

/// For how long Kafka has not acknowledged the oldest record of one producer. Its thread alone writes.
final class UnacknowledgedWait: Sendable {
  private let wait = Atomic<UInt64>(0)

  /// Milliseconds; 0 while nothing waits.
  var milliseconds: UInt64 {
    get { wait.load(ordering: .relaxed) }
    set { wait.store(newValue, ordering: .relaxed) }
  }
}

/// The state of a process's own health: whether its threads turn, why it is not ready, and how things stand inside it.
/// Any thread may use it; none of it is for the way of a notification.
public final class StatusBoard: Sendable {
  /// Milliseconds without a turn after which a thread counts as stuck: longer than one waits for a database.
  public static let patience: UInt64 = 60_000

  /// Milliseconds without an acknowledgement after which the process counts as unable to write. librdkafka repeats by
  /// itself for as long as it may, and reports nothing: too few replicas in sync, a full disk, a leader that is gone.
  /// Kafka's own failover takes 9 s (`broker.session.timeout.ms`); acknowledgements come within a second otherwise.
  public static let writePatience: UInt64 = 10_000

  /// Conditions without which the process is not ready.
  public struct ReadinessCondition: Sendable, Equatable {
    public let condition: String
    public let reason: String
  }

  /// The conditions that stand on `/metrics` whether or not they are met.
  public static let conditions = [
    "start", "partitions", "kafka", "rights", "writes", "provider-tokens", "database", "devices",
    "stop",
  ]

  private struct State {
    var heartbeats: [Heartbeat] = []
    var obstacles: [ReadinessCondition] = [
      ReadinessCondition(condition: "start", reason: "is starting")
    ]
    var sections: [(name: String, value: @Sendable () -> JSONValue)] = []
    var producers: [Producer] = []
  }

  /// A producer that is there as long as its owner is.
  private struct Producer {
    weak var wait: UnacknowledgedWait?
  }

  private let state = Mutex(State())

  /// A thread that turns at least every second begins.
  public func heartbeat(_ name: String) -> Heartbeat {
    let heartbeat = Heartbeat(name)
    state.withLock { $0.heartbeats.append(heartbeat) }
    return heartbeat
  }

  /// The thread has ended, as it should.
  public func end(_ heartbeat: Heartbeat) {
    state.withLock { $0.heartbeats.removeAll { $0 === heartbeat } }
  }

  /// Sets a condition without which the process is not ready.
  ///
  /// - Parameter reason: why it is not met, as in "has no partitions"; nil when it is.
  public func set(_ condition: String, obstacle reason: String?) {
    state.withLock { state in
      let place = state.obstacles.firstIndex { $0.condition == condition }
      switch (place, reason) {
      case (let place?, let reason?):
        state.obstacles[place] = ReadinessCondition(condition: condition, reason: reason)
      case (let place?, nil): state.obstacles.remove(at: place)
      case (nil, let reason?):
        state.obstacles.append(ReadinessCondition(condition: condition, reason: reason))
      case (nil, nil): break
      }
    }
  }

  /// Adds a section to `/debug/state`; its value is asked for on the status server's thread.
  public func show(_ name: String, _ value: @escaping @Sendable () -> JSONValue) {
    state.withLock { $0.sections.append((name, value)) }
  }

  /// Why the process is not ready; empty when it is.
  public var obstacles: [ReadinessCondition] {
    let wait = unacknowledged
    guard wait >= Self.writePatience else { return state.withLock { $0.obstacles } }
    let reason = "Kafka has not acknowledged a record for \(wait / 1_000) s"
    return state.withLock { $0.obstacles } + [
      ReadinessCondition(condition: "writes", reason: reason)
    ]
  }

  /// A producer begins; it counts until its owner is gone.
  func producer() -> UnacknowledgedWait {
    let wait = UnacknowledgedWait()
    state.withLock { state in
      state.producers.removeAll { $0.wait == nil }
      state.producers.append(Producer(wait: wait))
    }
    return wait
  }

  /// For how long Kafka has not acknowledged the oldest record of any producer, in milliseconds; 0 while nothing waits.
  var unacknowledged: UInt64 {
    state.withLock { state in
      state.producers.reduce(0) { max($0, $1.wait?.milliseconds ?? 0) }
    }
  }

  /// Every thread, with the milliseconds since its last turn.
  public func ages(now: UInt64) -> [(thread: String, milliseconds: UInt64)] {
    state.withLock { $0.heartbeats }.map { ($0.name, now - min(now, $0.time)) }
  }

  public func stuck(now: UInt64) -> [(thread: String, milliseconds: UInt64)] {
    ages(now: now).filter { $0.milliseconds > Self.patience }
  }

  public var sections: [(name: String, value: JSONValue)] {
    state.withLock { $0.sections }.map { ($0.name, $0.value()) }
  }
}
