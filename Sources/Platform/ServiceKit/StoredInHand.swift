// SPDX-License-Identifier: Apache-2.0
import Kafka

/// What a database keeps of a topic's records, in hand while it is worked on: it crashes the process no more than twice
/// either, wherever it comes from. Its numbers are bounded where they are read, as those of the topic are.
public struct StoredInHand {
  private let topic: String
  private let context: ServiceContext
  private let hand: RecordInHand

  public init(_ topic: String, _ context: ServiceContext) {
    (self.topic, self.context) = (topic, context)
    hand = RecordInHand(topic: topic)
  }

  /// Works on one.
  ///
  /// - Parameters:
  ///   - identity: tells its value from others (`ScheduleRow.identity`).
  ///   - key: the record's.
  /// - Returns: what `body` returns; nil also if it has crashed this process twice, and is not worked on.
  public func work<Result>(on identity: Int64, key: String, _ body: () -> Result?) -> Result? {
    if context.isDeadly(stored: identity, of: topic, key: key) { return nil }
    take(identity)
    defer { drop() }
    return body()
  }

  /// The calling thread works on one that was worked on before, until `drop`.
  public func take(_ identity: Int64) { hand.take(stored: identity) }

  /// The calling thread works on none.
  public func drop() { RecordInHand.drop() }
}
