// SPDX-License-Identifier: Apache-2.0

import Contract
import Records
import Testing

/// Records of the other topics.
@Suite struct RecordTests {
  private static let device = DeviceKey(
    token: "00aaff", app: "com.example.app", environment: .sandbox)

  private func decode<Value>(
    _ value: [UInt8], _ read: (UnsafeRawBufferPointer, JSONParser) throws(RecordError) -> Value
  ) throws(RecordError) -> Value {
    try value.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in try read(bytes, JSONParser()) }
    }.get()
  }

  @Test func `about devices share one key`() {
    let expected = Array("00aaff:com.example.app:sandbox".utf8)
    #expect(DeviceRecord(device: Self.device, event: .removed(at: 1)).key == expected)
    let invalid = InvalidTokenRecord(
      device: Self.device, invalidSince: 1, reason: "Unregistered", at: 2)
    #expect(invalid.key == expected)
  }

  @Test func `of feedback come back as they were, with and without a timestamp`() throws {
    var record = FeedbackRecord(
      device: Self.device, topic: "com.example.app", status: 410, reason: "Unregistered",
      timestamp: 7, apnsID: "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e", sentAt: 8, at: 9)
    let again = try decode(record.value) { bytes, parser throws(RecordError) in
      try FeedbackRecord(bytes, parser: parser)
    }
    #expect(again == record)
    let golden =
      #"{"token":"00aaff","app":"com.example.app","environment":"sandbox","topic":"com.example.app","#
      + #""status":410,"reason":"Unregistered","timestamp":7,"#
      + #""apns_id":"0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e","sent_at":8,"at":9}"#
    #expect(String(decoding: record.value, as: UTF8.self) == golden)
    record.timestamp = nil
    let without = try decode(record.value) { bytes, parser throws(RecordError) in
      try FeedbackRecord(bytes, parser: parser)
    }
    #expect(without == record)
  }

  /// Behind the parser there is arithmetic.
  @Test func `a number that cannot be is refused by the name of its field`() {
    let device = #""token":"00aaff","app":"a","environment":"sandbox""#
    let records: [(text: String, fields: [String], read: (UnsafeRawBufferPointer) throws -> Void)] =
      [
        (
          #"{\#(device),"topic":"a","status":410,"reason":"x","timestamp":1,"sent_at":1,"at":1}"#,
          ["timestamp", "sent_at", "at", "status"],
          { _ = try FeedbackRecord($0, parser: JSONParser()) }
        ),
        (
          #"{\#(device),"registered_at":1}"#, ["registered_at"],
          { _ = try DeviceRecord($0, parser: JSONParser()) }
        ),
        (
          #"{\#(device),"removed_at":1}"#, ["removed_at"],
          { _ = try DeviceRecord($0, parser: JSONParser()) }
        ),
        (
          #"{\#(device),"invalid_since":1,"at":1,"alive_from":1}"#,
          ["invalid_since", "at", "alive_from"],
          { _ = try InvalidTokenRecord($0, parser: JSONParser()) }
        ),
        (
          #"{"credential":"X","reason":"missing","at":1}"#, ["at"],
          { _ = try TokenRequest($0, parser: JSONParser()) }
        ),
        (
          #"{"outcome":"delivered","at":1,"created":1,"timestamp":1,"attempts":1,"retry_after":1}"#,
          ["at", "created", "timestamp", "attempts", "retry_after"],
          { _ = try Receipt($0, parser: JSONParser()) }
        ),
        (
          #"{"credential":"T/K/any","team_id":"T","key_id":"K","environment":"any","apps":[],"issued_at":1,"generation":1,"token":"t"}"#,
          ["issued_at", "generation"], { _ = try ProviderTokenRecord($0, parser: JSONParser()) }
        ),
      ]
    for (text, fields, read) in records {
      for field in fields {
        let value = field == "status" ? "410" : "1"
        for number in ["-9223372036854775808", "-1", "9223372036854775807", "1e400", "1.5"] {
          let bytes = Array(
            text.replacing("\"\(field)\":\(value)", with: "\"\(field)\":\(number)").utf8)
          let problem = #expect(throws: RecordError.self, "\(field) \(number)") {
            try bytes.withUnsafeBytes { try read($0) }
          }
          // A number that is none makes the whole record one that is no JSON.
          #expect(problem?.field == field || number == "1e400", "\(field) \(number)")
        }
      }
    }
  }

  @Test func `a withdrawal of a credential comes back as it was, and is no token`() throws {
    let record = try #require(ProviderTokenRecord(withdrawing: "T/K/any", at: 1_795_000_000))
    let again = try decode(record.value) { bytes, parser throws(RecordError) in
      try ProviderTokenRecord(bytes, key: "T/K/any", parser: parser)
    }
    #expect(again == record && again.isRemoved && again.token.isEmpty)
    for name in ["", "T/K", "T/K/elsewhere", "/K/any", "T//any", "T/K/any/x"] {
      #expect(ProviderTokenRecord(withdrawing: name, at: 1) == nil, "\(name)")
    }
  }

  @Test func `a tag may begin with a combining mark`() throws {
    let tags = "vip \u{301}x"
    let record = DeviceRecord(
      device: Self.device, event: .registered(at: 1_795_000_000_000), details: .init(tags: tags))
    let again = try decode(record.value) { bytes, parser throws(RecordError) in
      try DeviceRecord(bytes, parser: parser)
    }
    #expect(again.details.tags == tags)
  }

  @Test func `of registrations and invalid tokens come back as they were`() throws {
    for event in [DeviceRecord.Event.registered(at: 5), .removed(at: 6)] {
      let record = DeviceRecord(device: Self.device, event: event)
      let again = try decode(record.value) { bytes, parser throws(RecordError) in
        try DeviceRecord(bytes, parser: parser)
      }
      #expect(again == record)
    }
    let record = InvalidTokenRecord(
      device: Self.device, invalidSince: 3, reason: "ExpiredToken", at: 4)
    let again = try decode(record.value) { bytes, parser throws(RecordError) in
      try InvalidTokenRecord(bytes, parser: parser)
    }
    #expect(again == record)
  }

  @Test func `of provider tokens and requests for them come back as they were`() throws {
    let record = ProviderTokenRecord(
      credential: "TEAM000001/KEY0000001/any", teamID: "TEAM000001", keyID: "KEY0000001",
      scope: .any, apps: ["com.example.app", "*"], issuedAt: 1_795_224_000, generation: 3,
      token: "eyJ.eyJ.c2ln-_")
    let again = try decode(record.value) { bytes, parser throws(RecordError) in
      try ProviderTokenRecord(bytes, parser: parser)
    }
    #expect(again == record)
    for request in [
      TokenRequest(
        credential: "a/b/any", app: nil, environment: nil, reason: "ExpiredProviderToken", at: 1),
      TokenRequest(
        credential: nil, app: "com.example.app", environment: .sandbox, reason: "missing", at: 2),
    ] {
      let again = try decode(request.value) { bytes, parser throws(RecordError) in
        try TokenRequest(bytes, parser: parser)
      }
      #expect(again == request)
    }
    let keyed = TokenRequest(
      credential: nil, app: "com.example.app", environment: .sandbox, reason: "missing", at: 2)
    #expect(String(decoding: keyed.key, as: UTF8.self) == "com.example.app/sandbox")
  }

  @Test func `records never put a token into a header that could break it`() {
    let text =
      #"{"credential":"c","team_id":"t","key_id":"k","environment":"any","apps":["*"],"issued_at":1,"#
      + #""generation":1,"token":"abc\r\nx: y"}"#
    #expect(throws: RecordError.self) {
      try decode(Array(text.utf8)) { bytes, parser throws(RecordError) in
        try ProviderTokenRecord(bytes, parser: parser)
      }
    }
  }

  @Test(arguments: [
    (Int64.max, Int64(1)), (253_402_300_800, 1), (-1, 1), (.min, 1), (1, .max), (1, -1),
  ])
  func `of provider tokens have times and generations that others can reckon with`(
    issuedAt: Int64, generation: Int64
  ) {
    let record = ProviderTokenRecord(
      credential: "c", teamID: "t", keyID: "k", scope: .any, apps: ["*"], issuedAt: issuedAt,
      generation: generation, token: "a.b.c")
    #expect(throws: RecordError.self) {
      try decode(record.value) { bytes, parser throws(RecordError) in
        try ProviderTokenRecord(bytes, parser: parser)
      }
    }
  }

  @Test(arguments: [
    (#"{"app":"a","environment":"sandbox","registered_at":1}"#, "token"),
    (#"{"token":"xyz","app":"a","environment":"sandbox","registered_at":1}"#, "token"),
    (#"{"token":"ab","environment":"sandbox","registered_at":1}"#, "app"),
    (#"{"token":"ab","app":"a","environment":"moon","registered_at":1}"#, "environment"),
    (#"{"token":"ab","app":"a","environment":"sandbox"}"#, "registered_at"),
    (#"{"token":"ab","app":"a","environment":"sandbox","registered_at":"1"}"#, "registered_at"),
    (
      #"{"token":"ab","app":"a","environment":"sandbox","registered_at":1,"removed_at":2}"#,
      "removed_at"
    ),
    (#"{"token":"ab","token":"ab","app":"a","environment":"sandbox","removed_at":2}"#, "token"),
  ])
  func `records that are damaged are refused by field`(text: String, field: String) {
    do throws(RecordError) {
      _ = try decode(Array(text.utf8)) { bytes, parser throws(RecordError) in
        try DeviceRecord(bytes, parser: parser)
      }
      Issue.record("\(text) was read")
    } catch {
      #expect(error.field == field)
    }
  }
}

@Suite struct GatewayAnswerTests {
  private func answer(_ status: UInt16, _ body: String) -> GatewayAnswer {
    Array(body.utf8).withUnsafeBytes {
      GatewayAnswer(status: status, id: .sent, body: $0, parser: JSONParser())
    }
  }

  @Test func `answers give reason and timestamp, whatever else they hold`() {
    let gone = answer(410, #"{"reason":"Unregistered","timestamp":1794999000123,"more":[1]}"#)
    #expect(gone.response.reason == .unregistered)
    #expect(gone.response.timestamp == 1_794_999_000_123)
    let new = answer(400, #"{"reason":"SomethingNew"}"#)
    #expect(new.response.reason == nil)
    #expect(new.reasonText == "SomethingNew")
    #expect(new.response.verdict == .rejected(aboutToken: false))
  }

  @Test func `without a readable body are not of APNs, and the log shows how they begin`() {
    for body in [
      "", "<html>", #"{"reason":"Unregi"#, "[]", #"{"reason":7}"#, #"{"reason":""}"#, "null",
      #"{"reason":"Unregistered"} and more"#,
    ] {
      let found = answer(410, body)
      #expect(found.reasonText.isEmpty)
      #expect(found.response.verdict == .foreign)
      #expect(found.excerpt == body)
    }
    let steering = "a\u{1B}[2J\r\n\0é" + String(repeating: "x", count: 200)
    let shown = answer(403, steering).excerpt
    #expect(shown.utf8.count == GatewayAnswer.excerptLength)
    #expect(shown.hasPrefix("a?[2J?????xxx"))
  }
}
