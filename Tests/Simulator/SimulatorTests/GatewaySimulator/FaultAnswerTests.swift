// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewayModel
import GatewaySimulator
import HTTP2
import Records
import Testing

/// Faults that are answers: what the client is told.
@Suite struct FaultAnswerTests {
  private static let hot = String(repeating: "ab", count: 32)
  private static let cold = String(repeating: "cd", count: 32)

  @Test func `any_answer: any status and reason, by rate, device token, topic and number`() throws {
    let rig = try FaultRig(
      """
      [{"id":"any_answer","status":400,"reason":"BadDeviceToken","when":{"token":"\(Self.hot)"}},
       {"id":"any_answer","reason":"TopicDisallowed","when":{"topic":"com.example.app.voip"}},
       {"id":"any_answer","status":500,"reason":"InternalServerError","when":{"token_prefix":"cd","nth":2}},
       {"id":"any_answer","status":503,"body":"<html>","when":{"push_type":"background"}}]
      """)
    let client = try rig.client()
    #expect(try client.send(client.push).status == 200)
    let bad = try client.send(client.push(to: Self.hot))
    #expect(bad.status == 400)
    #expect(bad.body == #"{"reason":"BadDeviceToken"}"#)
    let voip = try client.send(
      client.push.with("apns-topic", "com.example.app.voip").with("apns-push-type", "voip"))
    #expect(voip.body == #"{"reason":"TopicDisallowed"}"#)
    let statuses = try (0..<3).map { _ in try client.send(client.push(to: Self.cold)).status }
    #expect(statuses == [200, 500, 200])
    let proxy = try client.send(
      client.push.with("apns-push-type", "background").with("apns-priority", "5"))
    #expect(proxy.status == 503)
    #expect(proxy.body == "<html>")
    #expect(try rig.fired == [1, 1, 1, 1])
  }

