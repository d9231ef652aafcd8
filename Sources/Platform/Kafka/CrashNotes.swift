// SPDX-License-Identifier: Apache-2.0
public import Bytes
internal import CLinux
internal import CRdKafka
internal import Glibc
internal import Synchronization

/// Which records were in hand when a process of this kind crashed, so that none is met twice by a crash for ever: the
/// process that starts again would begin with the same record.
///
/// The notes are lines of a small file that a signal handler appends to; see `martlet_note_crashes`. A record is named by
/// its topic, partition, offset and timestamp: that of a topic of the same name that was made later is another one.
public struct CrashNotes: Sendable {
  /// After so many crashes with a record in hand it is not worked on again.
  public static let deadly = 2
  /// Bytes of the file that are read: its end.
  private static let most = 64 << 10

  private struct RecordKey: Hashable {
    let topic: String
    let partition: Int32
    let offset: Int64
    let timestamp: Int64
  }

  private var crashes: [RecordKey: Int] = [:]

  /// None.
  public init() {}

  /// Reads notes; what is none in them is left out, and so is a last line that is not complete.
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

  /// Reads the notes of a file, which is made if it does not exist, and has further crashes of this process noted there.
  /// To be called once, before any thread works on records.
  public init(path: String) throws(SystemError) {
    let file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw SystemError.last("cannot open \(path)") }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw SystemError.last("cannot open \(path)") }
    // Another one's notes could name any record.
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

  /// True if there are none, as nearly always.
  public var isEmpty: Bool { crashes.isEmpty }

  /// Records that are noted.
  public var count: Int { crashes.count }

  /// True if a record was in hand in so many crashes that it is not to be worked on.
  public func areDeadly(_ record: KafkaRecord) -> Bool {
    if crashes.isEmpty { return false }
    return areDeadly(
      topic: record.topic, partition: record.partition, offset: record.offset,
      timestamp: record.writtenAt)
  }

  /// The same of what a database keeps of a topic's record (`RecordInHand.take(stored:)`).
  public func areDeadly(stored identity: Int64, of topic: String) -> Bool {
    if crashes.isEmpty { return false }
    return areDeadly(
      topic: topic, partition: RecordInHand.stored, offset: identity, timestamp: 0)
  }

  private static let judge = Mutex<(@Sendable (KafkaRecord) -> Bool)?>(nil)

  /// Has every reader of this process without a group that is made from now on, such as `KafkaTable` and `KafkaTail`, leave
  /// out the records of which this says true, unless its configuration says otherwise. The notes are the process's, and so
  /// is this: no service or command can forget it.
  public static func leaveOut(_ isDeadly: @escaping @Sendable (KafkaRecord) -> Bool) {
    judge.withLock { $0 = isDeadly }
  }

  static var leftOut: (@Sendable (KafkaRecord) -> Bool)? { judge.withLock { $0 } }

  func areDeadly(topic: String, partition: Int32, offset: Int64, timestamp: Int64) -> Bool {
    let place = RecordKey(topic: topic, partition: partition, offset: offset, timestamp: timestamp)
    return crashes[place] ?? 0 >= Self.deadly
  }
}

/// A record that was copied out of Kafka's memory, or comes from a database, and is worked on later: in hand as one of a
/// batch is.
public struct RecordInHand {
  private let topic: UnsafePointer<CChar>
  /// In place of a partition for what comes from a database.
  static let stored: Int32 = -1

  /// - Parameter topic: its name is kept for as long as the process lives: one for each topic, not for each record.
  public init(topic: String) {
    self.topic = UnsafePointer(strdup(topic)!)
  }

  /// The calling thread works on a record of the topic.
  ///
  /// - Parameter timestamp: the record's `writtenAt`.
  public func take(partition: Int32, offset: Int64, timestamp: Int64) {
    martlet_take_record_in_hand(topic, partition, offset, timestamp)
  }

  /// The calling thread works on what a database has of a record of the topic. It knows no timestamp of it, and one that is
  /// written again to the topic is still the same: it is named by its value.
  ///
  /// - Parameter identity: tells its value from others.
  public func take(stored identity: Int64) {
    martlet_take_record_in_hand(topic, Self.stored, identity, 0)
  }

  /// The calling thread works on none of such records.
  public static func drop() { martlet_take_record_in_hand(nil, 0, 0, 0) }
}
