// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import CRdKafka
internal import Contract
internal import Glibc

public struct KafkaHeader: Sendable, Hashable {
  public let name: String
  public let value: [UInt8]

  public init(_ name: String, _ value: [UInt8]) {
    self.name = name
    self.value = value
  }

  public init(_ name: String, _ value: String) { self.init(name, Array(value.utf8)) }
}

extension [KafkaHeader] {
  /// A copy of librdkafka's list.
  init(_ list: OpaquePointer) {
    self = []
    var name: UnsafePointer<CChar>?
    var bytes: UnsafeRawPointer?
    var length = 0
    while rd_kafka_header_get_all(list, count, &name, &bytes, &length)
      == RD_KAFKA_RESP_ERR_NO_ERROR, let name
    {
      let value = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : length)
      append(KafkaHeader(String(cString: name), [UInt8](value)))
    }
  }
}

/// A consumed record: a view of memory that librdkafka owns. Plain old data.
///
/// Valid until its batch is released or, if it was kept with `keep`, until `destroy()`. Each record pins the whole
/// fetch buffer it arrived in (1 MiB), so do not keep one for minutes; and destroy every record before its consumer is
/// closed.
public struct KafkaRecord {
  /// `baseAddress` is nil when the record has no key.
  public let key: UnsafeRawBufferPointer
  /// `baseAddress` is nil for a tombstone.
  public let value: UnsafeRawBufferPointer
  public let offset: Int64
  /// Milliseconds since the UNIX epoch; −1 if the record has none or, as its producer sets it, one outside of
  /// `OutsideTime`.
  public let timestamp: Int64
  public let partition: Int32
  /// 0 for a record. Otherwise this is a message about the partition: see `error`.
  public let errorCode: Int32
  /// Identifies the topic within one client: compare the pointers.
  public let topicIdentity: OpaquePointer
  let message: UnsafeMutablePointer<rd_kafka_message_t>

  init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) {
    let content = message.pointee
    key = UnsafeRawBufferPointer(
      start: content.key, count: content.key == nil ? 0 : content.key_len)
    value = UnsafeRawBufferPointer(
      start: content.payload, count: content.payload == nil ? 0 : content.len)
    offset = content.offset
    let time = rd_kafka_message_timestamp(message, nil)
    timestamp = time >= 0 && time <= OutsideTime.last ? time : -1
    partition = content.partition
    errorCode = content.err.rawValue
    topicIdentity = content.rkt
    self.message = message
  }

  /// The timestamp as it was written, even if it is out of range.
  public var writtenAt: Int64 { rd_kafka_message_timestamp(message, nil) }

  public func destroy() { rd_kafka_message_destroy(message) }

  /// The topic's name. Allocates a string: not for hot paths.
  public var topic: String { String(cString: rd_kafka_topic_name(topicIdentity)) }

  public func isOf(_ topic: String) -> Bool {
    topic.withCString { strcmp($0, rd_kafka_topic_name(topicIdentity)) == 0 }
  }

  /// The partition's error, for a message that is not a record.
  public var error: KafkaError? {
    guard errorCode != 0 else { return nil }
    return KafkaError(rd_kafka_resp_err_t(errorCode), "\(topic)/\(partition)")
  }

  /// True if this message only reports that the reader has reached the end of the partition.
  public var isEndOfPartition: Bool {
    errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF.rawValue
  }

  /// The last header of this name; nil if there is none. Copies: not for hot paths.
  public func header(named name: String) -> [UInt8]? { lastHeader(name).map { Array($0) } }

  /// The bytes of the last header of this name, valid as long as the record; nil without one. Does not copy: a record
  /// without headers costs one call.
  public func headerBytes(named name: StaticString) -> UnsafeRawBufferPointer? {
    // A static string ends with NUL.
    lastHeader(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
  }

  private func lastHeader(_ name: UnsafePointer<CChar>) -> UnsafeRawBufferPointer? {
    guard let headers = rawHeaders else { return nil }
    var bytes: UnsafeRawPointer?
    var count = 0
    let code = rd_kafka_header_get_last(headers, name, &bytes, &count)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    return UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
  }

  /// All headers in order. Copies: not for hot paths.
  public var headers: [KafkaHeader] {
    rawHeaders.map { [KafkaHeader]($0) } ?? []
  }

  private var rawHeaders: OpaquePointer? { UnsafePointer(message).headers }
}

/// Records taken from a queue together. Reusable: taking and releasing do not allocate.
public struct KafkaBatch: ~Copyable {
  let records: UnsafeMutablePointer<KafkaRecord>
  let kept: UnsafeMutablePointer<Bool>
  let messages: UnsafeMutablePointer<UnsafeMutablePointer<rd_kafka_message_t>?>
  public let capacity: Int
  public internal(set) var count = 0

  public init(capacity: Int) {
    precondition(capacity > 0, "a batch holds at least one record")
    self.capacity = capacity
    records = .allocate(capacity: capacity)
    kept = .allocate(capacity: capacity)
    messages = .allocate(capacity: capacity)
  }

  deinit {
    martlet_take_in_hand(nil)
    for index in 0..<count where !kept[index] { records[index].destroy() }
    records.deallocate()
    kept.deallocate()
    messages.deallocate()
  }

  /// The record at `index`, which the thread now has in hand: if the process crashes, `CrashNotes` names it.
  @inline(__always)
  public subscript(index: Int) -> KafkaRecord {
    precondition(index >= 0 && index < count, "no such record in the batch")
    martlet_take_in_hand(records[index].message)
    return records[index]
  }

  /// Has the processor fetch the beginning of a value that is worked on next, if there is one at `index`. The record in
  /// hand stays the one that it is.
  @inline(__always)
  public func prefetch(_ index: Int) {
    guard index < count, let start = records[index].value.baseAddress else { return }
    martlet_prefetch(start)
    if records[index].value.count > 64 { martlet_prefetch(start + 64) }
  }

  /// Keeps the record at `index` alive beyond `release()`; the caller destroys it.
  public mutating func keep(_ index: Int) {
    precondition(index >= 0 && index < count, "no such record in the batch")
    kept[index] = true
  }

  /// Frees every record that was not kept, and empties the batch.
  public mutating func release() {
    martlet_take_in_hand(nil)
    for index in 0..<count where !kept[index] { records[index].destroy() }
    count = 0
  }

  /// Drops the records from `first` on for which `isUnwanted` returns true.
  mutating func removeAll(from first: Int, where isUnwanted: (KafkaRecord) -> Bool) {
    var end = first
    for index in first..<count {
      if isUnwanted(records[index]) {
        records[index].destroy()
        continue
      }
      records[end] = records[index]
      kept[end] = kept[index]
      end += 1
    }
    count = end
  }

  /// The size of the keys and values of the last `count` records, in bytes.
  func bytes(ofLast count: Int) -> Int {
    var bytes = 0
    for index in (self.count - count)..<self.count {
      bytes += records[index].key.count + records[index].value.count
    }
    return bytes
  }

  /// Appends at most `limit` records of `queue`; waits up to `timeout` for the first.
  mutating func fill(from queue: OpaquePointer, limit: Int, timeout: Int32) -> Int {
    let room = min(limit, capacity - count)
    guard room > 0 else { return 0 }
    let taken = rd_kafka_consume_batch_queue(queue, timeout, messages, room)
    guard taken > 0 else { return 0 }
    for index in 0..<taken {
      (records + count + index).initialize(to: KafkaRecord(messages[index]!))
      kept[count + index] = false
    }
    count += taken
    return taken
  }
}