  @Test func `any_answer: without an apns-id, and with a retry-after`() throws {
    let rig = try FaultRig(
      """
      [{"id":"any_answer","status":200,"apns_id":"missing","when":{"nth":1}},
       {"id":"any_answer","reason":"TooManyRequests","retry_after":30,"when":{"nth":2}},
       {"id":"any_answer","reason":"Unregistered","apns_id":"missing","retry_after":"soon","when":{"nth":3}},
       {"id":"any_answer","reason":"Shutdown","when":{"nth":4}}]
      """)
    let client = try rig.client()
    let expected: [(status: UInt16, hasID: Bool, wait: UInt32)] = [
      (200, false, 0), (429, true, 30), (410, false, 0), (503, true, 0), (200, true, 0),
    ]
    for (status, hasID, wait) in expected {
      let exchange = client.begin(client.push)
      try client.wait { exchange.pointee.fate != .pending }
      #expect(exchange.pointee.status == status)
      #expect(exchange.pointee.hasID == hasID, "\(status)")
      #expect(exchange.pointee.retryAfter(now: 0) == wait, "\(status)")
    }
    let reasons = try rig.gateway.jsonLines("/requests").map { $0["reason"]?.string }
    #expect(reasons == [nil, "TooManyRequests", "Unregistered", "Shutdown", nil])
    #expect(try rig.gateway.json("/counters")["reasons"]?["TooManyRequests"]?.int == 1)
    for rule in [#""retry_after":true"#, #""retry_after":"a\u0001""#, #""apns_id":"other""#] {
      #expect(throws: (any Error).self) {
        _ = try FaultScript(JSONDocument(#"[{"id":"any_answer","status":429,\#(rule)}]"#).root)
      }
    }
  }

  @Test(arguments: [#""status":200"#, #""reason":"Unregistered""#])
  func `any_answer: a 200 or 410 in a form of its own ends the limit of one stream`(
    answer: String
  ) throws {
    let client = try FaultRig(#"[{"id":"any_answer",\#(answer),"apns_id":"missing"}]"#).client()
    _ = try client.send(client.push)
    try client.wait { client.limits == [1, 1_000] }
  }

  @Test func `any_answer: errors in a form of their own count, too, and end the connection`() throws
  {
    let rig = try FaultRig(#"[{"id":"any_answer","reason":"BadDeviceToken","apns_id":"missing"}]"#)
    try rig.gateway.set("error-limit", "4")
    let client = try rig.client()
    #expect(try client.send(client.push).status == 400)
    try client.wait { client.connection.isClosed }
  }

  @Test func `what resets or silences a request leaves no answer to cut off or lose`() throws {
    let rig = try FaultRig(
      """
      [{"id":"stream_reset","when":{"nth":1}},
       {"id":"lost_answer","with":"disconnect","when":{"nth":1}},
       {"id":"stream_reset","moment":"after_status","when":{"nth":2}},
       {"id":"black_hole","what":"answers","when":{"nth":2}}]
      """)
    let client = try rig.client()
    let refused = client.begin(client.push)
    try client.wait { refused.pointee.fate != .pending }
    #expect(refused.pointee.fate == .unprocessed)
    let silent = client.begin(client.push)
    try client.wait { try rig.gateway.json("/counters")["silent"]?.int == 1 }
    try client.pass(milliseconds: 100)
    #expect(silent.pointee.fate == .pending)
    #expect(!client.connection.isClosed)
    #expect(try rig.recorded == [0, 0])
  }

  @Test func `gone_timestamp: 410 with a timestamp before and after, and without one`() throws {
    let rig = try FaultRig(
      """
      [{"id":"gone_timestamp","timestamp":"-1h","when":{"nth":1}},
       {"id":"gone_timestamp","timestamp":"+1h","reason":"ExpiredToken","when":{"nth":2}},
       {"id":"gone_timestamp","timestamp":"missing","when":{"nth":3}},
       {"id":"gone_timestamp","timestamp":1234567890123,"when":{"nth":4}}]
      """)
    let client = try rig.client()
    let now = WallClock.milliseconds()
    let answers = try (0..<4).map { _ in try client.send(client.push) }
    #expect(answers.allSatisfy { $0.status == 410 })
    let times = answers.map { answer in
      answer.body.split(separator: ":").last.flatMap { Int64($0.dropLast()) }
    }
    let before = try #require(times[0])
    #expect(abs(now - 3_600_000 - before) < 10_000)
    let after = try #require(times[1])
    #expect(abs(now + 3_600_000 - after) < 10_000)
    #expect(answers[1].body.hasPrefix(#"{"reason":"ExpiredToken","timestamp":"#))
    #expect(answers[2].body == #"{"reason":"Unregistered"}"#)
    #expect(answers[3].body == #"{"reason":"Unregistered","timestamp":1234567890123}"#)
  }

  @Test func `unexpected_answer: undocumented statuses and bodies`() throws {
    let forms = ["unknown_reason", "unknown_status", "empty", "broken", "extra_keys", "huge"]
    let rules = forms.enumerated().map {
      #"{"id":"unexpected_answer","form":"\#($1)","when":{"nth":\#($0 + 1)}}"#
    }
    let client = try FaultRig("[\(rules.joined(separator: ","))]").client()
    let answers = try forms.map { _ in try client.send(client.push) }
    #expect(answers.map(\.status) == [400, 418, 400, 400, 400, 400])
    #expect(answers[0].body == #"{"reason":"BadMoonPhase"}"#)
    #expect(answers[2].body == "")
    #expect(answers[3].body == "{\"reason\":\"BadDevi")
    #expect(answers[4].body.hasPrefix(#"{"reason":"BadDeviceToken","hint":"#))
    // The client keeps 512 bytes; the answer has more than 8 KiB.
    #expect(answers[5].body.utf8.count == 512)
    #expect(try client.send(client.push).status == 200)
  }

  @Test func `reason_spelling: variant spellings of a reason`() throws {
    let rig = try FaultRig(
      """
      [{"id":"reason_spelling","when":{"nth":1}},
       {"id":"reason_spelling","spelling":"BadEnvironmentKeyInToken","when":{"nth":2}}]
      """)
    let client = try rig.client()
    let first = try client.send(client.push)
    #expect(first.status == 503)
    #expect(first.body == #"{"reason":"Service Unavailable"}"#)
    let second = try client.send(client.push)
    #expect(second.status == 403)
    #expect(second.body == #"{"reason":"BadEnvironmentKeyInToken"}"#)
  }

  @Test func `added_latency: constant, slow start, and a stall that ends for all requests at once`()
    throws
  {
    let rig = try FaultRig(#"[{"id":"added_latency","time":"1500ms","when":{"until_count":2}}]"#)
    let client = try rig.client()
    #expect(try client.took { try client.send(client.push) } >= 1_500)
    #expect(try client.took { try client.send(client.push) } >= 1_500)
    let isOver = try (0..<5).contains { _ in
      try client.took { try client.send(client.push) } < 1_500
    }
    #expect(isOver)
    try rig.add(
      #"[{"id":"added_latency","profile":"slow_start","initial":"300ms","duration":"10m"}]"#
    )
    let fresh = try rig.client()
    #expect(try fresh.took { try fresh.send(fresh.push) } >= 250)
    _ = try rig.gateway.admin("DELETE", "/faults")
    let open = try rig.openedClient()
    let start = MonotonicClock.milliseconds()
    try rig.add(#"[{"id":"added_latency","profile":"stall","period":"1h","duration":"1s"}]"#)
    let exchanges = (0..<5).map { _ in open.begin(open.push) }
    try open.wait { exchanges.contains { $0.pointee.status == 200 } }
    #expect(MonotonicClock.milliseconds() - start >= 1_000)
    try open.wait { exchanges.allSatisfy { $0.pointee.status == 200 } }
  }

  @Test
  func
    `unusual_frames: answers in many DATA frames, CONTINUATION, padding, with trailers and a 103`()
    throws
  {
    let rig = try FaultRig(
      """
      [{"id":"unusual_frames","forms":["many_data_frames","continuation","padding","trailers","informational"]},
       {"id":"any_answer","reason":"BadDeviceToken","when":{"every":2}}]
      """)
    let client = try rig.client()
    for number in 1...10 {
      let answer = try client.send(client.push)
      #expect(answer.status == (number.isMultiple(of: 2) ? 400 : 200))
      #expect(answer.body == (answer.status == 400 ? #"{"reason":"BadDeviceToken"}"# : ""))
    }
    #expect(client.notices.last != .closed(nil))
    #expect(try rig.fired == [10, 5])
  }

  @Test(.enabled(if: FaultRig.hasNGHTTP))
  func `unusual_frames: the frames as another client sees them`() throws {
    let rig = try FaultRig(
      """
      [{"id":"unusual_frames","forms":["many_data_frames","continuation","padding","trailers","informational"]}]
      """)
    let frames = try rig.nghttp()
    #expect(frames.contains(":status: 103"))
    #expect(frames.contains(":status: 403"))
    #expect(frames.contains("x-trailer: end"))
    // A frame a byte: {"reason":"MissingProviderToken"}.
    #expect(frames.count(of: "recv DATA frame") == 33)
    // The pieces of a header block are put together before they are shown, with the first one's flags.
    #expect(frames.count(of: "PADDED") >= 34)
    #expect(frames.contains("(END_STREAM | PADDED)") || frames.contains("; END_STREAM"))
  }

  @Test func `unusual_frames: answers that overtake each other`() throws {
    let rig = try FaultRig("[]")
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"unusual_frames","forms":["out_of_order"]}]"#)
    let exchanges = (0..<30).map { _ in client.begin(client.push) }
    var order: [Int32] = []
    var done: [UnsafeMutablePointer<Exchange>] = []
    try client.wait {
      client.connection.drainCompleted(into: &done)
      order += done.map(\.pointee.streamID)
      return exchanges.allSatisfy { $0.pointee.status == 200 }
    }
    let last = order.suffix(30)
    #expect(Array(last) != last.sorted())
  }

  @Test func `early_answer: 413 before the request's end stops its body`() throws {
    let rig = try FaultRig(#"[{"id":"early_answer","window":1000}]"#)
    let client = try rig.client()
    let large = client.begin(client.push.withBody(16_000))
    try client.wait { large.pointee.fate != .pending }
    #expect(large.pointee.status == 413)
    #expect(large.pointee.closeCode == HTTP2ErrorCode.noError)
    #expect(large.pointee.bodySent < 16_000)
    #expect(try client.send(client.push).status == 200)
    #expect(try rig.recorded == [413, 200])
  }

  @Test(arguments: [(900, 200), (1_000, 200), (1_001, 413), (4_000, 413)])
  func
    `early_answer: a body that comes in another turn than its header is judged by its size alone`(
      size: Int, status: UInt16
    ) throws
  {
    let rig = try FaultRig(
      #"[{"id":"early_answer","window":1000},{"id":"flow_control","window":10,"when":{"connection":1}}]"#
    )
    // Ten bytes, and the rest when the window opens: many turns.
    let client = try rig.client()
    #expect(try client.send(client.push.withBody(size)).status == status)
    #expect(try client.send(client.push).status == 200)
  }

  @Test func `too_many_requests: 429 for a hot device token, and only for it`() throws {
    let rig = try FaultRig(
      #"[{"id":"too_many_requests","when":{"token_rate":3,"token_window":"1h"}}]"#)
    let client = try rig.client()
    let hot = try (0..<6).map { _ in try client.send(client.push(to: Self.hot)) }
    #expect(hot.map(\.status) == [200, 200, 200, 429, 429, 429])
    #expect(hot[3].body == #"{"reason":"TooManyRequests"}"#)
    #expect(try client.send(client.push(to: Self.cold)).status == 200)
  }

  @Test func `service_unavailable: a storm of 500, 503 for a share of the requests, and recovery`()
    throws
  {
    let rig = try FaultRig(
      """
      [{"id":"service_unavailable","status":500,"reason":"InternalServerError","when":{"until_count":5}},
       {"id":"service_unavailable","when":{"from_count":6,"until_count":105,"probability":0.4}}]
      """)
    let client = try rig.client()
    let statuses = try (0..<120).map { _ in try client.send(client.push).status }
    #expect(statuses[..<5].allSatisfy { $0 == 500 })
    let failed = statuses[5..<105].count { $0 == 503 }
    #expect((25...55).contains(failed), "\(failed) of 100")
    #expect(statuses[105...].allSatisfy { $0 == 200 })
  }

  @Test(arguments: ["silence", "reset", "disconnect"])
  func `lost_answer: processed, but the answer is lost`(way: String) throws {
    let rig = try FaultRig(#"[{"id":"lost_answer","with":"\#(way)"}]"#)
    let client = try rig.client()
    let exchange = client.begin(client.push)
    if way == "silence" {
      try client.pass(milliseconds: 200)
      #expect(exchange.pointee.fate == .pending)
    } else {
      try client.wait { exchange.pointee.fate != .pending }
      #expect(exchange.pointee.fate == .ambiguous)
      #expect(exchange.pointee.status == 0)
    }
    #expect(client.connection.isClosed == (way == "disconnect"))
    #expect(try rig.recorded == [200])
  }

  @Test func `header_limits: a header list above the limit is refused with 431`() throws {
    let rig = try FaultRig(
      """
      [{"id":"header_limits","header_list_limit":2000},
       {"id":"header_limits","at":"request","when":{"header_list_size":2000}}]
      """)
    let client = try rig.client()
    #expect(try client.send(client.push).status == 200)
    let large = client.push.with("apns-collapse-id", String(repeating: "x", count: 2_000))
    #expect(try client.send(large).status == 431)
    #expect(try client.send(client.push).status == 200)
  }

  @Test func `a header list above what was announced is refused with 431, and not judged`() throws {
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway)
    // Names, values and 32 bytes a field: 8,000 in all are announced.
    let size = client.push.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    let rest = 8_000 - size + "order-1".utf8.count
    func sending(_ count: Int) throws -> UInt16 {
      try client.send { $0.with("apns-collapse-id", String(repeating: "x", count: count)) }.status
    }
    #expect(try sending(rest) == 400)
    #expect(try sending(rest + 1) == 431)
    #expect(try client.send { $0 }.status == 200)
    let shown = try gateway.jsonLines("/requests").compactMap { $0["status"]?.int }
    #expect(shown == [400, 431, 200])
  }

  @Test func `header_limits: the HPACK table shrinks to 0 and grows again between requests`() throws
  {
    let rig = try FaultRig(
      """
      [{"id":"header_limits","table_size":0},
       {"id":"header_limits","at":"request","table_size":4096,"when":{"nth":2}},
       {"id":"header_limits","at":"request","table_size":0,"when":{"nth":5}},
       {"id":"header_limits","at":"request","table_size":100,"when":{"nth":8}}]
      """)
    let client = try rig.client()
    for number in 0..<12 {
      let push = client.push(to: String(repeating: "0\(number % 10)", count: 32))
      #expect(try client.send(push).status == 200)
    }
    #expect(try rig.fired == [1, 1, 1, 1])
  }

  @Test(.enabled(if: FaultRig.hasNGHTTP))
  func `header_limits: the settings as another client sees them`() throws {
    let rig = try FaultRig(
      """
      [{"id":"header_limits","table_size":0,"header_list_limit":2000},
       {"id":"header_limits","at":"request","table_size":4096}]
      """)
    let frames = try rig.nghttp()
    #expect(frames.contains("SETTINGS_HEADER_TABLE_SIZE(0x01):0]"))
    #expect(frames.contains("SETTINGS_HEADER_TABLE_SIZE(0x01):4096]"))
    #expect(frames.contains("SETTINGS_MAX_HEADER_LIST_SIZE(0x06):2000]"))
  }
}

extension String {
  /// How often a text occurs.
  func count(of text: String) -> Int { indices.count { self[$0...].hasPrefix(text) } }
}

extension GatewayClient {
  /// Milliseconds that something took.
  func took(_ work: () throws -> Answer) throws -> UInt64 {
    let start = MonotonicClock.milliseconds()
    _ = try work()
    return MonotonicClock.milliseconds() - start
  }
}
