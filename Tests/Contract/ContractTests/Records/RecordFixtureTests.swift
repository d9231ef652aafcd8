// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Records

/// Records of each version, one file for each: the newest is what this version writes, and all of them are read.
///
/// A file of a release never changes. When a format changes after a release, `touch` the file of the next version, and
/// let `MARTLET_WRITE_DOCS=1` write it (VERSIONING.md says what may change).
@Suite struct RecordFixtureTests {
  private static let folder = Repository.path("Tests/Fixtures/Records")
  private let parser = JSONParser()

  /// Files by their versions, the oldest first.
  private static func files() throws -> [String] {
    let names = File.names(in: folder).filter { $0.hasSuffix(".jsonl") }
    try #require(!names.isEmpty)
    return names.sorted { version($0).lexicographicallyPrecedes(version($1)) }
  }

  private static func version(_ name: String) -> [Int] {
    name.split(separator: ".").compactMap { Int($0) }
  }

  private static func records(_ name: String) throws -> [RecordFixture] {
    try File.text("\(folder)/\(name)").split(separator: "\n")
      .map { try! RecordFixture(line: String($0)) }
  }

  @Test func `the newest file has a record of each kind as this version writes it`() throws {
    let newest = try #require(try Self.files().last)
    if getenv("MARTLET_WRITE_DOCS") != nil {
      let text = WrittenRecords.all.map { "\($0.line)\n" }.joined()
      try File.write("\(Self.folder)/\(newest)", Array(text.utf8))
    }
    let kept = try Self.records(newest)
    for record in WrittenRecords.all {
      #expect(kept.contains(record), "\(newest) has another \(record.topic): \(record.name)")
    }
    #expect(kept.count == WrittenRecords.all.count)
    // Every topic.
    let names = TopicNames()
    let topics = Set(WrittenRecords.all.map { names.prefix + $0.topic })
    let missing = Set(names.all.map(\.name)).subtracting(topics)
    // The other tiers have what the first one has.
    #expect(missing == [names.prefix + "retries.1m", names.prefix + "retries.15m"])
  }

  @Test func `records of every version are read, and mean what they meant`() throws {
    for file in try Self.files() {
      for record in try Self.records(file) {
        try #require(record.key != nil || ["receipts", "campaign-requests"].contains(record.topic))
        let words = "\(file): \(record.topic): \(record.name)"
        do {
          try check(record, words)
        } catch {
          Issue.record("\(words): \(error)")
        }
      }
    }
  }

