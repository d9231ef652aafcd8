// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Records
import Testing
import Waiting

@Suite struct EnvelopeEncoderTests {
  private static let id = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"

  /// The value of the first notification of a request.
  private func encode(_ text: String, created: Int64 = 1_795_224_000_123) throws -> [UInt8] {
    let reader = RequestReader()
    return try Array(text.utf8).withUnsafeBytes { raw in
      let request = try reader.read(raw)
      var encoder = EnvelopeEncoder()
      encoder.begin(request, created: created)
      guard let id = NotificationID(Self.id) else { return [] }
      encoder.setID(id)
      let text = String(decoding: encoder.idText, as: UTF8.self)
      #expect(text == Self.id)
      return Array(encoder.value)
    }
  }

  /// A small payload that its type's rules let pass.
  private static func payload(_ type: PushType) -> String {
    switch type {
    case .alert: #"{"aps":{"badge":1}}"#
    case .background: #"{"aps":{"content-available":1}}"#
    case .liveactivity: #"{"aps":{"timestamp":1,"event":"end"}}"#
    case .widgets, .controls: #"{"aps":{"content-changed":true}}"#
    case .mdm: #"{"mdm":"magic"}"#
    case .nowplaying: #"{"aps":{"timestamp":1,"event":"end","attributes":{"id":"s"}}}"#
    case .location, .voip, .complication, .fileprovider, .pushtotalk, .custom: "{}"
    }
  }

