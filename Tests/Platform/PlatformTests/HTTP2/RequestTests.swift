// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTP2
import Testing

@Suite struct RequestTests {
  @Test(arguments: HTTP2Implementation.allCases)
  func `a request arrives with its fields in order and its body`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2)
    let exchange = pair.exchange(body: "{\"aps\":{}}")
    let isTaken = pair.submit(
      exchange, path: "/3/device/abcd", more: [("apns-id", "one"), ("apns-id", "two")])
    #expect(isTaken)
    try pair.settle()
    let request = try #require(pair.received.first).pointee
    let fields = (0..<request.fieldCount).map {
      "\(request.name($0).string)=\(request.value($0).string)"
    }
    #expect(
      fields == [
        ":method=POST", ":scheme=https", ":authority=localhost", ":path=/3/device/abcd",
        "apns-id=one", "apns-id=two",
      ])
    #expect(request.body.string == "{\"aps\":{}}")
    #expect(request.bodyTotal == 10)
    #expect(request.streamID == 1)
    #expect(request.connectionToken == 1)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `an answer fills the exchange`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    let exchange = try #require(pair.submit())
    try pair.settle()
    pair.answer(
      "410", body: "{\"reason\":\"Unregistered\"}",
      more: [
        ("apns-unique-id", "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"), ("retry-after", "120"),
        ("apns-id", "whatever"),
      ])
    try pair.settle()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .answered)
    #expect(exchange.pointee.status == 410)
    #expect(exchange.pointee.ended)
    #expect(exchange.pointee.closeCode == HTTP2ErrorCode.noError)
    #expect(exchange.answer == "{\"reason\":\"Unregistered\"}")
    #expect(exchange.pointee.hasUniqueID)
    #expect(exchange.pointee.uniqueID[0] == UInt8(ascii: "0"))
    #expect(exchange.pointee.uniqueID[35] == UInt8(ascii: "e"))
    #expect(exchange.pointee.retryAfter(now: 0) == 120)
    #expect(!exchange.pointee.hasOtherID, "no id has this form")
    #expect(pair.client.openStreams == 0)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `an id is kept only if it is another than the one sent`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2)
    let sent = Array("0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e".utf8)
    let other = "11111111-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    try sent.withUnsafeBufferPointer { sent in
      for (id, request, isOther) in [
        ("0F6E1C1E-5A0B-4C55-9D0E-6F6B3A1C2D3E", other, [false, true]),
        (other, "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e", [true, false]),
      ] {
        let exchange = pair.exchange(body: "{}")
        exchange.pointee.sentID = sent.baseAddress
        #expect(pair.submit(exchange, path: "/3/device/00"))
        try pair.settle()
        pair.answer("200", more: [("apns-id", id), ("apns-request-id", request)])
        try pair.settle()
        #expect([exchange.pointee.hasOtherID, exchange.pointee.hasOtherRequestID] == isOther)
      }
    }
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a request without a body ends with its headers`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    _ = try #require(pair.submit(body: ""))
    try pair.settle()
    #expect(pair.received.first?.pointee.bodyTotal == 0)
    pair.answer()
    try pair.settle()
    #expect(pair.completed.first?.pointee.status == 200)
    #expect(pair.completed.first?.pointee.responseTotal == 0)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `an answer larger than its room is counted and cut`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    let exchange = pair.exchange(body: "{}", capacity: 10)
    let isTaken = pair.submit(exchange)
    #expect(isTaken)
    try pair.settle()
    pair.answer("500", body: String(repeating: "e", count: 100_000))
    try pair.settle()
    #expect(exchange.pointee.responseTotal == 100_000)
    #expect(exchange.answer == "eeeeeeeeee")
    #expect(exchange.pointee.fate == .answered)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a body larger than every window arrives whole`(_ http2: HTTP2Implementation) throws {
    var settings = SessionSettings.gateway(maxConcurrentStreams: 10)
    settings.initialWindowSize = 1_000
    let pair = SessionPair(http2, settings)
    try pair.settle()
    let body = String(repeating: "0123456789abcdef", count: 12_500)
    _ = try #require(pair.submit(body: body))
    try pair.settle()
    let request = try #require(pair.received.first).pointee
    #expect(request.bodyTotal == 200_000)
    #expect(request.body.count == ServerRequest.bodyCapacity)
    #expect(request.body.string == String(body.prefix(ServerRequest.bodyCapacity)))
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `with the window exhausted a request waits and can be given up`(_ http2: HTTP2Implementation)
    throws
  {
    var settings = SessionSettings.gateway(maxConcurrentStreams: 10)
    settings.initialWindowSize = 0
    let pair = SessionPair(http2, settings)
    try pair.settle()
    let exchange = try #require(pair.submit(body: "0123456789"))
    try pair.settle()
    #expect(pair.received.isEmpty)
    #expect(exchange.pointee.bodySent == 0)
    pair.client.reset(exchange, code: HTTP2ErrorCode.cancel)
    try pair.settle()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .ambiguous)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `ten thousand requests share one connection`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2, .gateway(maxConcurrentStreams: 1_000))
    try pair.settle()
    var submitted = 0
    var answered = 0
    while answered < 10_000 {
      while submitted < 10_000, pair.submit(body: "body \(submitted)") != nil { submitted += 1 }
      #expect(pair.client.openStreams <= 1_000)
      try pair.settle()
      answered += pair.received.count
      while !pair.received.isEmpty { pair.answer("200") }
    }
    try pair.settle()
    #expect(pair.completed.count == 10_000)
    #expect(Set(pair.completed.map(\.pointee.owner)).count == 10_000)
    #expect(pair.completed.allSatisfy { $0.pointee.status == 200 && $0.pointee.fate == .answered })
    #expect(pair.client.openStreams == 0)
    #expect(pair.server.openStreams == 0)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a ping comes back as a pong`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    try pair.settle()
    _ = pair.client.drainNotices()
    pair.client.ping()
    try pair.settle()
    guard case .pong(let time) = pair.client.drainNotices().first else {
      return #expect(Bool(false), "no pong")
    }
    #expect(time < 10_000_000_000)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a pong that nobody asked for is none`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    try pair.settle()
    _ = pair.client.drainNotices()
    pair.client.ping()
    try frame(type: 6, flags: 1, bigEndian(1) + bigEndian(2)).withUnsafeBytes {
      try pair.client.receive($0)
    }
    #expect(pair.client.drainNotices().isEmpty)
    try pair.settle()
    #expect(pair.client.drainNotices().count == 1)
  }
}
