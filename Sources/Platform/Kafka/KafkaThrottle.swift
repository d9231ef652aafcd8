// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import Synchronization

/// The time by which brokers have delayed responses to this process's producers and group members because of a quota
/// (the throttle time of their responses).
public enum KafkaThrottle {
  private static let total = Atomic<Int>(0)
  private static let lastBroker = Atomic<Int32>(-1)

  /// Milliseconds since the process started.
  public static var milliseconds: Int { total.load(ordering: .relaxed) }

  /// The id of the broker that last delayed a response; nil if none has.
  public static var broker: Int32? {
    let number = lastBroker.load(ordering: .relaxed)
    return number < 0 ? nil : number
  }

  /// librdkafka calls it on the thread that consumes a client's events: for each delayed response, and once when
  /// responses are no longer delayed.
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
