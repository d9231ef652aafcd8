// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import TestSupport
import Testing

/// docs/schemas/request.json against the parser that ingest and the HTTP API read requests with.
@Suite struct RequestSchemaTests {
  private let reader = RequestReader()

  /// Whether the parser takes the request and every token in it.
  private func isAccepted(_ text: [UInt8]) -> Bool {
    text.withUnsafeBytes { bytes in
      guard let request = try? reader.read(bytes) else { return false }
      let room = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
      defer { room.deallocate() }
      return (0..<request.tokens.count).allSatisfy {
        (try? request.tokens.normalize($0, into: room)) != nil
      }
    }
  }

  private static let payloads: [(type: String, payload: String)] = [
    ("alert", #"{"aps":{"alert":"x","badge":1,"sound":{"critical":1,"name":"n","volume":0.5}}}"#),
    ("alert", #"{"aps":{"sound":"default"},"own":1}"#),
    ("background", #"{"aps":{"content-available":1}}"#),
    ("location", "{}"), ("voip", #"{"aps":{}}"#), ("complication", "{}"),
    ("fileprovider", #"{"container-identifier":"x"}"#), ("pushtotalk", "{}"),
    ("mdm", #"{"mdm":"magic"}"#),
    (
      "liveactivity",
      #"{"aps":{"timestamp":1795000000,"event":"update","content-state":{},"stale-date":1,"relevance-score":3}}"#
    ),
    ("liveactivity", #"{"aps":{"timestamp":1795000000,"event":"end","dismissal-date":2}}"#),
    (
      "liveactivity",
      #"{"aps":{"timestamp":1,"event":"start","content-state":{},"alert":{"title":"x"},"attributes-type":"T","attributes":{},"input-push-token":1}}"#
    ),
    ("widgets", #"{"aps":{"content-changed":true}}"#),
    ("controls", #"{"aps":{"content-changed":true}}"#),
    ("nowplaying", #"{"aps":{"timestamp":1795000000,"event":"update","attributes":{"id":"x"}}}"#),
  ]

  private static let values: [JSONValue?] = [
    nil, nil as JSONValue, true, false, 0, 1, 2, 5, 10, -1, 100, 99_999_999_999, 100_000_000_000,
    31_536_000, 31_536_001, 0.5, 1.5, "", "x", "ab", "abc", "zz", " a", "a\u{7F}", "<ab cd>", "a b",
    "start", "update", "end", "alert", "background", "liveactivity", "voip", "pass.x", "AAAA",
    "AA==", "A===", "production", "bulk", "0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a",
    .string(String(repeating: "a", count: 65)), .string(String(repeating: "a", count: 129)),
    .string(String(repeating: "a", count: 512)), .string(String(repeating: "a", count: 514)),
    [], ["ab"], ["ab", "cd"], ["ab", "zz"], [1], ["ab", nil],
    999_999_999, "2026-12-24T18:00:00+01:00", "2026-12-24T18:00:00.5Z",
    "2026-12-24T24:00:00Z", "2026-12-24",
    [:], ["id": "x"], ["id": ""], ["id": 1], ["critical": 1], ["critical": 2], ["critical": nil],
    ["critical": 0, "name": 1], ["critical": 1, "volume": 2], ["critical": 1, "volume": 0.25],
    ["title": "x"], ["apns-x": "y"], ["apns-X": "y"], ["apns-topic": "y"], ["apns-x": 1],
    ["apns-collapse-id": "y"], ["apns-": "y"], ["apns-a": "1", "apns-b": "~ ~"],
    .object(JSONObject((0..<9).map { .init(key: "apns-\($0)", value: "x") })),
  ]

  /// Members without rules by value: a topic belongs to app and type, which no schema can say.
  private static let places = [
    "app", "token", "tokens", "channel", "payload", "id", "environment", "type", "priority",
    "expiration", "expires_in", "collapse_id", "headers", "data", "lane", "apns_id", "colour",
    "send_at", "user", "users", "activity", "event",
    "headers.apns-x", "data.x", "payload.aps",
    "payload.mdm", "payload.own", "payload.aps.alert", "payload.aps.badge", "payload.aps.sound",
    "payload.aps.sound.critical", "payload.aps.sound.volume", "payload.aps.content-available",
    "payload.aps.content-changed", "payload.aps.timestamp", "payload.aps.event",
    "payload.aps.content-state", "payload.aps.attributes-type", "payload.aps.attributes",
    "payload.aps.attributes.id", "payload.aps.input-push-token", "payload.aps.input-push-channel",
    "payload.aps.stale-date", "payload.aps.dismissal-date", "payload.aps.relevance-score",
    "payload.aps.mutable-content",
  ]

  private static func bases() throws -> [JSONValue] {
    let targets = [#""token":"abcd""#, #""tokens":["abcd"]"#, #""tokens":["abcd","0123"]"#]
    var bases = try payloads.enumerated().map { index, entry in
      try RecordTable.parse(
        #"{"app":"a.b",\#(targets[index % 3]),"type":"\#(entry.type)","payload":\#(entry.payload)}"#
      )
    }
    let activity = payloads[9].payload
    for more in [
      #""token":"abcd","id":"r","send_at":1000000000,"payload":{"aps":{"alert":"x"}}"#,
      #""token":"abcd","payload":{"aps":{"alert":"x"}}"#,
      #""user":"ann","id":"r","payload":{"aps":{"alert":"x"}}"#,
      #""users":["ann"],"id":"r","send_at":1000000000,"payload":{"aps":{"alert":"x"}}"#,
      #""tokens":["abcd"],"user":"ann","id":"r","payload":{"aps":{"alert":"x"}}"#,
      #""user":"ann","activity":"x","id":"r","type":"liveactivity","payload":\#(activity)"#,
      #""user":"ann","activity":"x","event":"update","id":"r","channel":"AAAA","type":"liveactivity","payload":\#(activity)"#,
      #""user":"ann","activity":"x","id":"r","token":"abcd","type":"liveactivity","payload":\#(activity)"#,
      #""tokens":[],"users":["ann","bob"],"id":"r","payload":{"aps":{"alert":"x"}}"#,
      #""token":"abcd","apns_id":"0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a","payload":{"aps":{"badge":0}}"#,
      #""token":"abcd","expiration":1900000000,"expires_in":null,"payload":{"aps":{"badge":0}}"#,
      #""token":"abcd","headers":{"apns-x":"y"},"data":{"x":"y"},"payload":{"aps":{"badge":0}}"#,
      #""channel":"AAAA","payload":\#(activity)"#,
      #""channel":"AAAA","priority":1,"id":"1","type":"liveactivity","payload":\#(activity)"#,
    ] {
      bases.append(try RecordTable.parse(#"{"app":"a.b",\#(more)}"#))
    }
    bases.append(try RecordTable.parse(#"{"app":"pass.a","token":"abcd","payload":{}}"#))
    return bases
  }

  @Test func `what the schema takes the parser takes, and nothing else`() throws {
    var table = RecordTable()
    for base in try Self.bases() { table.add(base, places: Self.places, values: Self.values) }
    let texts = table.records.map(\.text)
    let verdicts = try Documents.verdicts("request", texts: texts)
    var accepted = 0
    for (text, verdict) in zip(texts, verdicts) {
      let isTaken = isAccepted(text)
      accepted += isTaken ? 1 : 0
      #expect(verdict == isTaken, "\(String(decoding: text, as: UTF8.self))")
    }
    #expect(texts.count > 30_000)
    #expect(accepted > texts.count / 10 && accepted < texts.count * 9 / 10, "\(accepted)")
  }

  /// What the schema's description lists. The parser is the stricter one.
  @Test func `the listed exceptions are where the two differ`() throws {
    let start = #"{"app":"a.b","token":"abcd","payload":{"aps":{"badge":1}}"#
    let long = String(repeating: "x", count: 5_000)
    let half = String(repeating: "x", count: 200)
    let umlauts = String(repeating: "ü", count: 64)
    let differing = [
      start + #","topic":"c.d"}"#, start + #","id":"\#(umlauts)x"}"#,
      start + #","id":"a","id":"b"}"#,
      start + #","headers":{"apns-x":"\#(half)","apns-y":"\#(half)"}}"#,
      start + #","data":{"x":"\#(half)","y":"\#(half)","z":"\#(half)"}}"#,
      start + #","id":"r","send_at":"2026-02-30T00:00:00Z"}"#,
      start + #","id":"r","send_at":1900000000,"expiration":1900000000}"#,
      start + #","data":{"x":"y","x":"z"}}"#, start + #","headers":{"apns-x":"y","apns-x":"z"}}"#,
      #"{"app":"a.b","token":"abcd","payload":{"aps":{"alert":"\#(long)"}}}"#,
      #"{"app":"a.b","token":"abcd","payload":{"aps":{"badge":1,"badge":2}}}"#,
    ].map { Array($0.utf8) }
    #expect(try Documents.verdicts("request", texts: differing).allSatisfy { $0 })
    for text in differing { #expect(!isAccepted(text), "\(String(decoding: text, as: UTF8.self))") }
  }

  @Test func `the schema lists the parser's fields and types`() throws {
    let schema = try RecordTable.parse(try Repository.text("docs/schemas/request.json"))
    #expect(Set(schema["properties"]?.object?.keys ?? []) == Set(RequestField.allCases.map(\.name)))
    let types = schema["properties"]?["type"]?["enum"]?.array?.compactMap(\.string)
    #expect(types == PushType.allCases.map(\.description))
  }
}