  @Test func `of one encoder are those of fresh ones, whatever requests come one after the other`()
    throws
  {
    let reader = RequestReader()
    var encoder = EnvelopeEncoder()
    let id = NotificationID(high: 1, low: 2)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2_000 {
      // Two of each, so that many requests begin as the one before and many differ in one thing only.
      let app = Bool.random(using: &random) ? "com.example.a" : "com.example.bb"
      let isTalk = Bool.random(using: &random)
      var fields = [
        #""app":"\#(app)","token":"ab","payload":{"aps":{}}"#,
        #""environment":"\#(Bool.random(using: &random) ? "production" : "sandbox")""#,
        #""lane":"\#(Bool.random(using: &random) ? "transactional" : "bulk")""#,
        #""type":"\#(isTalk ? "pushtotalk" : "complication")""#,
        #""priority":\#(Bool.random(using: &random) ? 10 : 5)"#,
      ]
      if Int.random(in: 0..<4, using: &random) == 0 {
        fields.append(#""topic":"\#(app).\#(isTalk ? "voip-ptt" : "complication")""#)
      }
      try Array("{\(fields.joined(separator: ","))}".utf8).withUnsafeBytes { raw in
        let request = try reader.read(raw)
        var fresh = EnvelopeEncoder()
        fresh.begin(request, created: 1)
        fresh.setID(id)
        encoder.begin(request, created: 1)
        encoder.setID(id)
        #expect(Array(encoder.value) == Array(fresh.value))
      }
    }
  }

  @Test func `of the documented request have these bytes`() throws {
    let payload =
      #"{"aps":{"alert":{"title":"Avocado bacon burger","body":"on sale"},"sound":"default","#
      + #""badge":1},"special":"avocado_bacon_burger"}"#
    let expected =
      "M2\ttransactional\tproduction\tcom.example.app\tcom.example.app\talert\t10\t1900000000\t"
      + "\(Self.id)\t1795224000123\torder-8812\t\t\t\tapns-collapse-id=specials\n" + payload
    let value = try encode(RequestReaderTests.example)
    #expect(String(decoding: value, as: UTF8.self) == expected)
  }

  @Test(arguments: [
    ("update", "", "\tsupersede=activity\tsilent=1"),
    ("end", "", "\tsupersede=activity\tfinal=1\tsilent=1"),
    ("end", #""supersede":"leg 1","#, "\tsupersede=leg 1\tfinal=1\tsilent=1"),
    ("start", "", "\tstart=1\tapns-collapse-id=\(id)"),
    ("start", #""collapse_id":"c","#, "\tapns-collapse-id=c\tstart=1"),
  ])
  func `envelopes of an activity have its key, say which is its end, and a start is shown once`(
    event: String, field: String, carried: String
  ) throws {
    let more =
      event == "start" ? #","alert":{"title":"t"},"attributes-type":"T","attributes":{}"# : ""
    let payload = #"{"aps":{"timestamp":1,"event":"\#(event)","content-state":{}\#(more)}}"#
    let value = try encode(
      #"{"app":"a.b","token":"ab","type":"liveactivity",\#(field)"payload":\#(payload)}"#)
    let line = String(decoding: value, as: UTF8.self).split(separator: "\n")[0]
    #expect(line.hasSuffix("\t\t\t\(carried)"), "\(line)")
    let envelope = try Envelope.parse(value.span)
    #expect(envelope.isStart == (event == "start") && envelope.isSilent == (event != "start"))
    #expect(envelope.hasStateKey == (event != "start") && envelope.isFinal == (event == "end"))
  }

  @Test(arguments: [
    (#""supersede":"s","#, #"{"aps":{"badge":1}}"#, true),
    (#""supersede":"s","#, #"{"aps":{"badge":1,"alert":null}}"#, true),
    (#""supersede":"s","#, #"{"aps":{"alert":"a"}}"#, false),
    (#""supersede":"s","#, #"{"aps":{"sound":"default"}}"#, false),
    (#""collapse_id":"s","#, #"{"aps":{"badge":1}}"#, true),
    (#""collapse_id":"s","#, #"{"aps":{"alert":{"title":"a"}}}"#, false),
    ("", #"{"aps":{"badge":1}}"#, false),
  ])
  func `a push that may be superseded says that it is silent, any other need not`(
    field: String, payload: String, isSilent: Bool
  ) throws {
    let value = try encode(#"{"app":"a.b","token":"ab",\#(field)"payload":\#(payload)}"#)
    #expect(try Envelope.parse(value.span).isSilent == isSilent)
  }

  @Test
  func `a retry has its place in its lane instead of the one before, a replay has none`() throws {
    let value = try encode(
      #"{"app":"a.b","token":"ab","supersede":"s","payload":{"aps":{"badge":1}}}"#)
    let envelope = try Envelope.parse(value.span)
    var taken = [envelope.dedupKey]
    var record = value
    for moves in 1...2 as ClosedRange<UInt16> {
      var buffer = ByteBuffer()
      let envelope = try Envelope.parse(record.span)
      record.withUnsafeBytes { bytes in
        EnvelopeEncoder.encodeRetry(
          of: bytes, envelope, attempt: moves, firstSeen: 1,
          reason: UnsafeRawBufferPointer(rebasing: bytes[0..<2]),
          position: LanePosition(partition: 3, offset: 7, moves: moves, tier: .minute1),
          into: &buffer)
      }
      record = Array(buffer.bytes)
      let line = String(decoding: record, as: UTF8.self).split(separator: "\n")[0]
      #expect(line.hasSuffix("\tsupersede=s\tsilent=1\tposition=3/7/\(moves)/1m"))
      taken.append(try Envelope.parse(record.span).dedupKey)
    }
    // Each time it is another sending.
    #expect(Set(taken).count == 3)
    var buffer = ByteBuffer()
    let last = try Envelope.parse(record.span)
    record.withUnsafeBytes {
      EnvelopeEncoder.encodeReplay(of: $0, last, created: 1, mark: "0/1", into: &buffer)
    }
    let line = String(decoding: buffer.bytes, as: UTF8.self).split(separator: "\n")[0]
    #expect(line.hasSuffix("\tsupersede=s\tsilent=1\treplay=0/1"))
  }

  @Test(arguments: [
    ("0/0/0/5s", true), ("2147483647/9223372036854775807/65535/15m", true), ("1/7/1/1m", true),
    ("1/7/1/2m", false), ("7/1/5s", false), ("1/7/1", false), ("/7/1/5s", false),
    ("1/7//5s", false), ("1/9223372036854775808/1/5s", false), ("1/7/65536/5s", false),
    ("2147483648/7/1/5s", false), ("", false), ("1/-1/1/5s", false),
  ])
  func `a place in a lane is read as it is written`(text: String, isValid: Bool) {
    let position = LanePosition(Array(text.utf8).span)
    #expect(position.map(\.text) == (isValid ? text : nil))
  }

  @Test func `envelopes write an id as it describes itself, whatever its digits are`() {
    var buffer = ByteBuffer()
    for digit in UInt64(0)..<16 {
      for place in stride(from: 0, to: 64, by: 4) {
        let other = (15 - digit) * 0x1111_1111_1111_1111
        for id in [
          NotificationID(high: digit << UInt64(place), low: other),
          NotificationID(high: other, low: digit << UInt64(place)),
        ] {
          buffer.removeAll()
          buffer.append(id)
          #expect(String(decoding: buffer.bytes, as: UTF8.self) == id.description)
        }
      }
    }
  }

  @Test
  func `envelopes read back as what was asked for, for every type, lane and environment`() throws {
    for type in PushType.allCases {
      for lane in Lanes.standard.all {
        for environment in Environment.allCases {
          let payload = Self.payload(type)
          let text =
            #"{"app":"com.example.app","token":"ab","payload":\#(payload),"type":"\#(type)","#
            + #""lane":"\#(Lanes.standard.name(lane))","environment":"\#(environment)","id":"a\tb"}"#
          let value = try encode(text)
          let envelope = try Envelope.parse(value.span)
          #expect(envelope.pushType == type)
          #expect(envelope.lane == lane)
          #expect(envelope.environment == environment)
          #expect(envelope.priority == type.defaultPriority)
          #expect(envelope.expiration == nil)
          #expect(envelope.id == NotificationID(Self.id))
          let topic = String(decoding: value[envelope.topic.indices], as: UTF8.self)
          #expect(topic == "com.example.app" + type.topicSuffix.description)
          #expect(String(decoding: value[envelope.requestID.indices], as: UTF8.self) == #"a\tb"#)
          #expect(Array(value[envelope.bodyStart...]) == Array(payload.utf8))
        }
      }
    }
  }

  /// The longest line that a request makes: names of 255 bytes, the longest own type, everything that is carried.
  @Test func `envelopes stay within the line's limit with every field at its longest`() throws {
    let long = String(repeating: "t", count: PushTypes.maximumText)
    let types = try PushTypes(["\(long)=.\(long.dropLast())"])
    let app = String(repeating: "a", count: RequestRules.maximumName)
    let headers = (0..<CarriedHeaders.maximumCount).map { number in
      let name = "apns-\(number)"
      let value = String(repeating: "v", count: CarriedHeaders.maximumBytes / 8 - name.utf8.count)
      return #""\#(name)":"\#(value)""#
    }
    let data = #"{"k":"\#(String(repeating: "d", count: FlatObject.maximumBytes - 8))"}"#
    let collapseID = String(repeating: "c", count: RequestRules.maximumCollapseID)
    let rest = RequestRules.maximumCarried - 256 - 512 - 64
    let id =
      String(repeating: #"\u0001"#, count: rest / 6) + String(repeating: "i", count: rest % 6)
    let text =
      #"{"app":"\#(app)","payload":{},"token":"ab","type":"\#(long)","lane":"transactional","#
      + #""id":"\#(id)","collapse_id":"\#(collapseID)","expiration":99999999999,"#
      + #""headers":{\#(headers.joined(separator: ","))},"data":\#(data)}"#
    let reader = RequestReader(types: types)
    var encoder = EnvelopeEncoder()
    try Array(text.utf8).withUnsafeBytes { raw in
      let request = try reader.read(raw)
      Array(Self.trace.utf8).withUnsafeBytes {
        encoder.begin(request, created: OutsideTime.last, traceParent: $0)
      }
    }
    let value = Array(encoder.value)
    let envelope = try Envelope.parse(value.span, types: types)
    #expect(Int(envelope.requestID.count) == rest)
    // What ingest adds for an activity has room beside that.
    let longest = Int(envelope.constantPart.count) + Int(envelope.carried.count)
    let added = "\tstart=1\tapns-collapse-id=".utf8.count + NotificationID.textLength
    let warnings = "\twarnings=".utf8.count + PayloadWarnings.longestList
    let most = Envelope.maximumKept - added - warnings
    #expect((most - 128...most).contains(longest))
    #expect(encoder.carried.bytes.elementsEqual(value[envelope.carried.indices]))
    // An id alone may be longer.
    let lone = try encode(
      #"{"app":"a.b","payload":{"aps":{"badge":1}},"token":"ab","id":"\#(String(repeating: #"\u0001"#, count: 128))"}"#
    )
    #expect(try Envelope.parse(lone.span).requestID.count == 768)
  }

  @Test func `envelopes keep envelope and body when they move to a retry topic`() throws {
    let value = try encode(RequestReaderTests.example)
    let envelope = try Envelope.parse(value.span)
    var buffer = ByteBuffer()
    value.withUnsafeBytes { record in
      Array("TooMany\nRequests".utf8).withUnsafeBytes { reason in
        EnvelopeEncoder.encodeRetry(
          of: record, envelope, attempt: 2, firstSeen: 1_795_224_000_500, reason: reason,
          into: &buffer)
      }
    }
    let moved = Array(buffer.bytes)
    let again = try Envelope.parse(moved.span)
    #expect(again.attempt == 2)
    #expect(again.firstSeen == 1_795_224_000_500)
    #expect(String(decoding: moved[again.lastReason.indices], as: UTF8.self) == "TooMany Requests")
    #expect(Array(moved[again.constantPart.indices]) == Array(value[envelope.constantPart.indices]))
    #expect(Array(moved[again.bodyStart...]) == Array(value[envelope.bodyStart...]))
  }
}

extension EnvelopeEncoderTests {
  private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  @Test(arguments: [false, true])
  func `envelopes carry the trace of their request`(isBroadcast: Bool) throws {
    let target = isBroadcast ? #""channel":"dHN0LXNyY2gtY2hubA==""# : #""token":"ab""#
    let body = isBroadcast ? #"{"aps":{"timestamp":1,"event":"end"}}"# : #"{"aps":{"badge":1}}"#
    let text = #"{"app":"com.example.app",\#(target),"payload":\#(body)}"#
    let reader = RequestReader()
    let value = try Array(text.utf8).withUnsafeBytes { raw in
      let request = try reader.read(raw)
      var encoder = EnvelopeEncoder()
      Array(Self.trace.utf8).withUnsafeBytes { encoder.begin(request, created: 1, traceParent: $0) }
      return Array(encoder.value)
    }
    let envelope = try Envelope.parse(value.span)
    let before = isBroadcast ? "target=channel\t" : ""
    #expect(
      value[envelope.carried.indices].elementsEqual("\(before)traceparent=\(Self.trace)".utf8))
    #expect((envelope.target == .channel) == isBroadcast)
    #expect(String(decoding: value[envelope.bodyStart...], as: UTF8.self) == body)
  }

  @Test func `envelopes carry headers and data as the request gives them`() throws {
    let value = try encode(
      RequestReaderTests.request(
        #","headers":{"apns-new-thing":"a\u003db","apns-b":"x"},"data":{ "k\u00e9":"\ud83d\ude00" , "":"é\"" },"collapse_id":"c""#
      ))
    let envelope = try Envelope.parse(value.span)
    #expect(
      String(decoding: value[envelope.carried.indices], as: UTF8.self)
        == "apns-collapse-id=c\tapns-new-thing=a=b\tapns-b=x\t"
        + #"data={"k\u00e9":"\ud83d\ude00","":"é\""}"#)
    let without = try encode(RequestReaderTests.request(#","headers":{},"data":{}"#))
    let empty = try Envelope.parse(without.span)
    #expect(without[empty.carried.indices].elementsEqual("data={}".utf8))
  }
}
