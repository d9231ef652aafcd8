// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Records
import Testing

/// The keyed fields of envelopes.
@Suite struct CarriedFieldTests {
  static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  /// One of each that is known, and some that are not.
  static let all = [
    "apns-collapse-id=spec=ials", #"data={"a":"b","c\n":""}"#, "replay=3/17",
    "traceparent=\(trace)", "target=device", "apns-new-thing=x y", "later=", "zeta=a=b c",
    #"warnings=["empty-alert:aps.alert","wrong-type:aps.category"]"#,
  ]
  /// A record that goes to a channel, without the field that says so.
  static let broadcast = [
    "M2", "bulk", "sandbox", "com.example.app", "com.example.app.push-type.liveactivity",
    "liveactivity", "5", "0", EnvelopeTests.id, "1795224000123", "order-8812", "3",
    "1795224000456", "",
  ]

  private func record(_ more: [String], _ fields: [String] = EnvelopeTests.fields) -> [UInt8] {
    EnvelopeTests.record(fields + more)
  }

  private func error(
    _ more: [String], _ fields: [String] = EnvelopeTests.fields
  ) -> EnvelopeError? {
    do throws(EnvelopeError) {
      _ = try Envelope.parse(record(more, fields).span)
      return nil
    } catch { return error }
  }

  /// The fields that a record carries, as `key=value`.
  private func carried(_ record: [UInt8]) throws -> [String] {
    let envelope = try Envelope.parse(record.span)
    return record.withUnsafeBytes { bytes in
      var fields: [String] = []
      envelope.carried(in: bytes).forEachField { key, value in
        fields.append(
          String(decoding: key, as: UTF8.self) + "=" + String(decoding: value, as: UTF8.self))
      }
      return fields
    }
  }

  private func retry(_ record: [UInt8]) throws -> [UInt8] {
    let envelope = try Envelope.parse(record.span)
    var buffer = ByteBuffer()
    record.withUnsafeBytes { record in
      Array("Shutdown".utf8).withUnsafeBytes { reason in
        EnvelopeEncoder.encodeRetry(
          of: record, envelope, attempt: 2, firstSeen: 3, reason: reason, into: &buffer)
      }
    }
    return Array(buffer.bytes)
  }

  private func replay(_ record: [UInt8], _ mark: String) throws -> [UInt8] {
    let envelope = try Envelope.parse(record.span)
    var buffer = ByteBuffer()
    record.withUnsafeBytes { record in
      EnvelopeEncoder.encodeReplay(
        of: record, envelope, created: 1_795_224_999_999, mark: mark, into: &buffer)
    }
    return Array(buffer.bytes)
  }

  @Test func `come in any order, and stay as they are over a retry and a replay`() throws {
    for turn in Self.all.indices {
      let fields = Array(Self.all[turn...] + Self.all[..<turn])
      let record = record(fields)
      #expect(try carried(record) == fields)
      let moved = try retry(record)
      #expect(try carried(moved) == fields)
      #expect(try Envelope.parse(moved.span).dedupKey == Envelope.parse(record.span).dedupKey)
      let again = try replay(moved, "0/1")
      #expect(try carried(again) == fields.filter { $0 != "replay=3/17" } + ["replay=0/1"])
      let fresh = try Envelope.parse(again.span)
      #expect(fresh.created == 1_795_224_999_999)
      #expect(fresh.attempt == 0 && fresh.firstSeen == nil && fresh.lastReason.isEmpty)
      #expect(again.suffix(2).elementsEqual("{}".utf8))
    }
  }

  @Test func `of every number are found by their keys`() throws {
    for count in 0...Self.all.count {
      let record = record(Array(Self.all.prefix(count)))
      let envelope = try Envelope.parse(record.span)
      record.withUnsafeBytes { bytes in
        let carried = envelope.carried(in: bytes)
        #expect(carried.isEmpty == (count == 0))
        #expect(carried[.collapseID].elementsEqual((count > 0 ? "spec=ials" : "").utf8))
        #expect(carried[.traceParent].elementsEqual((count > 3 ? Self.trace : "").utf8))
      }
      #expect(envelope.hasHeaders == (count > 0))
    }
  }

