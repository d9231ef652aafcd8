// SPDX-License-Identifier: Apache-2.0
import Kafka
import Synchronization
import Telemetry

/// The errors of the partitions that a process reads. Kafka's client reports one with each fetch that fails, many times
/// per second and partition: of each kind the first is logged, and later one now and then. Any thread may use it.
final class ReadErrors: Sendable {
  private let repeated = Mutex(RepeatedMessages())

  /// Decides whether an error is logged.
  ///
  /// - Returns: how many of its kind were left out since the last one, whichever partitions had them; nil if this one is
  ///   left out.
  func admit(_ error: KafkaError, now: UInt64) -> Int? {
    repeated.withLock {
      _ = $0.drainEnded(now: now)
      return $0.admit(error.name, now: now)
    }
  }
}
