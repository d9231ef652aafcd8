// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import Synchronization

/// The time by which brokers have delayed answers to this process's producers and group members because a quota is used
/// up (the throttle time of their answers).
public enum KafkaThrottle {
  private static let total = Atomic<Int>(0)
  private static let lastBroker = Atomic<Int32>(-1)

  /// Milliseconds since the process started.
  public static var milliseconds: Int { total.load(ordering: .relaxed) }

  /// The number of the broker that delayed an answer last; nil if none has.
  public static var broker: Int32? {
    let number = lastBroker.load(ordering: .relaxed)
    return number < 0 ? nil : number
  }

  /// librdkafka calls it on the thread that takes a client's events: each time an answer was delayed, and once when they
  /// are not any more.
  static let callback:
    @convention(c) (
      OpaquePointer?, UnsafePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?
    ) -> Void = { _, _, broker, milliseconds, _ in note(broker: broker, milliseconds: milliseconds)
    }

  static func note(broker: Int32, milliseconds: Int32) {
    guard milliseconds > 0 else { return }
    total.add(Int(milliseconds), ordering: .relaxed)
    lastBroker.store(broker, ordering: .relaxed)
  }
}
