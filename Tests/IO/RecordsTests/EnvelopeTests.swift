// SPDX-License-Identifier: Apache-2.0

import APNS
import Pipeline
import Random
import Records
import Testing

@Suite struct EnvelopeTests {
  static let id = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
  static let fields = [
    "M1", "bulk", "sandbox", "com.example.app", "com.example.app.voip", "voip", "5", "1900000000",
    id,
    "specials", "1795224000123", "order-8812", "3", "1795224000456", "TooManyRequests",
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
    #expect(text(envelope.collapseID, record) == "specials")
    #expect(envelope.created == 1_795_224_000_123)
    #expect(text(envelope.requestID, record) == "order-8812")
    #expect(envelope.attempt == 3)
    #expect(envelope.firstSeen == 1_795_224_000_456)
    #expect(text(envelope.lastReason, record) == "TooManyRequests")
    #expect(String(decoding: record[envelope.bodyStart...], as: UTF8.self) == #"{"aps":{}}"#)
    #expect(
      text(envelope.constantPart, record) == Self.fields[0..<12].joined(separator: "\t"))
  }

  @Test func `envelopes leave out what is empty, and tell an absent expiration from 0`() throws {
    var fields = Self.fields
    for field in [7, 9, 11, 12, 13, 14] { fields[field] = "" }
    var envelope = try Envelope.parse(Self.record(fields).span)
    #expect(envelope.expiration == nil)
    #expect(envelope.collapseID.isEmpty)
    #expect(envelope.requestID.isEmpty)
    #expect(envelope.attempt == 0)
    #expect(envelope.firstSeen == nil)
    #expect(envelope.lastReason.isEmpty)
    fields[7] = "0"
    envelope = try Envelope.parse(Self.record(fields).span)
    #expect(envelope.expiration == 0)
  }

  @Test(arguments: [
    (EnvelopeField.version, "M2"), (.version, ""), (.lane, "fast"), (.lane, ""),
    (.environment, "prod"), (.app, ""), (.app, "com example"), (.topic, "a\u{7F}b"),
    (.pushType, "alarm"), (.priority, "7"), (.priority, ""), (.priority, "1x"),
    (.expiration, "-1"), (.expiration, "12345678901234567"),
    // In milliseconds: as a number that overflows, too.
    (.expiration, "1795224000000"), (.expiration, "9999999999999999"), (.apnsID, "nope"),
    (.apnsID, String(repeating: "z", count: 36)), (.collapseID, " x"),
    (.collapseID, String(repeating: "c", count: 65)), (.created, ""), (.created, "now"),
    (.attempt, "65536"), (.firstSeen, "x"),
  ])
  func `name the field that is wrong`(field: EnvelopeField, value: String) {
    #expect(error(Self.record(field, value))?.field == field)
  }

  @Test func `envelopes refuse control characters in any field`() {
    for field in EnvelopeField.allCases
    where field.rawValue < EnvelopeField.target.rawValue {
      let value = Self.fields[Int(field.rawValue)]
      let found = error(Self.record(field, "\u{1}" + value))
      #expect(found?.field == field)
      #expect(found?.problem == .controlCharacter)
    }
  }

  @Test func `envelopes refuse lines with fields too few or too many`() {
    for count in 1..<15 {
      let found = error(Self.record(Array(Self.fields[..<count])))
      #expect(found?.problem == .lineEnded)
      #expect(Int(found?.field.rawValue ?? 0) == count)
    }
    #expect(
      error(Self.record(Self.fields + ["device", "3/17", "", "x"]))?.problem == .unexpectedField)
  }

  /// A record that goes to a channel.
  static let broadcast = [
    "M1", "bulk", "sandbox", "com.example.app", "com.example.app.push-type.liveactivity",
    "liveactivity", "5", "0", id, "", "1795224000123", "order-8812", "3", "1795224000456", "",
  ]

  @Test
  func `envelopes say in a sixteenth field that they go to a channel; fifteen are for a device`()
    throws
  {
    #expect(try Envelope.parse(Self.record().span).target == .device)
    for name in ["", "device"] {
      #expect(try Envelope.parse(Self.record(Self.fields + [name]).span).target == .device)
    }
    let record = Self.record(Self.broadcast + ["channel"], body: "{}")
    let envelope = try Envelope.parse(record.span)
    #expect(envelope.target == .channel)
    #expect(String(decoding: record[envelope.bodyStart...], as: UTF8.self) == "{}")
    #expect(error(Self.record(Self.fields + ["group"]))?.field == .target)
    #expect(error(Self.record(Self.fields + ["\u{1}"]))?.problem == .controlCharacter)
  }

  @Test
  func `of a replayed dead letter count as taken once for each letter, any other once for its id`()
    throws
  {
    func taken(_ mark: String, target: String = "") throws -> NotificationID {
      try Envelope.parse(Self.record(Self.fields + [target, mark]).span).takenID
    }
    let id = try Envelope.parse(Self.record(Self.fields).span).takenID
    #expect(try taken("") == id)
    let first = try taken(ReplayMark.text(partition: 3, offset: 17))
    #expect(first != id)
    #expect(try taken("3/17", target: "device") == first)
    #expect(try taken("3/18") != first)
    #expect(try taken("4/17") != first)
    let last = ReplayMark.text(partition: .max, offset: .max)
    #expect(last.utf8.count == ReplayMark.longest)
    #expect(try taken(last) != id)
    for mark in ["3", "3/", "/17", "3/17/1", "3/-1", "a/1", "3/17 ", last + "0"] {
      let problem = error(Self.record(Self.fields + ["", mark]))
      #expect(problem?.field == .replay, "\(mark)")
    }
    #expect(try taken("3/17\t" + Self.trace) == first)
  }

  static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test func `of another app or environment never count as taken for this one's id`() throws {
    func taken(_ field: EnvelopeField, _ value: String) throws -> NotificationID {
      try Envelope.parse(Self.record(field, value).span).takenID
    }
    let mine = try Envelope.parse(Self.record().span).takenID
    #expect(mine != NotificationID(Self.id))
    for app in ["com.example.apq", "com.example.app2", "com.example.ap", "COM.example.app"] {
      var fields = Self.fields
      (fields[3], fields[4]) = (app, "\(app).voip")
      #expect(try Envelope.parse(Self.record(fields).span).takenID != mine, "\(app)")
    }
    #expect(try taken(.environment, "production") != mine)
    // Whatever else differs, it is the same notification.
    #expect(try taken(.lane, "transactional") == mine)
    #expect(try taken(.attempt, "4") == mine)
    #expect(try taken(.collapseID, "other") == mine)
    #expect(try taken(.apnsID, Self.id.uppercased()) == mine)
    #expect(try taken(.apnsID, "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3f") != mine)
  }

  @Test func `envelopes say in an eighteenth field which trace they belong to`() throws {
    for replay in ["", "3/17"] {
      let record = Self.record(Self.fields + ["", replay, Self.trace])
      let envelope = try Envelope.parse(record.span)
      #expect(text(envelope.traceParent, record) == Self.trace)
      #expect(text(envelope.replay, record) == replay)
      #expect(String(decoding: record[envelope.bodyStart...], as: UTF8.self) == "{}")
    }
    #expect(try Envelope.parse(Self.record(Self.fields + ["", "", ""]).span).traceParent.isEmpty)
    #expect(error(Self.record(Self.fields + ["", "", "x"]))?.field == .traceParent)
    #expect(
      error(Self.record(Self.fields + ["", "", Self.trace, ""]))?.problem == .unexpectedField)
  }

  @Test func `to a channel are Live Activity pushes with an expiration`() {
    var fields = Self.broadcast + ["channel"]
    fields[5] = "alert"
    #expect(error(Self.record(fields))?.field == .pushType)
    fields = Self.broadcast + ["channel"]
    fields[7] = ""
    #expect(error(Self.record(fields))?.field == .expiration)
    #expect(error(Self.record(fields))?.problem == .missing)
    fields = Self.broadcast + ["channel"]
    fields[3] = String(repeating: "a", count: 255)
    #expect(error(Self.record(fields)) == nil)
    fields[3] += "a"
    #expect(error(Self.record(fields))?.field == .app)
    #expect(error(Self.record(fields))?.problem == .tooLong)
  }

  @Test func `envelopes refuse what has no body, no line end, or too much of either`() {
    #expect(error([])?.problem == .unterminated)
    #expect(error(Self.record(body: ""))?.problem == .emptyBody)
    #expect(error(Array(Self.fields.joined(separator: "\t").utf8))?.problem == .unterminated)
    let body = String(repeating: "x", count: Envelope.maximumBody)
    #expect(error(Self.record(body: body)) == nil)
    #expect(error(Self.record(body: body + "x"))?.problem == .tooLong)
    let long = String(repeating: "r", count: 2_100)
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
    do throws(EnvelopeError) { return "\(try read())" } catch { return "\(error)" }
  }

  @Test func `a reader reads each record as if it were the first, whatever the one before was`() {
    let changes: [(EnvelopeField, String)] = [
      (.version, "M1"), (.version, "M2"), (.lane, "transactional"), (.environment, "production"),
      (.app, "com.example.ap"), (.app, "com.example.app2"), (.app, "com example"), (.topic, ""),
      (.pushType, "alert"), (.pushType, "voi"), (.pushType, "voipx"), (.priority, "10"),
      (.apnsID, "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3f"), (.apnsID, "0f6e"), (.attempt, "70000"),
      (.app, String(repeating: "a", count: 600)),
    ]
    let records =
      changes.map { EnvelopeTests.record($0.0, $0.1) }
      + [
        [], Array("M1".utf8), EnvelopeTests.record(body: ""),
        EnvelopeTests.record(EnvelopeTests.fields + ["channel"]),
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
}
