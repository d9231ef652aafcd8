// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
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

/// The topics that feedback writes, and the producer for them. Owned by the worker's thread.
final class FeedbackOutput {
  /// The tag of all records of `invalid-tokens`. Each dead letter has one of its own, by which it is found when it is
  /// refused.
  private static let invalidToken: UInt = 0

  private let producer: KafkaProducer
  private var watch: ProducerWatch
  private let invalidTokens: KafkaTopic
  private let deadLetters: KafkaTopic
  private var buffer = ByteBuffer(capacity: 512)
  private var lastLetter = FeedbackOutput.invalidToken
  /// Dead letters that were too large for their topic, cut, until the producer takes them.
  private var cutLetters: [OutgoingLetter] = []

  init(_ producer: KafkaProducer, _ watch: ProducerWatch, _ names: TopicNames) throws(KafkaError) {
    self.producer = producer
    self.watch = watch
    invalidTokens = try producer.topic(known: names.invalidTokens)
    deadLetters = try producer.topic(known: names.deadLetters)
  }

  /// What follows from a batch.
  ///
  /// - Parameter now: milliseconds since the epoch.
  func records(_ outcome: TokenInvalidator.Outcome, _ jobs: [Job], now: Int64) -> OutgoingRecords {
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
  var outstanding: Int { producer.outstanding + cutLetters.count }

  /// Hands records over.
  ///
  /// - Parameter first: the index of the first of them.
  /// - Returns: the index of the first for which there is no room now.
  func produce(_ records: OutgoingRecords, from first: Int) throws(KafkaError) -> Int {
    for index in first..<records.count {
      let isLetter = index >= records.publications.count
      let result =
        if isLetter {
          produce(records.deadLetters[index - records.publications.count])
        } else {
          produce(records.publications[index])
        }
      switch result {
      case .queued: continue
      case .full: return index
      case .refused(let error):
        guard isLetter, cut(records.deadLetters[index - records.publications.count], error) else {
          throw error
        }
      }
    }
    return records.count
  }

  private func produce(_ publication: TokenInvalidator.Publication) -> ProduceResult {
    if let release = publication.release {
      return producer.produce(
        invalidTokens, key: publication.device.bytes, value: publication.record?.value,
        headers: [KafkaHeader("\(DeviceRelease.header)", release.text)], tag: Self.invalidToken)
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
        tag: Self.invalidToken)
    }
  }

  private func produce(_ letter: OutgoingLetter) -> ProduceResult {
    lastLetter += 1
    return producer.produce(
      deadLetters, key: letter.key, value: letter.value, headers: letter.headers, tag: lastLetter)
  }

  /// Has a refused dead letter written again with less of its record; false where that does not help.
  private func cut(_ letter: OutgoingLetter, _ error: KafkaError) -> Bool {
    guard error.isOfSize, let shorter = letter.cut() else { return false }
    cutLetters.append(shorter)
    return true
  }

  /// Kafka's answers since the last call: how many invalid tokens it has, and why it will never take a record.
  func drainAnswers() -> (published: Int, problem: String?) {
    var published = 0
    for delivery in producer.drainDeliveries() {
      guard let error = delivery.refused else {
        if delivery.tag == Self.invalidToken { published += 1 }
        continue
      }
      guard let record = producer.refusedRecord(delivery.tag) else {
        return (published, "\(error)")
      }
      let letter = OutgoingLetter(key: record.key, value: record.value, headers: record.headers)
      guard delivery.tag != Self.invalidToken, cut(letter, error) else {
        return (published, producer.describe(record, error))
      }
    }
    return (published, writeCutLetters())
  }

  /// - Returns: why one of them will never be taken.
  private func writeCutLetters() -> String? {
    while let letter = cutLetters.popLast() {
      switch produce(letter) {
      case .queued: continue
      case .full:
        cutLetters.append(letter)
        return nil
      case .refused(let error): if !cut(letter, error) { return "\(error)" }
      }
    }
    return nil
  }

  /// Reports what Kafka does not take; every turn, with monotonic milliseconds.
  func lookAfter(now: UInt64) { watch.turn(producer, now: now) }

  /// Gives up every record without an answer (`KafkaProducer.abandon`).
  ///
  /// - Returns: how many they were.
  func abandon() -> Int {
    defer { cutLetters = [] }
    return producer.abandon() + cutLetters.count
  }

  /// Ends the client. Records without an answer may or may not be stored.
  func close() { producer.close() }
}
