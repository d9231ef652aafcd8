// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import Testing

extension FaultConnectionTests {
  @Test(arguments: ["BadCertificate", "BadCertificateEnvironment"])
  func `goaway_credential: GOAWAY that refuses the credential`(reason: String) throws {
    let rig = try FaultRig(#"[{"id":"goaway_credential","reason":"\#(reason)"}]"#)
    let client = try rig.client(expectsSettings: false)
    try client.wait { client.connection.isClosed }
    #expect(client.goAways.map(\.last) == [0])
    #expect(client.goAways.map(\.code) == [0])
    #expect(client.goAways.map(\.debug) == [#"{"reason":"\#(reason)"}"#])
    #expect(client.notices.last == .closed(nil))
  }

  @Test func `goaway_shutdown: GOAWAY Shutdown, and the socket stays open and silent`() throws {
    let rig = try FaultRig(#"[{"id":"added_latency","time":"100ms"}]"#)
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"goaway_shutdown","when":{"nth":2}}]"#)
    let exchanges = (0..<2).map { _ in client.begin(client.push) }
    try client.wait { !client.goAways.isEmpty }
    #expect(client.goAways.map(\.debug) == [#"{"reason":"Shutdown"}"#])
    #expect(client.goAways.map(\.last) == [exchanges[1].pointee.streamID])
    try client.pass(milliseconds: 400)
    #expect(exchanges.allSatisfy { $0.pointee.fate == .pending })
    #expect(!client.connection.isClosed)
  }

  @Test func `goaway_form: GOAWAY below streams in flight gives back exactly those above`() throws {
    let rig = try FaultRig(#"[{"id":"added_latency","time":"150ms"}]"#)
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"goaway_form","behind":2,"when":{"nth":5}}]"#)
    let exchanges = client.begin(client.push, times: 5)
    try client.wait { exchanges.allSatisfy { $0.pointee.fate != .pending } }
    #expect(
      exchanges.map(\.pointee.fate) == [
        .answered, .answered, .answered, .unprocessed, .unprocessed,
      ])
    try client.wait { client.connection.isClosed }
    #expect(client.notices.last == .closed(nil))
  }

  @Test func `goaway_form: GOAWAY in two steps, twice, as text, empty and not UTF-8`() throws {
    let expected: [(String, [Int32], [String])] = [
      ("two_step", [0x7FFF_FFFF, 1], ["", #"{"reason":"Shutdown"}"#]),
      ("twice", [1, 1], [#"{"reason":"Shutdown"}"#, ""]),
      ("text", [1], ["Maximum active streams violated for this endpoint."]),
      ("empty", [1], [""]),
      (
        "binary", [1],
        [String(decoding: [0xFF, 0xFE, 0x00, 0xC3, 0x28, 0x80, 0x7B] as [UInt8], as: UTF8.self)]
      ),
    ]
    for (form, lasts, words) in expected {
      let rig = try FaultRig(#"[{"id":"goaway_form","form":"\#(form)","code":"NO_ERROR"}]"#)
      let client = try rig.client()
      let exchange = client.begin(client.push)
      try client.wait { client.connection.isClosed }
      #expect(client.goAways.map(\.last) == lasts, "\(form)")
      #expect(client.goAways.map(\.debug) == words, "\(form)")
      #expect(exchange.pointee.fate == .answered, "\(form)")
    }
  }

  @Test(arguments: ["close", "silence"])
  func `goaway_form: what follows a GOAWAY: the end at once, or silence`(then: String) throws {
    let rig = try FaultRig(#"[{"id":"added_latency","time":"200ms"}]"#)
    let client = try rig.openedClient()
    try rig.add(#"[{"id":"goaway_form","form":"text","then":"\#(then)","when":{"nth":2}}]"#)
    let exchanges = (0..<2).map { _ in client.begin(client.push) }
    try client.wait { !client.goAways.isEmpty }
    if then == "close" {
      try client.wait { client.connection.isClosed }
      #expect(exchanges.allSatisfy { $0.pointee.fate == .ambiguous })
    } else {
      try client.pass(milliseconds: 500)
      #expect(exchanges.allSatisfy { $0.pointee.fate == .pending })
      #expect(!client.connection.isClosed)
    }
  }

  @Test(arguments: [
    #"{"id":"stream_ids_exhausted","when":{"stream_id":7}}"#,
    #"{"id":"goaway_form","form":"below","when":{"nth":3}}"#,
  ])
  func `of requests that come together, the one of the fault and later ones are given back`(
    rule: String
  ) throws {
    let rig = try FaultRig("[]")
    let client = try rig.openedClient()
    try rig.add("[\(rule)]")
    let exchanges = client.begin(client.push, times: 5)
    try client.wait { client.connection.isClosed }
    #expect(
      exchanges.map(\.pointee.fate) == [
        .answered, .answered, .unprocessed, .unprocessed, .unprocessed,
      ])
    #expect(exchanges.map(\.pointee.streamID)[2] == 7)
    #expect(client.goAways.map(\.last) == [5])
    #expect(try rig.fired == [1])
  }

  @Test
  func `stream_ids_exhausted: the last ones are served, the next is refused with GOAWAY`() throws {
    let rig = try FaultRig(
      #"[{"id":"stream_ids_exhausted","when":{"stream_id":2147483645}}]"#)
    var settings = SessionSettings()
    settings.firstStreamID = 2_147_483_643
    let client = try rig.client(settings: settings)
    #expect(try client.send(client.push).status == 200)
    let last = client.begin(client.push)
    try client.wait { client.connection.isClosed }
    #expect(last.pointee.streamID == 2_147_483_645)
    #expect(last.pointee.fate == .unprocessed)
    #expect(client.goAways.map(\.last) == [2_147_483_643])
  }
}
