// SPDX-License-Identifier: Apache-2.0
import Contract
public import Kafka

/// A record of `push.dead-letters`, before Kafka has it.
public struct OutgoingLetter {
  public let key: [UInt8]?
  public let value: [UInt8]?
  public let headers: [KafkaHeader]

  public init(key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader]) {
    self.key = key
    self.value = value
    self.headers = headers
  }

  /// The letter with less of its record, for a topic that takes none of its size; nil when there is nothing left to cut.
  public func cut() -> OutgoingLetter? {
    guard let cut = DeadLetterCut(ofRefusedKey: key?.count ?? 0, value: value?.count ?? 0) else {
      return nil
    }
    var letter = DeadLetter(headers)
    letter.note(cut)
    return OutgoingLetter(
      key: key.map { Array($0.prefix(cut.key)) }, value: value.map { Array($0.prefix(cut.value)) },
      headers: letter.kafkaHeaders)
  }
}
