// SPDX-License-Identifier: Apache-2.0
import Compatibility
import Contract
import Gateways
import JSON
import Kafka
import Records
import ServiceKit

/// A record that follows from a batch and that Kafka has to have before its offsets are committed.
struct OutgoingRecord {
  enum Kind {
    case invalidToken
    case deadLetter
    /// In another server's format, for its listeners.
    case foreign
  }

  let topic: KafkaTopic
  let key: [UInt8]?
  /// nil: a tombstone.
  let value: [UInt8]?
  var headers: [KafkaHeader] = []
  let kind: Kind
}

/// The topics that feedback writes.
struct FeedbackOutput {
  let producer: TaggedProducer<OutgoingRecord.Kind>
  private let invalidTokens: KafkaTopic
  private let deadLetters: KafkaTopic
  /// Topics in pusher's format.
  private let pusherTopics: [(topic: PusherTopic, handle: KafkaTopic)]

  init(
    _ producer: TaggedProducer<OutgoingRecord.Kind>, _ names: TopicNames, pusher: [PusherTopic]
  ) throws(KafkaError) {
    self.producer = producer
    invalidTokens = try producer.topic(names.invalidTokens)
    deadLetters = try producer.topic(names.deadLetters)
    pusherTopics = try pusher.map { topic throws(KafkaError) in
      (topic, try producer.topic(topic.name))
    }
  }

  /// What follows from a batch.
  ///
  /// - Parameter now: milliseconds since the epoch.
  func records(
    _ outcome: TokenInvalidator.Outcome, _ jobs: [Job], now: Int64
  ) -> [OutgoingRecord] {
    var records = outcome.publications.map { publication in
      OutgoingRecord(
        topic: invalidTokens, key: publication.device.bytes, value: publication.record?.value,
        kind: .invalidToken)
    }
    for job in jobs {
      guard case .deadLetter(let refused) = job.content else { continue }
      records.append(
        OutgoingRecord(
          topic: deadLetters, key: refused.key, value: refused.value,
          headers: refused.headers(by: .feedback, from: job.partition, job.offset, at: now),
          kind: .deadLetter))
    }
    for (topic, handle) in pusherTopics { tell(topic, handle, jobs, &records) }
    return records
  }

  /// What APNs said about the tokens of an app, for listeners of pusher.
  private func tell(
    _ topic: PusherTopic, _ handle: KafkaTopic, _ jobs: [Job], _ records: inout [OutgoingRecord]
  ) {
    for job in jobs {
      guard case .feedback(let feedback) = job.content, feedback.device.app == topic.app else {
        continue
      }
      records.append(
        OutgoingRecord(
          topic: handle, key: nil, value: PusherFeedback.value(feedback, game: topic.game).text,
          kind: .foreign))
    }
  }
}
