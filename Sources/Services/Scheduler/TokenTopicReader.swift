// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import EventLoop
import Kafka
import Records
import Schedule
import Store

/// Reads the device tokens of campaigns from topics: one a line, in records that have the campaign's name or key as key, or none.
/// Owned by one thread.
final class TokenTopicReader {
  /// The tokens of one campaign.
  struct Source: Hashable {
    let topic: String
    let campaign: AudienceWorker.Asker
  }

  /// What a topic has for a campaign.
  struct Count: Equatable, Sendable {
    var tokens = 0
    /// Lines that are no device token, the first one's place, and what is wrong with it.
    var others = 0
    var example = ""
    /// The place before the first token.
    var start = ""
  }

  /// Topics that are kept open: one that is not is opened again for each page.
  private static let mostOpen = 4
  private static let timeout: Int32 = 10_000

  private let kafka: KafkaConfiguration
  private let isStopping: () -> Bool
  /// That used last at the end.
  private var open: [(source: Source, stretch: TokenStretch)] = []

  init(_ kafka: KafkaConfiguration, isStopping: @escaping () -> Bool) {
    (self.kafka, self.isStopping) = (kafka, isStopping)
  }

  deinit { close() }

  /// Closes what is open; it is opened again when it is needed.
  func close() {
    for reading in open { reading.stretch.close() }
    open = []
  }

  /// Reads what the topic has now, once.
  func count(_ source: Source) throws(KafkaError) -> Count {
    let start = try start(of: source.topic)
    let stretch = try TokenStretch(kafka, source, start, isStopping)
    defer { stretch.close() }
    var count = Count()
    count.start = start.description
    var digits: [UInt8] = []
    try stretch.forEachLine { line, place in
      digits.removeAll(keepingCapacity: true)
      do throws(DeviceToken.Problem) {
        try DeviceToken.append(line, to: &digits)
        count.tokens += 1
      } catch {
        count.others += 1
        if count.others == 1 { count.example = "\(place()) \(error)" }
      }
      return true
    }
    return count
  }

  /// Tokens behind a place, at most `limit`.
  func page(
    _ source: Source, after place: String, limit: Int
  ) throws(KafkaError) -> AudiencePage {
    let stretch = try stretch(source, at: place)
    var page = AudiencePage()
    page.tokens.reserveCapacity(limit * 67)
    do throws(KafkaError) {
      try stretch.forEachLine { line, _ in
        try? page.append(line)
        return page.count < limit
      }
    } catch {
      stretch.close()
      throw error
    }
    page.last = stretch.cursor.description
    if page.count == limit { open.append((source, stretch)) } else { stretch.close() }
    if open.count > Self.mostOpen { open.removeFirst().stretch.close() }
    return page
  }

  /// That which stands at this place, if it is open; it is no more in the list.
  private func stretch(_ source: Source, at place: String) throws(KafkaError) -> TokenStretch {
    guard let cursor = TokenTopicCursor(place) else {
      throw .invalid("\(place) is no place in a topic of device tokens")
    }
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
    guard let count = try admin.partitionCounts(timeoutMilliseconds: Self.timeout)[topic] else {
      throw .invalid("there is no topic \(topic), or this user may not read it")
    }
    let all = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
    let marks = try admin.watermarks(all, timeoutMilliseconds: Self.timeout)
    let ranges = zip(all, marks).map { ($0.partition, $1.low..<max($1.low, $1.high)) }
    return TokenTopicCursor(Dictionary(uniqueKeysWithValues: ranges))
  }
}

/// A topic of device tokens from a place on. Owned by one thread.
private final class TokenStretch {
  /// Nothing has come for so long: the question is asked again, in milliseconds.
  private static let patience: UInt64 = 10_000

  private(set) var cursor: TokenTopicCursor
  private let reader: OffsetRangeReader
  /// The keys of its records: the campaign's name, and its own key.
  private let keys: [[UInt8]]
  private let startedAt: Int64
  private let topic: String
  private let isStopping: () -> Bool
  private var batch = KafkaBatch(capacity: 500)
  /// The record of the batch that is read, and its bytes that are done; nil before its first line.
  private var index = 0
  private var done: Int?

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

  /// Reads lines that are not empty until `body` says that it has enough, or there are no more.
  ///
  /// - Parameter body: with the line, and its place in words.
  func forEachLine(
    _ body: (_ line: Span<UInt8>, _ place: () -> String) -> Bool
  ) throws(KafkaError) {
    while true {
      if index == batch.count, try !fill() { return cursor.finish() }
      let record = batch[index]
      if isOurs(record), !read(record, body) { return }
      cursor.advance(record.partition, to: record.offset + 1)
      (index, done) = (index + 1, nil)
    }
  }

  /// - Returns: false if `body` has enough, and the record has more.
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

  private func isOurs(_ record: KafkaRecord) -> Bool {
    if record.key.isEmpty { return true }
    guard keys.contains(where: { record.key.elementsEqual($0) }) else { return false }
    // Those of another start with this name are not meant.
    return record.headerBytes(named: CampaignRecord.startHeader).map {
      String(decoding: $0, as: UTF8.self) == "\(startedAt)"
    } ?? true
  }

  /// - Returns: false if everything is read.
  private func fill() throws(KafkaError) -> Bool {
    batch.release()
    index = 0
    let deadline = MonotonicClock.milliseconds() + Self.patience
    while batch.count == 0 {
      _ = reader.drainFinished()
      if reader.isDone { return false }
      guard !isStopping(), MonotonicClock.milliseconds() < deadline else {
        throw .invalid("nothing came from topic \(topic) within \(Self.patience / 1_000)s")
      }
      reader.poll(into: &batch, timeoutMilliseconds: 100)
    }
    return true
  }
}
