// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import TestSupport
import Testing

@testable import Feedback

/// docs/schemas of records that Martlet writes, or reads besides requests, against the code that reads them.
@Suite struct RecordSchemaTests {
  private static let uuid = "0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a"
  private static let values: [JSONValue?] = [
    nil, nil as JSONValue, true, 0, 1, -1, 99, 100, 200, 599, 600, 1.5, 999_999_999, 1_000_000_000,
    1_795_000_000, 99_999_999_999, 100_000_000_000, 253_402_300_799_999, 253_402_300_800_000, "",
    "x", "ab", "abc", "AB", "a b", "production", "sandbox", "bulk", "delivered", "dead_lettered",
    .string(uuid), .string(uuid.uppercased()), .string(uuid + "0"), "a/1/2", "topic/1/x",
    .string(String(repeating: "ab", count: 256)), .string(String(repeating: "ab", count: 257)),
    [], [:], ["a": "b", "c": ""], ["a": 1], ["a": nil],
  ]

  private let parser = JSONParser()

  private func compare(
    _ schema: String, _ table: RecordTable, least: Int, _ isAccepted: (JSONValue) -> Bool
  ) throws {
    let verdicts = try Documents.verdicts(schema, table.records)
    for (record, verdict) in zip(table.records, verdicts) {
      #expect(
        verdict == isAccepted(record), "\(schema): \(String(decoding: record.text, as: UTF8.self))")
    }
    #expect(table.records.count >= least)
    #expect(Set(verdicts).count == 2)
  }

  @Test func `a receipt is valid when its reader takes it`() throws {
    var table = RecordTable()
    let base = try RecordTable.parse(
      #"{"outcome":"rejected","apns_id":"\#(Self.uuid)","id":"o","app":"a.b","environment":"sandbox","token":"ab","lane":"bulk","replay":"0/1","traceparent":"t","data":{"a":"b"},"reason":"BadDeviceToken","detail":"d","apns_unique_id":"u","answered_apns_id":"v","apns_request_id":"w","status":400,"attempts":1,"created":5,"at":6,"retry_after":3,"timestamp":7}"#
    )
    table.add(base, places: base.object?.keys ?? [], values: Self.values)
    table.add(base, places: ["channel", "colour"], values: Self.values)
    try compare("receipt", table, least: 700) { record in
      record.text.withUnsafeBytes { (try? Receipt($0, parser: parser)) != nil }
    }
  }

  @Test func `every receipt that is written is valid`() throws {
    var lines: [[UInt8]] = []
    let bytes = Array("\u{1}\"ü".utf8)
    let carried = Array(#"data={"a":"\n"}|replay=3/17|traceparent=t"#.utf8).map {
      $0 == UInt8(ascii: "|") ? 9 : $0
    }
    bytes.withUnsafeBytes { text in
      carried.withUnsafeBytes { carried in
        for outcome in Outcome.allCases {
          var line = ReceiptLine(outcome, at: 1_795_000_000_045)
          line.reason = text
          line.detail = text
          line.token = text
          line.status = 410
          line.timestamp = 1
          line.retryAfter = 3
          line.created = 2
          line.carried = CarriedFields(carried)
          var buffer = ByteBuffer()
          ReceiptEncoder.append(line, into: &buffer)
          lines.append(Array(buffer.bytes))
        }
      }
    }
    #expect(try Documents.verdicts("receipt", texts: lines).allSatisfy { $0 })
  }

  /// Each field that a receipt brings back from its request stands in the schema.
  @Test func `the schema of receipts lists what is carried to them`() throws {
    let schema = try RecordTable.parse(try Repository.text("docs/schemas/receipt.json"))
    let listed = Set(schema["properties"]?.object?.keys ?? [])
    #expect(listed.isSuperset(of: CarriedField.table.compactMap(\.receipt)))
  }

  @Test func `the page of records has the table of keyed fields`() throws {
    let lines = try Repository.text("docs/reference/records.md").split(separator: "\n")
      .drop { !$0.hasPrefix("| key | from the request ") }
    for row in CarriedField.table {
      let line = try #require(lines.first { $0.hasPrefix("| `\(row.key)` | ") }, "\(row.key)")
      if let name = row.request?.name { #expect(line.hasPrefix("| `\(row.key)` | `\(name)` | ")) }
      #expect(line.hasSuffix(row.receipt.map { "| `\($0)` |" } ?? " | |"), "\(row.key)")
    }
  }

  @Test func `a registration is valid when feedback takes it`() throws {
    var table = RecordTable()
    for event in ["registered_at", "removed_at"] {
      let base = try RecordTable.parse(
        #"{"token":"ab","app":"a.b","environment":"production","\#(event)":1795000000000}"#)
      table.add(
        base,
        places: [
          "token", "app", "environment", "registered_at", "removed_at", "type", "user", "colour",
        ],
        values: Self.values)
    }
    let names = TopicNames()
    let reader = JobReader(names)
    try compare("registration", table, least: 400) { record in
      // The key is right, and the record as late as need be: both are no matter of the value.
      let key = record.text.withUnsafeBytes { (try? DeviceRecord($0, parser: parser))?.key ?? [] }
      return key.withUnsafeBytes { key in
        record.text.withUnsafeBytes { value in
          if case .device = reader.content(
            names.devices, key: key, value: value, timestamp: -1, now: 253_402_300_799_999)
          {
            true
          } else {
            false
          }
        }
      }
    }
  }

  @Test func `an invalid token is valid when its readers take it`() throws {
    var table = RecordTable()
    let base = try RecordTable.parse(
      #"{"token":"ab","app":"a.b","environment":"production","invalid_since":1,"reason":"Unregistered","at":2,"alive_from":3}"#
    )
    table.add(base, places: (base.object?.keys ?? []) + ["colour"], values: Self.values)
    try compare("invalid-token", table, least: 250) { record in
      record.text.withUnsafeBytes { (try? InvalidTokenRecord($0, parser: parser)) != nil }
    }
  }

  /// What a schema cannot say: `send_at` is at most 30 days ahead, and the request has rules of its own.
  @Test func `a campaign is valid when its reader takes it`() throws {
    var table = RecordTable()
    let base = try RecordTable.parse(
      #"{"campaign":"sale","request":{"app":"a.b","payload":{}},"audience":{"locale":"de","#
        + #""app_version":"3","bundle":"x","tags_any":["a"],"tags_all":["b"],"#
        + #""registered_since":1795000000},"first":{"percent":1,"wait_seconds":5},"#
        + #""stop":{"rejected_percent":2.5,"unregistered_percent":5,"unregistered_times":3.5,"#
        + #""slower_than_ms":2000},"pace":"200/s"}"#)
    let targets = ["token", "tokens", "channel", "user", "users", "id", "apns_id", "group"]
    let places =
      (base.object?.keys ?? []) + (base["audience"]?.object?.keys ?? []).map { "audience.\($0)" }
      + (targets + ["environment", "send_at", "app", "priority"]).map { "request.\($0)" }
      + ["first.percent", "first.wait_seconds", "stop.x", "audience.x"]
      + (base["stop"]?.object?.keys ?? []).map { "stop.\($0)" }
    table.add(
      base, places: places,
      values: Self.values + [
        ["a", "b"], ["a b"], [""], [1], .string(String(repeating: "a", count: 65)), 100.5, 0.001,
        "2026-12-24T18:00:00+01:00", "2026-12-24", 86_400, 86_401, "sandbox",
        .array(Array(repeating: "x", count: 21)), .array(Array(repeating: "x", count: 20)),
        ["app": "a.b"], ["rejected_percent": 1], ["percent": 1, "wait_seconds": 0],
        ["slower_than_ms": 1], ["slower_than_ms": nil], "100/s", "0/s", "1/y", "007/d",
        "100000001/h", 1_000.5,
      ])
    let local = try RecordTable.parse(
      #"{"campaign":"sale","request":{"app":"a.b","payload":{}},"audience":{},"#
        + #""send_at":"2026-12-01T09:00:00","time_zone":"Europe/Berlin"}"#)
    table.add(
      local, places: ["send_at", "time_zone"],
      values: Self.values + [
        "2026-12-01T09:00:00.5", "2026-12-01T09:00:00Z", "2026-12-01T09:00", "2026-12-01",
        "2026-12-01T24:00:00", "UTC", "/UTC", "Etc/GMT+3", "a..b", "a b/c", "_/-",
        .string(String(repeating: "a", count: 64)), .string(String(repeating: "a", count: 65)),
      ])
    let topic = try RecordTable.parse(
      #"{"campaign":"sale","request":{"app":"a.b","payload":{}},"audience":{"topic":"vips"}}"#)
    let details = ["locale", "app_version", "bundle", "tags_any", "tags_all", "registered_since"]
    table.add(
      topic, places: (details + ["topic", "x"]).map { "audience.\($0)" },
      values: Self.values + [
        ["a"], "push.audiences", "a b", "a/b", "a_B-1.c", 1_795_000_000,
        .string(String(repeating: "a", count: 249)), .string(String(repeating: "a", count: 250)),
      ])
    try compare("campaign", table, least: 1_000) { record in
      record.text.withUnsafeBytes {
        (try? CampaignRecord(json: $0, at: 1_795_000_000_000, by: "ann", parser: parser)) != nil
      }
    }
  }

  @Test func `a dead letter's headers are valid when each of them is understood`() throws {
    var table = RecordTable()
    let origin = DeadLetterOrigin(topic: "push.requests", partition: 3, offset: 17)
    var letter = DeadLetter(
      .invalidToken, "token: is empty", by: .ingest, from: origin, at: 1_795_000_000_000)
    letter.token = "x"
    letter.requestID = "order-1"
    letter.apnsID = Self.uuid
    letter.traceParent = "t"
    var object = JSONObject()
    for header in letter.headers { object.append(header.name, .string(header.value)) }
    let texts = Self.values.filter { $0 == nil || $0?.string != nil } + ["17", "-17", "1.5", "17x"]
    table.add(.object(object), places: object.keys, values: texts)
    for reason in DeadLetterReason.allCases {
      for stage in DeadLetterStage.allCases {
        let other = DeadLetter(reason, "d", by: stage, attempts: 7, from: origin, at: 1)
        var headers = JSONObject()
        for header in other.headers { headers.append(header.name, .string(header.value)) }
        table.add(.object(headers), places: [], values: [])
      }
    }
    try compare("dead-letter", table, least: 150) { record in
      let read = DeadLetter { record[$0]?.string }
      return DeadLetterReason(rawValue: read.reason) != nil
        && DeadLetterStage(rawValue: read.stage) != nil && record[DeadLetterHeader.detail] != nil
        && (read.attempts ?? -1) >= 0 && (read.at ?? -1) >= 0 && read.origin != nil
    }
  }
}
