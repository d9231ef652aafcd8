// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Store

/// Reads a campaign's device tokens from topics: one per line, in records keyed by the campaign's name or key, or
/// without a key. Owned by one thread.
final class TokenTopicReader {
  /// The tokens of one campaign.
  struct Source: Hashable {
    let topic: String
    let campaign: AudienceWorker.Asker
  }

  /// The tokens that a topic has for a campaign.
  struct Count: Equatable, Sendable {
    var tokens = 0
    /// Lines that are not device tokens, the position of the first one, and its fault.
    var others = 0
    var example = ""
    /// The position before the first token.
    var start = ""
  }

  /// A question and its progress: reading a topic may take minutes, and other questions take turns meanwhile.
  struct Reading {
    let source: Source
    /// The number of tokens wanted; nil to count all and keep none.
    let limit: Int?
    fileprivate(set) var cursor: TokenTopicCursor
    fileprivate(set) var count = Count()
    fileprivate(set) var page = AudiencePage()

    /// Whether the wanted tokens have been read.
    fileprivate var isFull: Bool { limit.map { page.count >= $0 } ?? false }
  }

  /// The most topics kept open; a closed one is opened again at its next turn.
  private static let mostOpen = 4
  private static let timeout: Int32 = 10_000

  private let kafka: KafkaConfiguration
  private let isStopping: () -> Bool
  /// Open topics, the most recently used last.
  private var open: [(source: Source, stretch: TokenStretch)] = []
  private var digits: [UInt8] = []

  init(_ kafka: KafkaConfiguration, isStopping: @escaping () -> Bool) {
    (self.kafka, self.isStopping) = (kafka, isStopping)
  }

  deinit { close() }

  /// Closes the open topics; they are opened again when needed.
  func close() {
    for reading in open { reading.stretch.close() }
    open = []
  }

  /// Starts to count the tokens that the topic has now.
  func counting(_ source: Source) throws(KafkaError) -> Reading {
    let start = try start(of: source.topic)
    var reading = Reading(source: source, limit: nil, cursor: start)
    reading.count.start = start.description
    return reading
  }

  /// Starts to read at most `limit` tokens after a position.
  func paging(_ source: Source, after place: String, limit: Int) throws(KafkaError) -> Reading {
    guard let cursor = TokenTopicCursor(place) else {
      throw .invalid("\(place) is no place in a topic of device tokens")
    }
    var reading = Reading(source: source, limit: limit, cursor: cursor)
    reading.page.tokens.reserveCapacity(limit * 67)
    return reading
  }

  /// Continues a reading.
  ///
  /// - Parameter deadline: monotonic milliseconds.
  /// - Returns: whether it is complete.
  func goOn(_ reading: inout Reading, until deadline: UInt64) throws(KafkaError) -> Bool {
    let stretch = try stretch(reading.source, at: reading.cursor)
    let state: TokenStretch.State
    do throws(KafkaError) {
      state = try stretch.forEachLine(until: deadline) { line, place in
        take(line, place, &reading)
        return !reading.isFull
      }
    } catch {
      stretch.close()
      throw error
    }
    reading.cursor = stretch.cursor
    reading.page.last = stretch.cursor.description
    // The next reading starts at its beginning.
    if state == .atEnd { stretch.close() } else { open.append((reading.source, stretch)) }
    if open.count > Self.mostOpen { open.removeFirst().stretch.close() }
    return state != .late
  }

  private func take(_ line: Span<UInt8>, _ place: () -> String, _ reading: inout Reading) {
    guard reading.limit == nil else {
      try? reading.page.append(line)
      return
    }
    digits.removeAll(keepingCapacity: true)
    do throws(DeviceToken.Problem) {
      try DeviceToken.append(line, to: &digits)
      reading.count.tokens += 1
    } catch {
      reading.count.others += 1
      if reading.count.others == 1 { reading.count.example = "\(place()) \(error)" }
    }
  }

  /// The open topic at this position, removed from the list.
  private func stretch(
    _ source: Source, at cursor: TokenTopicCursor
  ) throws(KafkaError) -> TokenStretch {
    if let index = open.firstIndex(where: { $0.source == source }) {
      let found = open.remove(at: index).stretch
      if found.cursor == cursor { return found }
      found.close()
    }
    return try TokenStretch(kafka, source, cursor, isStopping)
  }

  private func start(of topic: String) throws(KafkaError) -> TokenTopicCursor {
    let admin = try KafkaAdmin(kafka)
    defer { admin.close() }
    let listing = try admin.topicListing(naming: [topic], timeoutMilliseconds: Self.timeout)
    guard let count = listing.sizes[topic]?.partitions else {
      if let error = listing.errors[topic], error.isRetriable { throw error }
      throw .invalid("there is no topic \(topic), or this user may not read it")
    }
    let all = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
    let marks = try admin.watermarks(all, timeoutMilliseconds: Self.timeout)
    let ranges = zip(all, marks).map { ($0.partition, $1.low..<max($1.low, $1.high)) }
    return TokenTopicCursor(Dictionary(uniqueKeysWithValues: ranges))
  }
}