  private func check(_ record: RecordFixture, _ words: String) throws {
    guard let value = record.value.map({ Array($0.utf8) }) else {
      // A tombstone: its key alone says what ends.
      if record.topic == "controls" { #expect(ControlRecord.isPaused(nil) == false) }
      return
    }
    try value.withUnsafeBytes { bytes in
      switch record.topic {
      case "requests", "campaign-requests":
        let made = try #require(WrittenRecords.notification(of: record), "\(words)")
        #expect(try fields(made) == fields(try #require(record.makes)), "\(words)")
      case "notifications" where value.first == FreedID.mark:
        #expect(FreedID(bytes) != nil, "\(words)")
      case "notifications", "notifications.bulk", "retries.5s":
        try checkEnvelope(record.value ?? "", words)
      case "receipts": try checkReceipts(bytes, words)
      case "feedback": try same(FeedbackRecord(bytes, parser: parser).value, value, words)
      case "devices": try same(DeviceRecord(bytes, parser: parser).value, value, words)
      case "invalid-tokens": try same(InvalidTokenRecord(bytes, parser: parser).value, value, words)
      case "provider-tokens":
        let read = try ProviderTokenRecord(bytes, key: record.key ?? "", parser: parser)
        try same(read.value, value, words)
      case "token-requests": try same(TokenRequest(bytes, parser: parser).value, value, words)
      case "controls":
        let isPaused = try JSONDocument(record.value ?? "").root["paused"]?.bool
        #expect(isPaused != nil && ControlRecord.isPaused(bytes) == isPaused, "\(words)")
      case "schedule": try checkSchedule(bytes, record, words)
      case "audiences":
        for line in (record.value ?? "").split(separator: "\n") {
          #expect(try DeviceToken.normalized(String(line)) == line, "\(words)")
        }
      case "dead-letters": checkDeadLetter(record, words)
      default: Issue.record("\(words): no reader")
      }
    }
  }

  private func checkSchedule(
    _ bytes: UnsafeRawBufferPointer, _ record: RecordFixture, _ words: String
  ) throws {
    #expect(record.key.flatMap { ScheduleKey($0.exact) } != nil, "\(words)")
    switch try ScheduleRecord(bytes) {
    case .cancellation(let cancellation):
      #expect(String(decoding: cancellation.value, as: UTF8.self) == record.value, "\(words)")
    case .activity(let state):
      let again = state.value(ScheduleRecord.request(in: bytes))
      #expect(String(decoding: again, as: UTF8.self) == record.value, "\(words)")
    case .request(let request):
      var again = ByteBuffer()
      Array(request.traceParent.utf8).withUnsafeBytes {
        request.append(to: &again, traceParent: $0, request: ScheduleRecord.request(in: bytes))
      }
      #expect(String(decoding: again.bytes, as: UTF8.self) == record.value, "\(words)")
    }
  }

  /// What was read, written again, has every member that was there; a later version may add some.
  private func same(_ written: [UInt8], _ original: [UInt8], _ words: String) throws {
    let again = try JSONDocument(String(decoding: written, as: UTF8.self)).root
    let first = try JSONDocument(String(decoding: original, as: UTF8.self)).root
    for member in first.object?.members ?? [] {
      #expect(again[member.key] == member.value, "\(words): \(member.key)")
    }
  }

  /// The meaning of a notification: its fields by their names, and its body.
  private func fields(_ text: String) throws -> [String: String] {
    let record = Array(text.utf8)
    let envelope = try Envelope.parse(record.span)
    func part(_ range: ByteRange) -> String {
      String(decoding: record[range.indices], as: UTF8.self)
    }
    var fields = [
      "lane": part(envelope.laneText), "environment": envelope.environment.description,
      "app": part(envelope.app), "topic": part(envelope.topic),
      "push type": part(envelope.pushTypeText), "priority": "\(envelope.priority)",
      "expiration": envelope.expiration.map { "\($0)" } ?? "", "apns-id": part(envelope.idText),
      "created": "\(envelope.created)", "request id": part(envelope.requestID),
      "attempt": envelope.attempt == 0 ? "" : "\(envelope.attempt)",
      "first seen": envelope.firstSeen.map { "\($0)" } ?? "",
      "last reason": part(envelope.lastReason),
      "body": String(decoding: record[envelope.bodyStart...], as: UTF8.self),
    ]
    record.withUnsafeBytes { bytes in
      envelope.carried(in: bytes).forEachField { key, value in
        fields["key " + String(decoding: key, as: UTF8.self)] = String(
          decoding: value, as: UTF8.self)
      }
    }
    return fields
  }

  /// Each field of the text is one that was read.
  private func checkEnvelope(_ text: String, _ words: String) throws {
    let read = try fields(text)
    let line = text.prefix { $0 != "\n" }
    #expect(read["body"] == String(text.dropFirst(line.count + 1)), "\(words)")
    let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
    let names = [
      "lane", "environment", "app", "topic", "push type", "priority", "expiration", "apns-id",
      "created", "request id", "attempt", "first seen", "last reason",
    ]
    try #require(parts.count >= names.count + 1, "\(words)")
    for (name, part) in zip(names, parts.dropFirst()) {
      #expect(read[name] == String(part), "\(words): \(name)")
    }
    for part in parts.dropFirst(names.count + 1) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      #expect(read["key \(pair[0])"] == String(pair[1]), "\(words): \(part)")
    }
  }

  private func checkReceipts(_ bytes: UnsafeRawBufferPointer, _ words: String) throws {
    var count = 0
    try Receipt.forEachLine(in: bytes) { line in
      count += 1
      let receipt = try Receipt(line, parser: parser)
      let read: [String: JSONValue?] = [
        "outcome": .string(receipt.outcome.description),
        "apns_id": receipt.apnsID.map { .string($0.description) },
        "id": receipt.id.map { .string($0) }, "app": receipt.app.map { .string($0) },
        "environment": receipt.environment.map { .string($0.description) },
        "token": receipt.token.map { .string($0) }, "channel": receipt.channel.map { .string($0) },
        "lane": receipt.lane.map { .string($0) },
        "status": receipt.status.map { .integer(Int64($0)) },
        "reason": receipt.reason.map { .string($0) }, "detail": receipt.detail.map { .string($0) },
        "attempts": receipt.attempts.map { .integer($0) },
        "created": receipt.created.map { .integer($0) }, "at": .integer(receipt.at),
        "timestamp": receipt.timestamp.map { .integer($0) },
        "retry_after": receipt.retryAfter.map { .integer($0) },
        "apns_unique_id": receipt.uniqueID.map { .string($0) },
        "answered_apns_id": receipt.answeredID.map { .string($0) },
        "apns_request_id": receipt.gatewayRequestID.map { .string($0) },
        "replay": receipt.replay.map { .string($0) },
        "traceparent": receipt.traceParent.map { .string($0) },
        "data": try receipt.data.map { try JSONDocument($0).root },
      ]
      let written = try JSONDocument(line).root
      for member in written.object?.members ?? [] {
        #expect(read[member.key] == .some(member.value), "\(words), line \(count): \(member.key)")
      }
    }
    #expect(count >= 6, "\(words)")
  }

  private func checkDeadLetter(_ record: RecordFixture, _ words: String) {
    let letter = DeadLetter { name in record.headers.last { $0.first == name }?.last }
    #expect(DeadLetterReason(rawValue: letter.reason) != nil, "\(words)")
    #expect(DeadLetterStage(rawValue: letter.stage) != nil, "\(words)")
    let again = letter.headers.map { [$0.name, $0.value] }
    for header in record.headers { #expect(again.contains(header), "\(words): \(header)") }
  }
}
