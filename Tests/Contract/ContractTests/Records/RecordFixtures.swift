// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records

/// A record of a topic as a version of Martlet writes it: a line of Tests/Fixtures/Records.
struct RecordFixture: Equatable {
  /// The topic without its prefix.
  var topic: String
  /// The case that it shows, as a name for people.
  var name: String
  var key: String?
  /// nil: a tombstone.
  var value: String?
  var headers: [[String]] = []
  /// The notification that ingest makes of a request.
  var makes: String?

  init(_ topic: String, _ name: String, key: String?, value: String?) {
    self.topic = topic
    self.name = name
    self.key = key
    self.value = value
  }

  init(_ topic: String, _ name: String, key: [UInt8], value: [UInt8]?) {
    self.init(
      topic, name, key: String(decoding: key, as: UTF8.self),
      value: value.map { String(decoding: $0, as: UTF8.self) })
  }

  var line: String {
    var object = JSONObject()
    object.append("topic", .string(topic))
    object.append("name", .string(name))
    object.append("key", key.map { .string($0) } ?? .null)
    object.append("value", value.map { .string($0) } ?? .null)
    if !headers.isEmpty {
      object.append("headers", .array(headers.map { .array($0.map { .string($0) }) }))
    }
    if let makes { object.append("makes", .string(makes)) }
    return String(decoding: JSONValue.object(object).text, as: UTF8.self)
  }

  init(line: String) throws {
    let object = try JSONDocument(line).root
    self.init(
      object["topic"]?.string ?? "", object["name"]?.string ?? "", key: object["key"]?.string,
      value: object["value"]?.string)
    headers = (object["headers"]?.array ?? []).map { ($0.array ?? []).map { $0.string ?? "" } }
    makes = object["makes"]?.string
  }
}

/// A record of each kind, as this version writes it.
enum WrittenRecords {
  static let all: [RecordFixture] =
    requests + notifications + receipts + tokens + credentials + controls + schedule + deadLetters
    + audiences

  private static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
  private static let id = "0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a"
  private static let created: Int64 = 1_795_000_000_000
  private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  private static let device = DeviceKey(
    token: token, app: "com.example.app", environment: .production)