/// A topic of device tokens, read from a position on. Owned by one thread.
private final class TokenStretch {
  /// The reason why reading stopped for now.
  enum State {
    /// The caller has enough.
    case enough
    /// Everything has been read.
    case atEnd
    /// The deadline has passed.
    case late
  }

  /// Without a record for this long, reading fails and the question is asked again, in milliseconds.
  private static let patience: UInt64 = 10_000

  private(set) var cursor: TokenTopicCursor
  private let reader: OffsetRangeReader
  /// The record keys to accept: the campaign's name, and its own key.
  private let keys: [[UInt8]]
  private let startedAt: Int64
  private let topic: String
  private let isStopping: () -> Bool
  private var batch = KafkaBatch(capacity: 500)
  /// The current record of the batch, and how many of its bytes are done; nil before its first line.
  private var index = 0
  private var done: Int?
  /// When the last record arrived, in monotonic milliseconds.
  private var heardAt = MonotonicClock.milliseconds()

  init(
    _ kafka: KafkaConfiguration, _ source: TokenTopicReader.Source, _ cursor: TokenTopicCursor,
    _ isStopping: @escaping () -> Bool
  ) throws(KafkaError) {
    (self.cursor, topic, self.isStopping) = (cursor, source.topic, isStopping)
    let campaign = source.campaign.campaign
    keys = [Array(campaign.name.utf8), Array("\(campaign)".utf8)]
    startedAt = source.campaign.startedAt
    reader = try OffsetRangeReader(kafka)
    for (partition, stretch) in cursor.stretches where !stretch.isDone {
      _ = try reader.read(
        TopicPartition(topic: topic, partition: partition), stretch.offset..<stretch.end,
        timeoutMilliseconds: 10_000)
    }
  }

  func close() {
    batch.release()
    reader.close()
  }

  /// Reads non-empty lines until `body` has enough, the topic ends, or the deadline passes.
  ///
  /// - Parameters:
  ///   - deadline: monotonic milliseconds; at least one record is read.
  ///   - body: receives the line, and its position in words.
  func forEachLine(
    until deadline: UInt64, _ body: (_ line: Span<UInt8>, _ place: () -> String) -> Bool
  ) throws(KafkaError) -> State {
    while true {
      if index == batch.count, let state = try fill(until: deadline) { return state }
      let record = batch[index]
      if isReadHere(record), !read(record, body) { return .enough }
      cursor.advance(record.partition, to: record.offset + 1)
      (index, done) = (index + 1, nil)
      if index & 7 == 0, MonotonicClock.milliseconds() >= deadline { return .late }
    }
  }

  /// - Returns: false if `body` has enough and the record has more lines.
  private func read(
    _ record: KafkaRecord, _ body: (_ line: Span<UInt8>, _ place: () -> String) -> Bool
  ) -> Bool {
    let bytes = record.value.bindMemory(to: UInt8.self)
    var lines = cursor.lines(record.partition, record.offset)
    var start = done ?? Self.start(ofLine: lines, bytes)
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: 10) ?? bytes.count
      let line = UnsafeBufferPointer(rebasing: bytes[start..<end]).span
      (start, lines) = (end + 1, lines + 1)
      if DeviceToken.trimmed(line).isEmpty { continue }
      if !body(line, { "\(self.topic)/\(record.partition)/\(record.offset) line \(lines)" }) {
        done = start
        cursor.advance(record.partition, to: record.offset, lines: lines)
        return false
      }
    }
    return true
  }

  private static func start(ofLine count: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var (start, line) = (0, 0)
    while line < count, start < bytes.count {
      start = (bytes[start...].firstIndex(of: 10) ?? bytes.count) + 1
      line += 1
    }
    return start
  }

  private func isReadHere(_ record: KafkaRecord) -> Bool {
    if record.key.isEmpty { return true }
    guard keys.contains(where: { record.key.elementsEqual($0) }) else { return false }
    // Tokens of another start with this name do not count.
    return record.headerBytes(named: CampaignRecord.startHeader).map {
      String(decoding: $0, as: UTF8.self) == "\(startedAt)"
    } ?? true
  }

  /// Waits for records.
  ///
  /// - Returns: nil once there are records.
  private func fill(until deadline: UInt64) throws(KafkaError) -> State? {
    batch.release()
    index = 0
    while true {
      _ = reader.drainFinished()
      if reader.isDone {
        cursor.finish()
        return .atEnd
      }
      reader.poll(into: &batch, timeoutMilliseconds: 100)
      let now = MonotonicClock.milliseconds()
      if batch.count > 0 {
        heardAt = now
        return nil
      }
      guard !isStopping(), now < heardAt + Self.patience else {
        let error = reader.lastError
        throw .invalid(
          error?.refusal(toRead: topic)
            ?? "nothing came from topic \(topic) within \(Self.patience / 1_000)s"
            + (error.map { ": \($0)" } ?? ""))
      }
      if now >= deadline { return .late }
    }
  }
}
