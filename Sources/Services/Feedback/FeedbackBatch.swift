// SPDX-License-Identifier: Apache-2.0
import Kafka

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
  let headers: [KafkaHeader]
  let kind: Kind

  func produce(with producer: KafkaProducer, tag: UInt) -> ProduceResult {
    withBytes(key) { key in
      withBytes(value) { bytes in
        producer.produce(
          topic, key: key, value: value == nil ? nil : bytes, headers: headers, tag: tag)
      }
    }
  }

  private func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    guard let bytes else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    return bytes.withUnsafeBytes(body)
  }
}

/// The records that are worked on together, and how far that is.
struct FeedbackBatch {
  enum Phase {
    /// Empty: records may be taken.
    case idle
    /// Waits until the database has all that was written to the topics before.
    case verifying
    /// To be judged.
    case judging
    /// Judged; `outgoing` from this index on still has to be handed to Kafka.
    case publishing(next: Int)
  }

  var phase = Phase.idle
  var jobs: [Job] = []
  /// When the oldest of their records was written, in milliseconds since the epoch; `.max` without one.
  private(set) var oldest = Int64.max
  /// Keys and values of their records.
  private(set) var bytes = 0
  var outgoing: [OutgoingRecord] = []
  /// Records handed to Kafka and not answered.
  var awaiting = 0
  /// Counts batches: answers to one that was given up are told by it.
  private var number: UInt = 1

  var isIdle: Bool {
    if case .idle = phase { true } else { false }
  }

  /// Takes a job in.
  ///
  /// - Parameters:
  ///   - timestamp: its record's, in milliseconds since the epoch; below 0 for none.
  ///   - bytes: of its record's key and value.
  mutating func append(_ job: Job, timestamp: Int64, bytes: Int) {
    jobs.append(job)
    self.bytes += bytes
    if timestamp >= 0 { oldest = min(oldest, timestamp) }
  }

  /// Milliseconds since the oldest record was written; 0 without one.
  func age(now: Int64) -> Int { oldest == .max ? 0 : Int(max(0, now - oldest)) }

  /// The tag of an outgoing record.
  func tag(_ index: Int) -> UInt { number << 32 | UInt(index) }

  /// The outgoing record that a tag names, unless it is one of an earlier batch.
  func outgoing(_ tag: UInt) -> OutgoingRecord? {
    tag >> 32 == number ? outgoing[Int(tag & 0xFFFF_FFFF)] : nil
  }

  /// Forgets the batch.
  mutating func removeAll() {
    jobs.removeAll(keepingCapacity: true)
    outgoing.removeAll(keepingCapacity: true)
    awaiting = 0
    bytes = 0
    oldest = .max
    number += 1
    phase = .idle
  }
}
