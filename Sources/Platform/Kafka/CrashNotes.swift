// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import CRdKafka
public import EventLoop
internal import Glibc
internal import Synchronization

/// The records that were being processed when a process of this kind crashed, so that a poison record does not crash it
/// again after every restart.
///
/// The notes are lines of a small file that a signal handler appends to; see `martlet_note_crashes`. A record is
/// identified by topic, partition, offset and timestamp, so a record of a recreated topic of the same name is a
/// different one.
public struct CrashNotes: Sendable {
  /// Number of crashes with a record in hand after which it is no longer processed.
  public static let deadly = 2
  /// Maximum number of bytes to read, from the end of the file.
  private static let most = 64 << 10

  private struct RecordKey: Hashable {
    let topic: String
    let partition: Int32
    let offset: Int64
    let timestamp: Int64
  }

  private var crashes: [RecordKey: Int] = [:]

  public init() {}

  /// Parses notes; skips invalid lines and an incomplete last line.
  public init(_ text: [UInt8]) {
    let text = text.suffix(Self.most)
    guard let end = text.lastIndex(of: UInt8(ascii: "\n")) else { return }
    for line in text[..<end].split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
      guard words.count == 5, Int32(words[0]) != nil, let partition = Int32(words[1]),
        let offset = Int64(words[2]), let timestamp = Int64(words[3])
      else { continue }
      let place = RecordKey(
        topic: words[4], partition: partition, offset: offset, timestamp: timestamp)
      crashes[place, default: 0] += 1
    }
  }

  /// Reads the notes of a file, creating it if it does not exist, and has further crashes of this process noted there.
  /// Call it once, before any thread processes records.
  public init(path: String) throws(SystemError) {
    let file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw SystemError.last("cannot open \(path)") }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw SystemError.last("cannot open \(path)") }
    // Another user's notes could name any record.
    guard status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG,
      status.st_mode & (S_IWGRP | S_IWOTH) == 0
    else {
      close(file)
      throw SystemError(code: EPERM, attempt: "cannot trust \(path), which others may write")
    }
    self.init(Self.end(of: file, size: Int(status.st_size)))
    martlet_note_crashes(file) { message in
      guard let message else { return martlet_record() }
      let content = message.assumingMemoryBound(to: rd_kafka_message_t.self)
      return martlet_record(
        topic: rd_kafka_topic_name(content.pointee.rkt), offset: content.pointee.offset,
        timestamp: rd_kafka_message_timestamp(content, nil), partition: content.pointee.partition)
    }
  }

  private static func end(of file: Int32, size: Int) -> [UInt8] {
    let count = min(size, most)
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
      filled = max(0, pread(file, bytes.baseAddress, count, size - count))
    }
  }

  /// True if there are no notes, as is nearly always the case.
  public var isEmpty: Bool { crashes.isEmpty }

  public var count: Int { crashes.count }

  /// True if the process crashed with this record in hand too often for it to be processed again.
  public func areDeadly(_ record: KafkaRecord) -> Bool {
    if crashes.isEmpty { return false }
    return areDeadly(
      topic: record.topic, partition: record.partition, offset: record.offset,
      timestamp: record.writtenAt)
  }

  /// The same for a record as a database stores it (`RecordInHand.take(stored:)`).
  public func areDeadly(stored identity: Int64, of topic: String) -> Bool {
    if crashes.isEmpty { return false }
    return areDeadly(topic: topic, partition: RecordInHand.stored, offset: identity, timestamp: 0)
  }

  private static let judge = Mutex<(@Sendable (KafkaRecord) -> Bool)?>(nil)

  /// Makes every reader without a group that this process creates from now on, such as `KafkaTable` and `KafkaTail`,
  /// skip the records for which this returns true, unless its configuration says otherwise. It is set once for the
  /// process, like the notes, so no service or command can forget it.
  public static func leaveOut(_ isDeadly: @escaping @Sendable (KafkaRecord) -> Bool) {
    judge.withLock { $0 = isDeadly }
  }

  static var leftOut: (@Sendable (KafkaRecord) -> Bool)? { judge.withLock { $0 } }

  func areDeadly(topic: String, partition: Int32, offset: Int64, timestamp: Int64) -> Bool {
    let place = RecordKey(topic: topic, partition: partition, offset: offset, timestamp: timestamp)
    return crashes[place] ?? 0 >= Self.deadly
  }
}

/// A record that was copied out of Kafka's memory, or read from a database, and is processed later. It counts as in
/// hand, as a record of a batch does.
public struct RecordInHand {
  private let topic: UnsafePointer<CChar>
  /// Stands in for the partition of what comes from a database.
  static let stored: Int32 = -1

  /// - Parameter topic: its name is kept for the life of the process, so create one value per topic, not per record.
  public init(topic: String) {
    self.topic = UnsafePointer(strdup(topic)!)
  }

  /// Marks a record of the topic as being processed by the calling thread.
  ///
  /// - Parameter timestamp: the record's `writtenAt`.
  public func take(partition: Int32, offset: Int64, timestamp: Int64) {
    martlet_take_record_in_hand(topic, partition, offset, timestamp)
  }

  /// Marks what a database stores of a record of the topic as being processed by the calling thread. The database has
  /// no timestamp of it, and a rewritten record is still the same one: it is identified by its value.
  ///
  /// - Parameter identity: distinguishes its value from others.
  public func take(stored identity: Int64) {
    martlet_take_record_in_hand(topic, Self.stored, identity, 0)
  }

  /// The calling thread no longer processes any such record.
  public static func drop() { martlet_take_record_in_hand(nil, 0, 0, 0) }
}
