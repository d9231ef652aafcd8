// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka

extension DeadLetter {
  public var kafkaHeaders: [KafkaHeader] {
    headers.map { KafkaHeader($0.name, $0.value) }
  }

  public init(_ record: KafkaRecord) {
    self.init { name in record.header(named: name).map { String(decoding: $0, as: UTF8.self) } }
  }

  public init(_ headers: [KafkaHeader]) {
    self.init { name in
      headers.last { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
  }
}
