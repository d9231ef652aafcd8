// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import Diagnosis
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit

/// Produces registrations, removals and answers about tokens. Memory is bounded by the producer's queue.
final class TokenProducer {
  /// With the line of each record, and whether it says that a token is invalid.
  private let producer: TaggedProducer<(line: Int, isInvalid: Bool)>
  private let devices: KafkaTopic
  private let feedback: KafkaTopic
  /// Says why Kafka takes nothing, if that happens.
  let watch: WriteWatch

  /// The records that Kafka has taken since the last time that somebody asked.
  struct Progress {
    var devices = 0
    var invalid = 0
    /// The line of each record that Kafka will never take, and why.
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

  /// - Returns: false if there is no room now.
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

  func flush() { producer.flush(timeoutMilliseconds: 200) }

  func close() { producer.close() }
}
