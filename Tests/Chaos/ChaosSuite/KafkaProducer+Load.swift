// SPDX-License-Identifier: Apache-2.0
import Kafka

extension KafkaProducer {
  /// Produces a record of a load, waiting while the queue is full. The audit checks the result.
  func write(_ topic: KafkaTopic, _ key: [UInt8], _ value: [UInt8]) throws {
    while true {
      let result = key.withUnsafeBytes { key in
        value.withUnsafeBytes { produce(topic, key: key, value: $0, tag: 0) }
      }
      switch result {
      case .queued:
        _ = drainDeliveries()
        return
      case .full: _ = flush(timeoutMilliseconds: 1_000)
      case .refused(let error): throw error
      }
    }
  }
}
