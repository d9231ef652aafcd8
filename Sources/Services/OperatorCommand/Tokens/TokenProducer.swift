// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
import Records
import ServiceKit

/// Produces registrations, removals and answers about tokens. Memory is bounded by the producer's queue.
final class TokenProducer {
  private let producer: KafkaProducer
  private let devices: KafkaTopic
  private let feedback: KafkaTopic
  private var deliveries: [Delivery] = []
  private static let deadMark: UInt = 1 << 63

  /// The records that Kafka has taken since the last time that somebody asked.
  struct Progress {
    var devices = 0
    var dead = 0
    /// The line of each record that Kafka will never take, and why.
    var refused: [(line: Int, error: KafkaError)] = []
  }

  init(_ cluster: KafkaCluster, _ names: TopicNames) throws(ServiceFailure) {
    do {
      producer = try KafkaProducer(cluster.configuration)
      devices = try producer.topic(known: names.devices)
      feedback = try producer.topic(known: names.feedback)
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  var outstanding: Int { producer.outstanding }

  /// - Returns: false if there is no room now.
  func produce(_ record: DeviceRecord, line: Int) throws(KafkaError) -> Bool {
    try produce(devices, record.key, record.value, tag: UInt(line))
  }

  func produce(_ record: FeedbackRecord, line: Int) throws(KafkaError) -> Bool {
    try produce(feedback, record.key, record.value, tag: UInt(line) | Self.deadMark)
  }

  private func produce(
    _ topic: KafkaTopic, _ key: [UInt8], _ value: [UInt8], tag: UInt
  ) throws(KafkaError) -> Bool {
    let result = key.withUnsafeBytes { key in
      value.withUnsafeBytes { producer.produce(topic, key: key, value: $0, tag: tag) }
    }
    switch result {
    case .queued: return true
    case .full: return false
    case .refused(let error): throw error
    }
  }

  func takeProgress() -> Progress {
    producer.drainDeliveries(into: &deliveries)
    var progress = Progress()
    for delivery in deliveries {
      if let error = delivery.refused {
        progress.refused.append((Int(delivery.tag & ~Self.deadMark), error))
      } else if delivery.tag & Self.deadMark == 0 {
        progress.devices += 1
      } else {
        progress.dead += 1
      }
    }
    deliveries.removeAll(keepingCapacity: true)
    return progress
  }

  func flush() { _ = producer.flush(timeoutMilliseconds: 200) }

  func close() { producer.close() }
}
