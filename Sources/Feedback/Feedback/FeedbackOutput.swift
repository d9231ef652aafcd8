// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
import JSON
import Kafka
import Records
import ServiceKit

/// The records that follow from a batch and that Kafka has to have before its offsets are committed.
struct OutgoingRecords {
  /// Of `invalid-tokens`. They are written when they are handed over.
  var publications: [TokenInvalidator.Publication] = []
  /// What follows them.
  var deadLetters: [OutgoingLetter] = []

  var count: Int { publications.count + deadLetters.count }
}

/// A record of `dead-letters`.
struct OutgoingLetter {
  let key: [UInt8]?
  let value: [UInt8]?
  let headers: [KafkaHeader]
}

/// The topics that feedback writes, and the producer for them. Owned by the worker's thread.
final class FeedbackOutput {
  private enum Tag: UInt {
    case invalidToken, deadLetter
  }

  private let producer: KafkaProducer
  private var watch: ProducerWatch
  private let invalidTokens: KafkaTopic
  private let deadLetters: KafkaTopic
  private var buffer = ByteBuffer(capacity: 512)

  init(
    _ producer: KafkaProducer, _ watch: ProducerWatch, _ names: TopicNames
  ) throws(KafkaError) {
    self.producer = producer
    self.watch = watch
    invalidTokens = try producer.topic(known: names.invalidTokens)
    deadLetters = try producer.topic(known: names.deadLetters)
  }

  /// What follows from a batch.
  ///
  /// - Parameter now: milliseconds since the epoch.
  func records(
    _ outcome: TokenInvalidator.Outcome, _ jobs: [Job], now: Int64
  ) -> OutgoingRecords {
    var records = OutgoingRecords(publications: outcome.publications)
    for job in jobs {
      guard case .deadLetter(let refused) = job.content else { continue }
      records.deadLetters.append(
        OutgoingLetter(
          key: refused.key, value: refused.value,
          headers: refused.headers(by: .feedback, from: job.partition, job.offset, at: now)))
    }
    return records
  }

  // MARK: The producer

  /// The number of records that Kafka has not acknowledged.
  var outstanding: Int { producer.outstanding }

  /// Hands records over.
  ///
  /// - Parameter first: the index of the first of them.
  /// - Returns: the index of the first for which there is no room now.
  func produce(_ records: OutgoingRecords, from first: Int) throws(KafkaError) -> Int {
    for index in first..<records.count {
      let result =
        if index < records.publications.count {
          produce(records.publications[index])
        } else {
          produce(records.deadLetters[index - records.publications.count])
        }
      switch result {
      case .queued: continue
      case .full: return index
      case .refused(let error): throw error
      }
    }
    return records.count
  }

  private func produce(_ publication: TokenInvalidator.Publication) -> ProduceResult {
    if let release = publication.release {
      return producer.produce(
        invalidTokens, key: publication.device.bytes, value: publication.record?.value,
        headers: [KafkaHeader("\(DeviceRelease.header)", release.text)],
        tag: Tag.invalidToken.rawValue)
    }
    buffer.removeAll()
    publication.record?.write(into: &buffer)
    // A tombstone is a value that is not there.
    let value =
      publication.record == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : buffer.bytes
    var key = publication.device.description
    return key.withUTF8 { key in
      producer.produce(
        invalidTokens, key: UnsafeRawBufferPointer(key), value: value,
        tag: Tag.invalidToken.rawValue)
    }
  }

  private func produce(_ letter: OutgoingLetter) -> ProduceResult {
    producer.produce(
      deadLetters, key: letter.key, value: letter.value, headers: letter.headers,
      tag: Tag.deadLetter.rawValue)
  }

  /// Kafka's answers since the last call: how many invalid tokens it has, and why it will never take a record.
  func drainAnswers() -> (published: Int, problem: String?) {
    var published = 0
    for delivery in producer.drainDeliveries() {
      if let error = delivery.refused {
        let record = producer.refusedRecord(delivery.tag)
        return (published, record.map { producer.describe($0, error) } ?? "\(error)")
      }
      if delivery.tag == Tag.invalidToken.rawValue { published += 1 }
    }
    return (published, nil)
  }

  /// Reports what Kafka does not take; every turn, with monotonic milliseconds.
  func lookAfter(now: UInt64) { watch.turn(producer, now: now) }

  /// Gives up every record without an answer (`KafkaProducer.abandon`).
  ///
  /// - Returns: how many they were.
  func abandon() -> Int { producer.abandon() }

  /// Ends the client. Records without an answer may or may not be stored.
  func close() { producer.close() }
}
