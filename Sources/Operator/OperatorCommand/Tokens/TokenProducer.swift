// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit

/// Produces registrations, removals and APNs' responses about tokens. Memory is limited by the producer's queue.
final class TokenProducer {
  /// The producer, with each record's line and whether the record calls a token invalid as tag.
  private let producer: TaggedProducer<(line: Int, isInvalid: Bool)>
  private let devices: KafkaTopic
  private let feedback: KafkaTopic
  /// Reports the cause if Kafka accepts nothing.
  let watch: WriteWatch

  struct Progress {
    var devices = 0
    var invalid = 0
    /// The line and error of each record that Kafka rejected permanently.
    var refused: [(line: Int, error: KafkaError)] = []
  }

  init(
    _ cluster: KafkaCluster, _ names: TopicNames, standstill: Standstill = Standstill()
  ) throws(ServiceFailure) {
    watch = WriteWatch(cluster, [names.devices, names.feedback], standstill: standstill)
    do {
      producer = try TaggedProducer(cluster.configuration)
      devices = try producer.topic(names.devices)
      feedback = try producer.topic(names.feedback)
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  var outstanding: Int { producer.outstanding }
  var standing: ProducerSnapshot { producer.standing }

  /// - Returns: False if the queue is full.
  func produce(_ record: DeviceRecord, line: Int) throws(KafkaError) -> Bool {
    try producer.produce(devices, key: record.key, value: record.value, as: (line, false))
  }

  func produce(_ record: FeedbackRecord, line: Int) throws(KafkaError) -> Bool {
    try producer.produce(feedback, key: record.key, value: record.value, as: (line, true))
  }

  func drainProgress() -> Progress {
    var progress = Progress()
    for answer in producer.drainAnswers() {
      if let error = answer.refused {
        progress.refused.append((answer.tag.line, error))
      } else if answer.tag.isInvalid {
        progress.invalid += 1
      } else {
        progress.devices += 1
      }
    }
    return progress
  }

  func flush(timeoutMilliseconds: UInt64 = 200) {
    producer.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  func close() { producer.close() }
}
