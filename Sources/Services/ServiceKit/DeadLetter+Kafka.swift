// SPDX-License-Identifier: Apache-2.0
package import Kafka
package import Pipeline

extension DeadLetter {
  package var kafkaHeaders: [KafkaHeader] {
    headers.map { KafkaHeader($0.name, $0.value) }
  }

  package init(_ record: KafkaRecord) {
    self.init { name in record.header(named: name).map { String(decoding: $0, as: UTF8.self) } }
  }

  package init(_ headers: [KafkaHeader]) {
    self.init { name in
      headers.last { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }
  }
}