  @Test func `that are known are checked, and name themselves`() {
    let bad: [(CarriedField, [String])] = [
      (.target, ["", "group", "Channel"]),
      (.collapseID, ["", " x", "x ", "a\u{7F}", "é", String(repeating: "c", count: 65)]),
      (
        .data,
        [
          "", "x", "{", "{}x", "[]", #"{"a"}"#, #"{"a":1}"#, #"{"a":"b",}"#, #"{"a":"b" }"#,
          #"{ "a":"b"}"#, #"{"a":"b"c":"d"}"#, #"{"a":"\"}"#, #"{"a":"\x"}"#, #"{"a":"\ud800"}"#,
          #"{"a":{}}"#, #"{,"a":"b"}"#, #"{"a":"b""c":"d"}"#,
          #"{"a":"\#(String(repeating: "x", count: 505))"}"#,
        ]
      ),
      (.replay, ["", "3", "3/", "/17", "3/17/1", "3/-1", "a/1", "3/17 "]),
      (.traceParent, ["", "x", Self.trace.uppercased()]),
      (.supersede, ["", " x", "x ", "a\u{7F}", String(repeating: "c", count: 65)]),
      (.final, ["", "0", "true", "11"]), (.silent, ["", "0", "true", "11"]),
      (.start, ["", "0", "true", "11"]),
      (.position, ["", "7/1/5s", "1/7/1/2m", "-1/7/1/5s", "1/7/65536/5s"]),
      (.warnings, ["", "[]", "x", #"["A"]"#, #"["a",]"#]),
      (.group, ["", " x", "x ", "a\u{7F}", String(repeating: "g", count: 65)]),
      (.campaign, ["", " x", "x ", "a\u{7F}", String(repeating: "c", count: 65)]),
    ]
    #expect(Set(bad.map(\.0)) == Set(CarriedField.allCases))
    for (field, values) in bad {
      for value in values {
        let found = error(["first=1", "\(field.row.key)=\(value)"])
        #expect(found?.carried == field, "\(field) \(value)")
        #expect(found?.field == .keyed)
        #expect(found?.description.hasPrefix("\(field.row.key): is not valid") == true)
      }
    }
    #expect(error([#"data={"a":"\#(String(repeating: "x", count: 504))"}"#]) == nil)
    for data in ["{}", #"{"":""}"#, #"{"a":"\ud83d\ude00é\u0000"}"#] {
      #expect(error(["data=\(data)"]) == nil, "\(data)")
    }
  }

  @Test func `that are known stand there once; others are nobody's concern`() {
    for field in Self.all.prefix(5) {
      #expect(error([field, "later=1", field])?.problem == .repeated, "\(field)")
    }
    #expect(error(["later=1", "later=1", "later="]) == nil)
  }

  @Test func `have a key, and no control characters`() {
    for field in ["", "x", "=", "=x", "a b=c", "Upper=x", "a:b=c", "é=x"] {
      #expect(error([field])?.problem == .noKey, "\(field)")
      #expect(error(["a=1", field, "b=2"])?.problem == .noKey, "\(field)")
    }
    for byte in UInt8(0)..<0x20 where byte != 0x09 && byte != 0x0A {
      #expect(error(["later=a\(Character(UnicodeScalar(byte)))"])?.problem == .controlCharacter)
    }
  }

  @Test func `that begin with apns- are header fields, and checked as such`() throws {
    #expect(try Envelope.parse(record(["later=1"]).span).hasHeaders == false)
    for name in ["apns-x", "apns-a.b_c", "apns-!#$%&'*+^`|~9", "apns--"] {
      #expect(try Envelope.parse(record(["\(name)=x"]).span).hasHeaders, "\(name)")
    }
    for name in CarriedHeaders.reserved {
      #expect(error(["\(name)=x"])?.problem == .reservedName, "\(name)")
    }
    #expect(error(["apns-=x"])?.problem == .invalid)
    for value in ["", " a", "a ", "a\u{7F}", "é"] {
      #expect(error(["apns-x=\(value)"])?.problem == .invalid, "\(value)")
    }
    let many = (0..<CarriedHeaders.maximumCount).map { "apns-x\($0)=1" }
    #expect(error(many + ["apns-collapse-id=c"]) == nil)
    #expect(error(many + ["apns-more=1"])?.problem == .tooMany)
    // APNs answers DuplicateHeaders.
    for fields in [["apns-x=1", "apns-x=1"], ["later=1", "apns-x=1", "group=g", "apns-x=2"]] {
      #expect(error(fields)?.problem == .repeated, "\(fields)")
    }
    #expect(error(["x=apns-y=1", "apns-x=apns-y=1", "apns-xy=1", "apns-y=1"]) == nil)
  }

  @Test
  func `say that they go to a channel, which is a Live Activity push with an expiration`() throws {
    let channel = ["target=channel"]
    #expect(try Envelope.parse(EnvelopeTests.record().span).target == .device)
    #expect(try Envelope.parse(record(["target=device"]).span).target == .device)
    #expect(try Envelope.parse(record(channel, Self.broadcast).span).target == .channel)
    var fields = Self.broadcast
    fields[5] = "alert"
    #expect(error(channel, fields)?.field == .pushType)
    fields = Self.broadcast
    fields[7] = ""
    #expect(error(channel, fields)?.field == .expiration)
    #expect(error(channel, fields)?.problem == .missing)
    fields = Self.broadcast
    fields[3] = String(repeating: "a", count: 255)
    #expect(error(channel, fields) == nil)
    fields[3] += "a"
    #expect(error(channel, fields)?.field == .app)
    #expect(error(channel, fields)?.problem == .tooLong)
  }

  @Test
  func `of a replayed dead letter count as taken once for each letter, any other once for its id`()
    throws
  {
    func taken(_ more: String...) throws -> NotificationID {
      try Envelope.parse(record(more).span).dedupKey
    }
    let id = try taken()
    let first = try taken("replay=" + ReplayMark.text(partition: 3, offset: 17))
    #expect(first != id)
    #expect(try taken("target=device", "replay=3/17", "traceparent=\(Self.trace)") == first)
    #expect(try taken("replay=3/18") != first)
    #expect(try taken("replay=4/17") != first)
    #expect(try taken("apns-collapse-id=c", "later=1") == id)
    let last = ReplayMark.text(partition: .max, offset: .max)
    #expect(last.utf8.count == ReplayMark.longest)
    #expect(try taken("replay=\(last)") != id)
    #expect(error(["replay=\(last)0"])?.carried == .replay)
  }

  @Test func `are at most so long that a retry of a replay fits into the line`() throws {
    let fixed = try Envelope.parse(EnvelopeTests.record().span).constantPart.count
    let most = Envelope.maximumKept - Int(fixed) - "later=".utf8.count
    let later = "later=" + String(repeating: "x", count: most)
    #expect(error([later + "x"])?.problem == .tooLong)
    let mark = ReplayMark.text(partition: .max, offset: .max)
    let replayed = try replay(record([later]), mark)
    let envelope = try Envelope.parse(replayed.span)
    var buffer = ByteBuffer()
    replayed.withUnsafeBytes { record in
      Array(String(repeating: "r", count: 99).utf8).withUnsafeBytes { reason in
        EnvelopeEncoder.encodeRetry(
          of: record, envelope, attempt: .max, firstSeen: OutsideTime.last, reason: reason,
          into: &buffer)
      }
    }
    let line = buffer.bytes.prefix { $0 != 0x0A }
    #expect(line.count <= Envelope.maximumLine)
    #expect(try carried(Array(buffer.bytes)) == [later, "replay=\(mark)"])
  }

  private func receiptText(of record: [UInt8], _ envelope: Envelope) -> String {
    var buffer = ByteBuffer()
    record.withUnsafeBytes { bytes in
      var line = ReceiptLine(.delivered, at: 2)
      line.carried = envelope.carried(in: bytes)
      ReceiptEncoder.append(line, into: &buffer)
    }
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  @Test func `come back in receipts where the table says so`() throws {
    let record = record(Self.all)
    let envelope = try Envelope.parse(record.span)
    let text = receiptText(of: record, envelope)
    #expect(
      text
        == #"{"outcome":"delivered","at":2,"data":{"a":"b","c\n":""},"replay":"3/17","traceparent":"\#(Self.trace)","warnings":["empty-alert:aps.alert","wrong-type:aps.category"]}"#
    )
    let receipt = try Array(text.utf8).withUnsafeBytes { try Receipt($0, parser: JSONParser()) }
    #expect(receipt.data == #"{"a":"b","c\n":""}"#)
    #expect(receipt.replay == "3/17" && receipt.traceParent == Self.trace)
    #expect(receipt.warnings == #"["empty-alert:aps.alert","wrong-type:aps.category"]"#)
    #expect(receipt.carried.count + 2 == CarriedField.table.count { $0.receipt != nil })
  }

  @Test
  func `a group and a campaign are found in the envelope, and come back in the receipt`() throws {
    let record = record(["group=spring sale", "campaign=sale"])
    let envelope = try Envelope.parse(record.span)
    #expect(record[envelope.group.indices].elementsEqual("spring sale".utf8))
    #expect(record[envelope.campaign.indices].elementsEqual("sale".utf8))
    let none = try Envelope.parse(self.record(Self.all).span)
    #expect(none.group.count == 0 && none.campaign.count == 0)
    let text = receiptText(of: record, envelope)
    #expect(text == #"{"outcome":"delivered","at":2,"group":"spring sale","campaign":"sale"}"#)
  }

  private static func isToken(_ key: String) -> Bool { CarriedHeaders.isToken(key.utf8.span) }

  private static func field(_ key: String) -> CarriedField? {
    guard let row = CarriedField.row(ofKey: key.utf8.span) else { return nil }
    return row.field
  }

  @Test func `are in the table in the order of their cases, each with a key of its own`() {
    #expect(CarriedField.table.map(\.field) == CarriedField.allCases)
    #expect(Set(CarriedField.table.map(\.key)).count == CarriedField.allCases.count)
    for row in CarriedField.table {
      #expect(Self.isToken(row.key))
      #expect(Self.field(row.key) == row.field)
      #expect(!CarriedHeaders.reserved.contains(row.key))
    }
    // The parser's texts are the last fields, in the table's order.
    #expect(
      CarriedField.texts.compactMap(\.request)
        == Array(RequestField.allCases.suffix(CarriedField.texts.count)))
    #expect(CarriedField.texts.first?.request == .firstText)
  }
}
