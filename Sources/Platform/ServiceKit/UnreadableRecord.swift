// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka

/// A record that ends here, as it came, and why: the content of its dead letter. A copy, so that Kafka's memory is free
/// while it waits.
public struct UnreadableRecord {
  public let reason: DeadLetterReason
  public let detail: String
  /// nil: the record has none.
  public let key: [UInt8]?
  /// nil: a tombstone.
  public let value: [UInt8]?
  private let cut: DeadLetterCut

  public init(reason: DeadLetterReason, detail: String, key: [UInt8]?, value: [UInt8]?) {
    self.reason = reason
    self.detail = detail
    cut = DeadLetterCut(key: key?.count ?? 0, value: value?.count ?? 0)
    self.key = key.map { [cut] in Array($0.prefix(cut.key)) }
    self.value = value.map { [cut] in Array($0.prefix(cut.value)) }
  }

  /// The headers of its dead letter.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func headers(
    by stage: DeadLetterStage, from partition: TopicPartition, _ offset: Int64, at now: Int64
  ) -> [KafkaHeader] {
    let origin = DeadLetterOrigin(
      topic: partition.topic, partition: partition.partition, offset: offset)
    var letter = DeadLetter(reason, detail, by: stage, from: origin, at: now)
    letter.note(cut)
    return letter.kafkaHeaders
  }
}
