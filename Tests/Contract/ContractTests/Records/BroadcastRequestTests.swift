// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Records
import TestSupport
import Testing

@Suite struct BroadcastRequestTests {
  static let channel = "dHN0LXNyY2gtY2hubA=="
  static let payload =
    #"{"aps":{"timestamp":1795000060,"event":"update","content-state":{"p":40}}}"#

  static func request(
    _ more: String = "", channel: String = channel, payload: String = payload
  ) -> String {
    #"{"app":"com.example.app","channel":"\#(channel)","payload":\#(payload)\#(more)}"#
  }

  private func read<Result>(
    _ text: String, _ body: (PushRequest) -> Result
  ) throws(RequestError) -> Result {
    let reader = RequestReader()
    return try Array(text.utf8).withUnsafeBytes { raw in
      Swift.Result { () throws(RequestError) in body(try reader.read(raw)) }
    }.get()
  }

  private func error(_ text: String) -> String? {
    do throws(RequestError) {
      try read(text) { _ in }
      return nil
    } catch { return error.description }
  }

  @Test
  func `broadcast requests take a channel in place of a token, and get what a broadcast needs`()
    throws
  {
    try read(Self.request()) { request in
      #expect(request.isBroadcast)
      #expect(RequestReaderTests.string(request.channel) == Self.channel)
      #expect(request.type == .liveactivity)
      #expect(request.expiration == 0)
      #expect(request.priority == 10)
      #expect(request.tokens.count == 0)
    }
    try read(Self.request(#","expiration":1900000000,"priority":1,"type":"liveactivity""#)) {
      #expect($0.expiration == 1_900_000_000)
      #expect($0.priority == 1)
    }
    let id = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    try read(Self.request(#","apns_id":"\#(id)""#)) { #expect($0.apnsID == NotificationID(id)) }
    try read(RequestReaderTests.example) { #expect(!$0.isBroadcast) }
  }

  @Test(arguments: [
    (#","token":"abcd""#, "channel: cannot be combined with a device token"),
    (#","tokens":["abcd"]"#, "channel: cannot be combined with a device token"),
    (#","type":"alert""#, "type: is not for a channel"),
    (#","type":"background""#, "type: is not for a channel"),
    (#","collapse_id":"x""#, "collapse_id: is not for a channel"),
    (#","priority":2"#, "priority: 2 is not allowed"),
    (#","topic":"com.example.app""#, "topic: does not match app and type"),
    (#","channel":"YQ==""#, "channel: is given twice"),
  ])
  func `broadcast requests are refused with the field named`(more: String, words: String) {
    let found = error(Self.request(more))
    #expect(found?.hasPrefix(words) == true, "\(found ?? "passed")")
  }

  @Test(arguments: [
    ("", "channel: is empty"), ("abc", "channel: has 3 characters, which no base64 text has"),
    ("ab-_", "channel: has no base64 character at character 3"),
    ("ab d", "channel: has no base64 character at character 3"),
    ("a===", "channel: has no base64 character at character 2"),
    ("ab=c", "channel: has no base64 character at character 3"),
    (String(repeating: "a", count: 516), "channel: has 516 characters, more than 512"),
  ])
  func `broadcast requests want a channel id in base64`(channel: String, words: String) {
    #expect(error(Self.request(channel: channel)) == words)
  }

  @Test func `broadcast requests take every form of base64 text`() {
    for channel in ["YQ==", "YWI=", "YWJj", "+/+/", "AZaz09+/", String(repeating: "a", count: 512)]
    {
      #expect(error(Self.request(channel: channel)) == nil, "\(channel)")
    }
  }

  @Test func `broadcast requests start no Live Activity, and have bodies of up to 5,120 bytes`() {
    let start =
      #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"A","#
      + #""attributes":{},"alert":"x"}}"#
    #expect(
      error(Self.request(payload: start))?.hasPrefix("payload.aps.event: must be update or end")
        == true)
    func sized(_ bytes: Int) -> String {
      #"{"aps":{"timestamp":1,"event":"end"},"x":""# + String(repeating: "x", count: bytes - 44)
        + #""}"#
    }
    #expect(error(Self.request(payload: sized(5_120))) == nil)
    #expect(error(Self.request(payload: sized(5_121))) == "payload: has 5121 bytes, more than 5120")
    #expect(
      error(Self.request(payload: #"{"aps":{"alert":"x"}}"#))?.hasPrefix(
        "payload.aps.timestamp: is required") == true)
  }

  private func encode(_ text: String) throws -> [UInt8] {
    var encoder = EnvelopeEncoder()
    return try read(text) { request in
      encoder.begin(request, created: 1_795_224_000_123)
      encoder.setID(NotificationID(high: 1, low: 2))
      return Array(encoder.value)
    }
  }

  @Test func `broadcast requests become envelopes that say so, before and after a retry`() throws {
    let value = try encode(Self.request(#","id":"goal-1","lane":"bulk""#))
    let line = "M2\tbulk\tproduction\tcom.example.app\tcom.example.app.push-type.liveactivity\t"
    let rest = "liveactivity\t10\t0\t00000000-0000-0001-0000-000000000002\t1795224000123\tgoal-1"
    #expect(
      String(decoding: value, as: UTF8.self)
        == line + rest + "\t\t\t\ttarget=channel\n" + Self.payload)
    let envelope = try Envelope.parse(value.span)
    #expect(envelope.target == .channel)
    var buffer = ByteBuffer()
    value.withUnsafeBytes { record in
      Array("InternalServerError".utf8).withUnsafeBytes { reason in
        EnvelopeEncoder.encodeRetry(
          of: record, envelope, attempt: 2, firstSeen: 7, reason: reason, into: &buffer)
      }
    }
    let again = try Envelope.parse(Array(buffer.bytes).span)
    #expect(again.target == .channel)
    #expect(again.attempt == 2)
    #expect(again.lastReason.count == 19)
  }
}

/// Device tokens in requests.
@Suite struct DecoratedTokenTests {
  private func normalize(_ token: String) -> String {
    let reader = RequestReader()
    let text = #"{"app":"a.b","payload":{"aps":{"badge":1}},"token":"\#(token)"}"#
    return Array(text.utf8).withUnsafeBytes { raw in
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 512) { room in
        let request: PushRequest
        do throws(RequestError) { request = try reader.read(raw) } catch { return "\(error)" }
        do throws(DeviceToken.Problem) {
          let count = try request.tokens.normalize(0, into: room.baseAddress!)
          return String(decoding: room[..<count], as: UTF8.self)
        } catch { return "\(error)" }
      }
    }
  }

  @Test func `decorated tokens lose the brackets and blanks of an old client`() {
    #expect(normalize("<00FF aa11 22bb>") == "00ffaa1122bb")
    #expect(normalize(" ab ") == "ab")
    #expect(normalize("<>") == "is empty")
    #expect(normalize("<abc>") == "has an odd number of digits (3)")
    #expect(normalize("<ab(cd>") == "has no hexadecimal digit at character 4")
    let long = String(repeating: "a", count: 512)
    #expect(normalize("<\(long)>") == long)
    #expect(normalize("<\(long)bb>") == "has 514 digits, more than 512")
  }
}
