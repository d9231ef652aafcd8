// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit

/// A dead letter, copied out of its batch.
struct DeadLetterEntry {
  let partition: Int32
  let offset: Int64
  /// The time of writing in milliseconds, from the header or from Kafka.
  let at: Int64
  let key: [UInt8]?
  let value: [UInt8]?
  let letter: DeadLetter

  init(_ record: KafkaRecord) {
    self.init(
      partition: record.partition, offset: record.offset, timestamp: record.timestamp,
      key: record.key.baseAddress == nil ? nil : Array(record.key),
      value: record.value.baseAddress == nil ? nil : Array(record.value), headers: record.headers)
  }

  init(
    partition: Int32, offset: Int64, timestamp: Int64, key: [UInt8]?, value: [UInt8]?,
    headers: [KafkaHeader]
  ) {
    self.partition = partition
    self.offset = offset
    self.key = key
    self.value = value
    letter = DeadLetter(headers)
    at = letter.at ?? timestamp
  }

  /// `partition/offset`: the form in which `list` prints it and `show` finds it.
  var place: String { "\(partition)/\(offset)" }
  var reason: String { letter.reason }
  var detail: String { letter.detail }
  var stage: String { letter.stage }
  /// `topic/partition/offset` of the failed record; empty if unknown.
  var origin: String { letter.origin?.description ?? "" }
  var originTopic: String { letter.origin?.topic ?? "" }

  var isNotification: Bool { value.map { Envelope.begins($0) } ?? false }

  /// The envelope and body of a letter from the sender; nil if it has none.
  var envelope: Envelope? {
    guard let value, isNotification else { return nil }
    return try? Envelope.parse(value.span, types: .any, lanes: .any)
  }

  func text(_ range: ByteRange) -> String {
    guard let value, range.indices.upperBound <= value.count else { return "" }
    return String(decoding: value[range.indices], as: UTF8.self)
  }

  /// The app's bundle id, if the record has one.
  func app(_ parser: JSONParser) -> String? {
    if let envelope { return text(envelope.app) }
    if let value, let app = (try? parser.parse(value))?["app"]?.string { return app }
    return nil
  }

  var apnsID: String? { letter.apnsID ?? envelope.map { text($0.idText) } }
  var requestID: String? { letter.requestID }

  var id: String { apnsID ?? requestID ?? "" }

  /// Whether this is its `apns-id`, in either case, or its request's id.
  func has(id wanted: ExactText) -> Bool {
    requestID?.exact == wanted
      || apnsID.map { $0.lowercased().exact == wanted.text.lowercased().exact } ?? false
  }
}