  private static let requests: [RecordFixture] =
    [
      ("the required fields", #""token":"\#(token)","payload":{"aps":{"alert":"Hello"}}"#),
      (
        "every field",
        #""id":"order-\u00e9","environment":"sandbox","token":"\#(token)","type":"alert","topic":"com.example.app","payload":{"aps":{"alert":{"title":"x"},"badge":1},"own":[1, 2]},"priority":5,"expiration":1900000000,"collapse_id":"specials","lane":"bulk","headers":{"apns-new-thing":"on"},"data":{"order":"8812"},"apns_id":"\#(id)""#
      ),
      ("several tokens", #""tokens":["\#(token)","ab"],"payload":{"aps":{"badge":0}}"#),
      (
        "a time",
        #""id":"order-1","token":"\#(token)","payload":{"aps":{"badge":0}},"send_at":"2026-11-18T11:26:40+01:00""#
      ),
      ("users", #""id":"order-1","users":["ann","b\u00f6b"],"payload":{"aps":{"badge":0}}"#),
      (
        "a user whose devices were looked up",
        #""tokens":["\#(token)"],"id":"order-1","user":"ann","payload":{"aps":{"badge":0}}"#
      ),
      ("a life in seconds", #""token":"\#(token)","payload":{"aps":{"badge":0}},"expires_in":60"#),
      (
        "a broadcast",
        #""channel":"dHN0LXNyY2gtY2hubA==","payload":{"aps":{"timestamp":1795000060,"event":"update","content-state":{}}}"#
      ),
      (
        "a background push",
        #""token":"\#(token)","type":"background","payload":{"aps":{"content-available":1}}"#
      ),
    ].map { name, fields in
      var record = RecordFixture(
        "requests", name, key: "order", value: #"{"app":"com.example.app",\#(fields)}"#)
      if name == "every field" { record.headers = [["traceparent", trace]] }
      record.makes = notification(of: record)
      return record
    } + [campaignRequest]

  private static let campaignRequest: RecordFixture = {
    let text = #"""
      {"campaign":"spring","request":{"app":"com.example.app","payload":{"aps":{"alert":"Hello"}}},
        "audience":{"topic":"push.audiences"}}
      """#
    let campaign = try! Array(text.utf8).withUnsafeBytes {
      try CampaignRecord(json: $0, at: created, by: "ann", parser: JSONParser())
    }
    var record = RecordFixture(
      "campaign-requests", "a device of a campaign", key: nil,
      value: String(decoding: campaign.request(tokens: Array("\"\(token)\"".utf8)), as: UTF8.self))
    record.makes = notification(of: record)
    return record
  }()

  /// The notification of a request's first device; nil if the request is refused.
  static func notification(of record: RecordFixture) -> String? {
    let reader = RequestReader()
    reader.takesCampaigns = record.topic == "campaign-requests"
    let trace = record.headers.first { $0.first == "traceparent" }?.last ?? ""
    return Array((record.value ?? "").utf8).withUnsafeBytes { value in
      guard let request = try? reader.read(value) else { return nil }
      var encoder = EnvelopeEncoder()
      Array(trace.utf8).withUnsafeBytes {
        encoder.begin(request, created: created, traceParent: $0)
      }
      encoder.setID(request.apnsID ?? NotificationID(id)!)
      return String(decoding: encoder.value, as: UTF8.self)
    }
  }

  private static let notifications: [RecordFixture] =
    requests.flatMap { request in
      let key = request.name == "a broadcast" ? "dHN0LXNyY2gtY2hubA==" : token
      let isBulk = request.name == "every field" || request.topic == "campaign-requests"
      let topic = isBulk ? "notifications.bulk" : "notifications"
      let value = request.makes ?? ""
      return [
        RecordFixture(topic, request.name, key: key, value: value),
        RecordFixture(
          "retries.5s", request.name, key: key, value: rewritten(value, asReplay: false)),
        RecordFixture(
          topic, "\(request.name), replayed", key: key, value: rewritten(value, asReplay: true)),
      ]
    } + [
      RecordFixture(
        "notifications", "an id that is free again", key: token,
        value: "F1\t\(id)\tproduction\tcom.example.app")
    ]

  private static func rewritten(_ value: String, asReplay: Bool) -> String {
    let record = Array(value.utf8)
    guard let envelope = try? Envelope.parse(record.span) else { return "" }
    var buffer = ByteBuffer()
    record.withUnsafeBytes { record in
      if asReplay {
        EnvelopeEncoder.encodeReplay(
          of: record, envelope, created: created + 5, mark: "3/17", into: &buffer)
      } else {
        Array("TooManyRequests".utf8).withUnsafeBytes {
          EnvelopeEncoder.encodeRetry(
            of: record, envelope, attempt: 2, firstSeen: created + 9, reason: $0, into: &buffer)
        }
      }
    }
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  /// A line for each outcome in one record, and one of a broadcast.
  private static let receipts: [RecordFixture] = [
    RecordFixture("receipts", "every outcome", key: nil, value: receiptLines(channel: false)),
    RecordFixture("receipts", "broadcasts", key: nil, value: receiptLines(channel: true)),
  ]

  private static func receiptLines(channel: Bool) -> String {
    let texts = [
      "transactional", id, #"order-\u00e9"#, "com.example.app", channel ? "c2hu" : token,
      "Unregistered", "the token is \"old\"", "u-1", "a-1", "r-1",
      "data={\"order\":\"8812\"}\treplay=3/17\ttraceparent=\(trace)",
    ].map { Array($0.utf8) }
    let kept = texts.map { text in
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
      memory.copyBytes(from: text)
      return UnsafeRawBufferPointer(memory)
    }
    defer { for memory in kept { memory.deallocate() } }
    var buffer = ByteBuffer()
    for outcome in Outcome.allCases {
      var line = ReceiptLine(outcome, at: created + 45)
      (line.lane, line.apnsID, line.escapedID, line.app) = (kept[0], kept[1], kept[2], kept[3])
      if channel { line.channel = kept[4] } else { line.token = kept[4] }
      line.environment = .production
      line.created = created
      line.attempts = 1
      line.status = outcome == .delivered ? 200 : 410
      if outcome != .delivered {
        (line.reason, line.detail) = (kept[5], kept[6])
        (line.uniqueID, line.answeredID, line.gatewayRequestID) = (kept[7], kept[8], kept[9])
        line.timestamp = created - 1
        line.retryAfter = 30
        line.carried = CarriedFields(kept[10])
      }
      ReceiptEncoder.append(line, into: &buffer)
    }
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  private static let tokens: [RecordFixture] = {
    var feedback = FeedbackRecord(
      device: device, topic: "com.example.app", status: 410, reason: "Unregistered",
      timestamp: created, apnsID: id, sentAt: created, at: created + 45)
    let gone = RecordFixture(
      "feedback", "410 with its time", key: feedback.key, value: feedback.value)
    feedback.timestamp = nil
    feedback.status = 400
    feedback.reason = "BadDeviceToken"
    let bad = RecordFixture("feedback", "without a time", key: feedback.key, value: feedback.value)
    feedback.isImported = true
    let imported = RecordFixture("feedback", "imported", key: feedback.key, value: feedback.value)
    let details = DeviceDetails(named: { ["user": "ann", "locale": "en_GB"][$0] })
    let devices = [
      ("a registration", DeviceRecord.Event.registered(at: created), DeviceDetails.none),
      ("a registration with details", .registered(at: created), details),
      ("a removal", .removed(at: created), .none),
    ].map { name, event, details in
      let record = DeviceRecord(device: device, event: event, details: details)
      return RecordFixture("devices", name, key: record.key, value: record.value)
    }
    let invalid = InvalidTokenRecord(
      device: device, invalidSince: created, reason: "Unregistered", at: created + 45)
    let removal = InvalidTokenRecord(
      device: device, invalidSince: created, reason: DeviceRelease.removedReason, at: created,
      aliveFrom: created)
    var removed = RecordFixture(
      "invalid-tokens", "a removed device", key: removal.key, value: removal.value)
    removed.headers = [["\(DeviceRelease.header)", DeviceRelease(.removed, at: created).text]]
    var changed = RecordFixture("invalid-tokens", "another owner", key: device.bytes, value: nil)
    changed.headers = [["\(DeviceRelease.header)", DeviceRelease(.ownerChanged, at: created).text]]
    return [gone, bad, imported, removed, changed] + devices + [
      RecordFixture("devices", "a tombstone", key: device.bytes, value: nil),
      RecordFixture("invalid-tokens", "an invalid token", key: invalid.key, value: invalid.value),
      RecordFixture("invalid-tokens", "a tombstone", key: device.bytes, value: nil),
    ]
  }()

  private static let credentials: [RecordFixture] = {
    let name = "TEAM000001/KEY0000001/production"
    var token = ProviderTokenRecord(
      credential: name, teamID: "TEAM000001", keyID: "KEY0000001", scope: .production,
      apps: ["com.example.app"], issuedAt: created / 1_000, generation: 7, token: "a.b-_c.d")
    let plain = RecordFixture("provider-tokens", "a token", key: token.key, value: token.value)
    token.token = ""
    token.sealed = sealed
    let closed = RecordFixture(
      "provider-tokens", "a sealed token", key: token.key, value: token.value)
    let withdrawn = ProviderTokenRecord(withdrawing: name, at: created / 1_000)!
    let missing = TokenRequest(
      credential: nil, app: "com.example.app", environment: .sandbox,
      reason: TokenRequest.missing, at: created)
    let aging = TokenRequest(
      credential: name, app: nil, environment: nil, reason: TokenRequest.aging, at: created)
    return [
      plain, closed,
      RecordFixture("provider-tokens", "a withdrawal", key: withdrawn.key, value: withdrawn.value),
      RecordFixture("provider-tokens", "a tombstone", key: token.key, value: nil),
      RecordFixture("token-requests", "of an app", key: missing.key, value: missing.value),
      RecordFixture("token-requests", "of a credential", key: aging.key, value: aging.value),
    ]
  }()

  /// The token of the record beside it, sealed once under 32 bytes of 7: each sealing is another text. `SealedRecordTests`
  /// opens it.
  private static let sealed = "v1.2694c662471cdc46.AQEBAQEBAQEBAQEBF8_rms_cwmrB76Vx1b7ScuDcFqNW_pNE"

  private static let controls: [RecordFixture] = [
    ("an app is paused", "com.example.app:production", pause("true")),
    ("a lane is paused", "lane:bulk", pause("true")),
    ("an app is resumed", "com.example.app:production", pause("false")),
    ("a tombstone", "lane:bulk", nil),
  ].map { RecordFixture("controls", $0, key: $1, value: $2) }

  private static let schedule: [RecordFixture] = [
    ("a request waits", "S1\t1795000600000\t\(created)\t\t\(trace)\n\(scheduled)"),
    ("a request was handed back", "S1\t1795000600000\t\(created)\t1795000500000\t\n\(scheduled)"),
    (
      "a request to users",
      "S1\t\(created)\t\(created)\t\t\talert\t\t\tann\tb\u{f6}b\n"
        + #"{"app":"com.example.app","id":"order-1","users":["ann","b\u00f6b"],"payload":{"aps":{"alert":"x"}}}"#
    ),
    (
      "the last state of an activity",
      "A1\t\(created)\t\(created)\tupdate\t\t\n"
        + #"{"app":"com.example.app","id":"order-1","type":"liveactivity","user":"ann","activity":"order-1","payload":{}}"#
    ),
    ("a request is cancelled", "C1\t\(created)\tann@ops1\n"), ("a tombstone", nil),
  ].map { RecordFixture("schedule", $0, key: "com.example.app:production:order-1", value: $1) }

  private static let scheduled =
    #"{"app":"com.example.app","id":"order-1","token":"\#(token)","payload":{"aps":{"alert":"x"}},"send_at":1795000600}"#

  private static let audiences: [RecordFixture] = ["a file of tokens", "your own"].map { name in
    var record = RecordFixture("audiences", name, key: "spring-sale", value: "\(token)\nabcd")
    if name != "your own" { record.headers = [["\(CampaignRecord.startHeader)", "\(created)"]] }
    return record
  }

  private static func pause(_ flag: String) -> String {
    #"{"paused":\#(flag),"at":\#(created),"by":"ann@ops1","reason":"wrong text"}"#
  }

  /// One for each reason, with every header.
  private static let deadLetters: [RecordFixture] = DeadLetterReason.allCases.map { reason in
    let origin = DeadLetterOrigin(topic: "push.requests", partition: 3, offset: 17)
    let stages = DeadLetterStage.allCases
    let stage = stages[(DeadLetterReason.allCases.firstIndex(of: reason) ?? 0) % stages.count]
    var letter = DeadLetter(
      reason, "token: has 2 digits", by: stage, attempts: 4, from: origin, at: created)
    letter.token = "ab"
    letter.requestID = "order-1"
    letter.apnsID = id
    letter.traceParent = trace
    var record = RecordFixture(
      "dead-letters", reason.rawValue, key: token, value: requests[0].value)
    record.headers = letter.headers.map { [$0.name, $0.value] }
    return record
  }
}
