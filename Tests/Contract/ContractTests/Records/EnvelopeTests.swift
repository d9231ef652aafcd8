// SPDX-License-Identifier: Apache-2.0

import Contract
import Records
import Testing
import Waiting

@Suite struct EnvelopeTests {
  static let id = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
  static let fields = [
    "M2", "bulk", "sandbox", "com.example.app", "com.example.app.voip", "voip", "5", "1900000000",
    id, "1795224000123", "order-8812", "3", "1795224000456", "TooManyRequests",
  ]

  static func record(_ fields: [String] = fields, body: String = "{}") -> [UInt8] {
    Array((fields.joined(separator: "\t") + "\n" + body).utf8)
  }

  static func record(_ field: EnvelopeField, _ value: String) -> [UInt8] {
    var changed = fields
    changed[Int(field.rawValue)] = value
    return record(changed)
  }

  private func error(_ record: [UInt8]) -> EnvelopeError? {
    do throws(EnvelopeError) {
      _ = try Envelope.parse(record.span)
      return nil
    } catch { return error }
  }

  private func text(_ range: ByteRange, _ record: [UInt8]) -> String {
    String(decoding: record[range.indices], as: UTF8.self)
  }

  @Test func `envelopes give back every field that was written`() throws {
    let record = Self.record(body: #"{"aps":{}}"#)
    let envelope = try Envelope.parse(record.span)
    #expect(envelope.lane == .bulk)
    #expect(envelope.environment == .sandbox)
    #expect(text(envelope.app, record) == "com.example.app")
    #expect(text(envelope.topic, record) == "com.example.app.voip")
    #expect(envelope.pushType == .voip)
    #expect(text(envelope.pushTypeText, record) == "voip")
    #expect(envelope.priority == 5)
    #expect(text(envelope.priorityText, record) == "5")
    #expect(envelope.expiration == 1_900_000_000)
    #expect(text(envelope.expirationText, record) == "1900000000")
    #expect(envelope.id == NotificationID(Self.id))
    #expect(text(envelope.idText, record) == Self.id)
    #expect(envelope.created == 1_795_224_000_123)
    #expect(text(envelope.requestID, record) == "order-8812")
    #expect(envelope.attempt == 3)
    #expect(envelope.firstSeen == 1_795_224_000_456)
    #expect(text(envelope.lastReason, record) == "TooManyRequests")
    #expect(String(decoding: record[envelope.bodyStart...], as: UTF8.self) == #"{"aps":{}}"#)
    #expect(text(envelope.constantPart, record) == Self.fields[0..<11].joined(separator: "\t"))
    #expect(envelope.carried.isEmpty && !envelope.hasHeaders)
  }

  @Test func `envelopes leave out what is empty, and tell an absent expiration from 0`() throws {
    var fields = Self.fields
    for field in [7, 10, 11, 12, 13] { fields[field] = "" }
    var envelope = try Envelope.parse(Self.record(fields).span)
    #expect(envelope.expiration == nil)
    #expect(envelope.requestID.isEmpty)
    #expect(envelope.attempt == 0)
    #expect(envelope.firstSeen == nil)
    #expect(envelope.lastReason.isEmpty)
    fields[7] = "0"
    envelope = try Envelope.parse(Self.record(fields).span)
    #expect(envelope.expiration == 0)
  }

  @Test(arguments: [
    (EnvelopeField.version, "M1"), (.version, "M3"), (.version, ""), (.version, "M22"),
    (.lane, "fast"), (.lane, ""),
    (.environment, "prod"), (.app, ""), (.app, "com example"), (.topic, "a\u{7F}b"),
    (.pushType, "alarm"), (.priority, "7"), (.priority, ""), (.priority, "1x"),
    (.expiration, "-1"), (.expiration, "12345678901234567"),
    // In milliseconds: as a number that overflows, too.
    (.expiration, "1795224000000"), (.expiration, "9999999999999999"), (.apnsID, "nope"),
    (.apnsID, String(repeating: "z", count: 36)), (.created, ""), (.created, "now"),
    (.requestID, #"a"b"#), (.requestID, #"\ud800"#), (.requestID, #"\udc00\ud800"#),
    (.attempt, "65536"), (.firstSeen, "x"),
  ])
  func `name the field that is wrong`(field: EnvelopeField, value: String) {
    #expect(error(Self.record(field, value))?.field == field)
  }

  @Test func `envelopes refuse control characters in any field`() {
    for field in EnvelopeField.allCases.prefix(EnvelopeField.fixedCount) {
      let value = Self.fields[Int(field.rawValue)]
      let found = error(Self.record(field, "\u{1}" + value))
      #expect(found?.field == field)
      #expect(found?.problem == .controlCharacter)
    }
  }

  @Test func `envelopes refuse lines with fields too few`() {
    for count in 1..<EnvelopeField.fixedCount {
      let found = error(Self.record(Array(Self.fields[..<count])))
      #expect(found?.problem == .lineEnded)
      #expect(Int(found?.field.rawValue ?? 0) == count)
    }
  }

  @Test func `envelopes of another version are refused by its name, whatever follows`() {
    for line in ["M1\tbulk", "M1\tbulk\tsandbox\ta\ta\talert\t10\t\tx", "M3\t", "\t"] {
      let found = error(Array((line + "\n{}").utf8))
      #expect(found?.problem == .unknownVersion)
      #expect(found?.description.hasPrefix("version: is not M2, which this build reads") == true)
    }
  }

  @Test
  func
    `envelopes that end at every byte of the longest line there is: refused, with a place inside`()
  {
    let whole = Self.record(Self.fields + CarriedFieldTests.all)
    let body = whole.count - 2
    #expect(error(whole) == nil)
    for count in 0..<body {
      let found = error(Array(whole[..<count]))
      #expect(found?.problem == .unterminated, "\(count)")
      #expect(found?.offset == count)
      // The line's end is there, and what came before is cut.
      let cut = error(Array(whole[..<count]) + Array("\n{}".utf8))
      #expect((cut?.offset ?? 0) <= count, "\(count)")
    }
    #expect(error(Array(whole[..<body]))?.problem == .emptyBody)
  }

  @Test func `of another app or environment never count as taken for this one's id`() throws {
    func taken(_ field: EnvelopeField, _ value: String) throws -> NotificationID {
      try Envelope.parse(Self.record(field, value).span).dedupKey
    }
    let mine = try Envelope.parse(Self.record().span).dedupKey
    #expect(mine != NotificationID(Self.id))
    for app in ["com.example.apq", "com.example.app2", "com.example.ap", "COM.example.app"] {
      var fields = Self.fields
      (fields[3], fields[4]) = (app, "\(app).voip")
      #expect(try Envelope.parse(Self.record(fields).span).dedupKey != mine, "\(app)")
    }
    #expect(try taken(.environment, "production") != mine)
    // Whatever else differs, it is the same notification.
    #expect(try taken(.lane, "transactional") == mine)
    #expect(try taken(.attempt, "4") == mine)
    #expect(try taken(.apnsID, Self.id.uppercased()) == mine)
    #expect(try taken(.apnsID, "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3f") != mine)
  }

  @Test func `refuse what has no body, no line end, or too much of either`() {
    #expect(error([])?.problem == .unterminated)
    #expect(error(Self.record(body: ""))?.problem == .emptyBody)
    #expect(error(Array(Self.fields.joined(separator: "\t").utf8))?.problem == .unterminated)
    let body = String(repeating: "x", count: Envelope.maximumBody)
    #expect(error(Self.record(body: body)) == nil)
    #expect(error(Self.record(body: body + "x"))?.problem == .tooLong)
    let long = String(repeating: "r", count: Envelope.maximumLine)
    #expect(error(Self.record(.requestID, long))?.problem == .tooLong)
  }

  @Test func `envelopes accept a line of exactly the longest length, and not one byte more`() {
    let usual = Self.fields.joined(separator: "\t").utf8.count
    let reason = String(repeating: "r", count: Envelope.maximumLine - usual)
    #expect(error(Self.record(.lastReason, "TooManyRequests" + reason)) == nil)
    #expect(error(Self.record(.lastReason, "TooManyRequests" + reason + "r"))?.problem == .tooLong)
  }

  @Test
  func
    `envelopes survive 50,000 random mutations: parsed, or refused with a field inside the record`()
  {
    var random = SeededGenerator(seed: 42)
    let good = Self.record(body: #"{"aps":{"alert":"x"}}"#)
    var refused = 0
    for _ in 0..<50_000 {
      var record = good
      for _ in 0...Int(random.next() % 3) {
        switch random.next() % 3 {
        case 0 where !record.isEmpty:
          record[Int(random.next() % UInt64(record.count))] = UInt8(
            truncatingIfNeeded: random.next())
        case 1 where !record.isEmpty: record.remove(at: Int(random.next() % UInt64(record.count)))
        default: record.removeLast(Int(random.next() % UInt64(record.count + 1)))
        }
      }
      if let found = error(record) {
        refused += 1
        #expect(found.offset <= record.count)
        #expect(!found.description.isEmpty)
      }
    }
    #expect(refused > 10_000)
    #expect(refused < 50_000)
  }
}

@Suite struct EnvelopeReaderTests {
  private func outcome(_ read: () throws(EnvelopeError) -> Envelope) -> String {
    do throws(EnvelopeError) {
      // The number of its beginning is its reader's alone.
      return "\(try read())".replacing(/beginning: \d+/, with: "")
    } catch { return "\(error)" }
  }

  @Test func `a reader reads each record as if it were the first, whatever the one before was`() {
    let changes: [(EnvelopeField, String)] = [
      (.version, "M2"), (.version, "M1"), (.lane, "transactional"), (.environment, "production"),
      (.app, "com.example.ap"), (.app, "com.example.app2"), (.app, "com example"), (.topic, ""),
      (.pushType, "alert"), (.pushType, "voi"), (.pushType, "voipx"), (.priority, "10"),
      (.apnsID, "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3f"), (.apnsID, "0f6e"), (.attempt, "70000"),
      (.app, String(repeating: "a", count: 600)),
    ]
    let records =
      changes.map { EnvelopeTests.record($0.0, $0.1) } + [
        [], Array("M2".utf8), EnvelopeTests.record(body: ""),
        EnvelopeTests.record(EnvelopeTests.fields + ["target=channel"]),
        EnvelopeTests.record(EnvelopeTests.fields + CarriedFieldTests.all),
      ]
    for first in records {
      for second in records {
        var reader = EnvelopeReader()
        for record in [first, second, first, first] {
          let whole = outcome { () throws(EnvelopeError) in try Envelope.parse(record.span) }
          let read = record.withUnsafeBytes { bytes in
            outcome { () throws(EnvelopeError) in try reader.read(bytes) }
          }
          #expect(read == whole)
        }
      }
    }
  }

  /// More apps than a reader keeps beginnings of.
  @Test func `a reader reads the records of ten thousand apps as if each were the first`() throws {
    var reader = EnvelopeReader()
    var begun: [UInt32: [String]] = [:]
    for number in [0, 1, 0] + Array(0..<10_000) + Array(0..<100) {
      for type in ["alert", "background"] {
        var fields = EnvelopeTests.fields
        fields[3] = "com.example.app\(number)"
        fields[5] = type
        let record = EnvelopeTests.record(fields)
        let read = try record.withUnsafeBytes { try reader.read($0) }
        #expect(String(decoding: record[read.app.indices], as: UTF8.self) == fields[3])
        #expect(String(decoding: record[read.pushTypeText.indices], as: UTF8.self) == type)
        #expect(read.dedupKey == (try Envelope.parse(record.span)).dedupKey)
        guard read.beginning != 0 else { continue }
        #expect(begun[read.beginning, default: fields] == fields, "one number, one beginning")
        begun[read.beginning] = fields
      }
    }
  }
}
