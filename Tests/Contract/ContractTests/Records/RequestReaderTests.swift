// SPDX-License-Identifier: Apache-2.0

import Contract
import EventLoop
import Records
import Testing

/// Requests as ingest reads them, with `RequestDefaults` and `ShownCharacter`.
@Suite struct RequestReaderTests {
  static let token = String(repeating: "aB", count: 32)
  static let example =
    #"{"id":"order-8812","app":"com.example.app","environment":"production","token":""# + token
    + #"","type":"alert","payload":{"aps":{"alert":{"title":"Avocado bacon burger","body":"on sale"},"#
    + #""sound":"default","badge":1},"special":"avocado_bacon_burger"},"priority":10,"#
    + #""expiration":1900000000,"collapse_id":"specials","lane":"transactional"}"#

  /// A request with the required fields and these further ones.
  static func request(_ more: String) -> String {
    #"{"app":"com.example.app","token":""# + token + #"","payload":{"aps":{"alert":"x"}}"# + more
      + "}"
  }

  static func string(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  func read<Result>(
    _ text: String, _ reader: RequestReader = RequestReader(), _ body: (PushRequest) -> Result
  ) throws(RequestError) -> Result {
    let bytes = Array(text.utf8)
    return try bytes.withUnsafeBytes { raw in
      Swift.Result { () throws(RequestError) in body(try reader.read(raw)) }
    }.get()
  }

  func error(_ text: String, _ reader: RequestReader = RequestReader()) -> RequestError? {
    do throws(RequestError) {
      try read(text, reader) { _ in }
      return nil
    } catch { return error }
  }

  @Test func `of the documented form are read field by field, the payload byte for byte`() throws {
    let reader = RequestReader()
    try read(Self.example, reader) { request in
      #expect(Self.string(request.id) == "order-8812")
      #expect(Self.string(request.escapedID) == "order-8812")
      #expect(Self.string(request.app) == "com.example.app")
      #expect(request.environment == .production)
      #expect(request.type == .alert)
      #expect(request.lane == .first)
      #expect(request.priority == 10)
      #expect(request.expiration == 1_900_000_000)
      #expect(Self.string(request[.collapseID]) == "specials")
      #expect(request.topic.isEmpty)
      #expect(request.apnsID == nil)
      #expect(request.tokens.count == 1)
      #expect(Self.string(request.tokens[0]) == Self.token)
      let payload =
        #"{"aps":{"alert":{"title":"Avocado bacon burger","body":"on sale"},"sound":"default","#
        + #""badge":1},"special":"avocado_bacon_burger"}"#
      #expect(Self.string(request.payload) == payload)
    }
  }

  @Test func `requests with the required fields only get the documented defaults`() throws {
    try read(Self.request("")) { request in
      #expect(request.environment == .production)
      #expect(request.type == .alert)
      #expect(request.lane == .first)
      #expect(request.priority == 10)
      #expect(request.expiration == nil)
      #expect(request.id.isEmpty)
      #expect(request[.collapseID].isEmpty)
    }
    let background = Self.request(#","type":"background""#)
      .replacing(#"{"alert":"x"}"#, with: #"{"content-available":1}"#)
    try read(background) { #expect($0.priority == 5) }
    try read(Self.request(#","expiration":0"#)) { #expect($0.expiration == 0) }
  }

  @Test
  func `requests expire at a time, or some seconds after their own time, and not both`() throws {
    try read(Self.request(#","expires_in":90"#)) { request in
      #expect(request.expiration == nil && request.expiresIn == 90)
      #expect(request.expiration(created: 1_795_224_000_000) == 1_795_224_090)
    }
    try read(Self.request(#","expires_in":0"#)) { request in
      #expect(request.expiration(created: 1_795_224_000_000) == 0)
    }
    try read(Self.request(#","expiration":1900000000"#)) { request in
      #expect(request.expiration(created: 1_795_224_000_000) == 1_900_000_000)
    }
    for both in [#","expires_in":90,"expiration":1900000000"#, #","expiration":0,"expires_in":0"#] {
      #expect(error(Self.request(both))?.problem == .bothExpirations)
    }
    #expect(error(Self.request(#","expires_in":"90""#))?.field == .expiresIn)
    #expect(error(Self.request(#","expires_in":-1"#))?.field == .expiresIn)
    #expect(error(Self.request(#","expires_in":1795224000"#))?.field == .expiresIn)
  }

  @Test
  func `of a type of the setting have its name and suffix; without it they are refused`() throws {
    let text = Self.request(#","type":"weather""#)
    let unknown = try #require(error(text))
    #expect(unknown.field == .type)
    #expect(unknown.description.contains("is not one of alert"))
    let types = try PushTypes(["tides=", "weather=.push-type.weather"])
    let reader = RequestReader(types: types)
    try read(text, reader) { request in
      #expect(request.type == .custom(1) && request.priority == 10)
      #expect(Self.string(request.typeName) == "weather")
      #expect(Self.string(request.topicSuffix) == ".push-type.weather")
    }
    try read(Self.request(#","type":"tides","priority":1"#), reader) { request in
      #expect(request.type == .custom(0) && request.topicSuffix.isEmpty)
    }
    #expect(
      error(Self.request(#","type":"snow""#), reader)?.description.contains("tides, weather")
        == true)
    let topic = #","type":"weather","topic":"com.example.app"#
    try read(Self.request(topic + #".push-type.weather""#), reader) { _ in }
    #expect(
      error(Self.request(topic + #".weather""#), reader)?.problem
        == .topicDoesNotMatch(expected: "com.example.app.push-type.weather"))
    #expect(
      error(Self.request(#","type":"weather","priority":3"#), reader)?.description
        == "priority: 3 is not allowed for a type of --push-type; use 10 or 5 or 1")
    #expect(
      error(
        #"{"app":"a.b","token":"ab","type":"weather","payload":{"aps":1}}"#, reader)?.description
        .contains("must be an object") == true)
  }

  @Test
  func `requests keep the payload's own white space and escapes, and nothing around it`() throws {
    let payload = #"{ "a" : [ 1 , "\u00e9\n" ] , "b":{ } }"#
    let bundle = #""app":"com.example.app","token":"ab","type":"voip""#
    for text in [
      "{\"payload\": \(payload) \n,\(bundle)}", "{\(bundle),\"payload\":\(payload)}",
      "{\(bundle),\"payload\":\(payload)   }  \n",
    ] {
      try read(text) { #expect(Self.string($0.payload) == payload) }
    }
  }

  @Test func `requests give the id both unescaped and as it stands`() throws {
    try read(Self.request(#","id":"a\tb\u00e9\"""#)) { request in
      #expect(Self.string(request.id) == "a\tbé\"")
      #expect(Self.string(request.escapedID) == #"a\tb\u00e9\""#)
    }
  }

  @Test func `requests take tokens from an array, and normalise each by itself`() throws {
    let text =
      #"{"app":"a.b","payload":{"aps":{"alert":"x"}},"tokens":["ABcd","xy","abc",12,null,["a"],"","00"]}"#
    try read(text) { request in
      #expect(request.tokens.count == 8)
      var results: [String] = []
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 512) { room in
        guard let base = room.baseAddress else { return }
        for index in 0..<request.tokens.count {
          do throws(DeviceToken.Problem) {
            let count = try request.tokens.normalize(index, into: base)
            results.append(String(decoding: room[..<count], as: UTF8.self))
          } catch {
            results.append("\(Self.string(request.tokens[index])) \(error)")
          }
        }
      }
      #expect(
        results == [
          "abcd", "xy has no hexadecimal digit at character 1",
          "abc has an odd number of digits (3)",
          "12 is not a string", "null is not a string", "[\"a\"] is not a string", " is empty",
          "00",
        ])
    }
  }

  @Test
  func `tokens of any length are normalised, and the first character that is no digit is named`()
    throws
  {
    let digits = Array("0123456789abcdefABCDEF".utf8)
    for count in [2, 6, 8, 10, 14, 16, 62, 64, 66, 200, 512] {
      let good = (0..<count).map { digits[($0 * 7 + count) % digits.count] }
      try normalize(good) { #expect($0 == String(decoding: good, as: UTF8.self).lowercased()) }
      for position in 0..<count {
        for byte in [0x01, 0x2F, 0x3A, 0x40, 0x47, 0x60, 0x67, 0x7E] as [UInt8] {
          var bad = good
          bad[position] = byte
          try normalize(bad) {
            #expect($0 == "\(DeviceToken.Problem.notHexadecimal(at: position))")
          }
        }
      }
      // Decorated, it is the same token.
      let decorated =
        [UInt8(ascii: "<")] + good.flatMap { [$0, UInt8(ascii: " ")] } + [UInt8(ascii: ">")]
      try normalize(decorated) { #expect($0 == String(decoding: good, as: UTF8.self).lowercased()) }
    }
  }

  /// Gives `body` what becomes of a token: its text, or what is wrong with it.
  private func normalize(_ token: [UInt8], _ body: (String) -> Void) throws {
    let escaped = token.map { byte in
      let isPlain = byte >= 0x20 && byte != 0x22 && byte != 0x5C
      let digits = String(byte, radix: 16)
      return isPlain
        ? String(UnicodeScalar(byte))
        : "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
    let text = #"{"app":"a.b","payload":{"aps":{"alert":"x"}},"token":""# + escaped + #""}"#
    try read(text) { request in
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 512) { room in
        guard let base = room.baseAddress else { return }
        do throws(DeviceToken.Problem) {
          let count = try request.tokens.normalize(0, into: base)
          body(String(decoding: room[..<count], as: UTF8.self))
        } catch {
          body("\(error)")
        }
      }
    }
  }

  @Test func `requests take 1,000 tokens and not one more`() throws {
    func text(_ count: Int) -> String {
      let list = (0..<count).map { _ in #""ab""# }.joined(separator: ",")
      return #"{"app":"a.b","payload":{"aps":{"alert":"x"}},"tokens":["# + list + "]}"
    }
    try read(text(1_000)) { #expect($0.tokens.count == 1_000) }
    #expect(error(text(1_001))?.problem == .tooMany(limit: 1_000))
    #expect(error(text(0))?.problem == .noTokens)
  }

  @Test func `requests take a field that is null for one that was left out`() throws {
    let optional = RequestField.allCases.filter {
      ![.app, .payload, .token, .channel, .tokens].contains($0)
    }
    let nulls = optional.map { ",\"\($0)\":null" }.joined()
    try read(Self.request(nulls + #","channel":null,"tokens": null "#)) { request in
      #expect(request.type == .alert)
      #expect(request.environment == .production)
      #expect(request.lane == .first)
      #expect(request.priority == 10)
      #expect(request.expiration == nil)
      #expect(request.id.isEmpty && request.escapedID.isEmpty && request[.collapseID].isEmpty)
      #expect(request.apnsID == nil && request.topic.isEmpty)
      #expect(!request.isBroadcast && request.tokens.count == 1)
    }
    try read(Self.request(#","id":null,"id":"a""#)) { #expect(Self.string($0.id) == "a") }
  }

  @Test func `bound the payload by the push type`() {
    func text(_ bytes: Int, _ type: String) -> String {
      let filler = String(repeating: "x", count: bytes - 26)
      return #"{"app":"a.b","token":"ab","type":"#
        + "\"\(type)\",\"payload\":{\"aps\":{\"badge\":1},\"a\":\"\(filler)\"}}"
    }
    #expect(error(text(4_096, "alert")) == nil)
    #expect(error(text(4_097, "alert"))?.problem == .tooLong(bytes: 4_097, limit: 4_096))
    #expect(error(text(5_120, "voip")) == nil)
    #expect(error(text(5_121, "voip"))?.problem == .tooLong(bytes: 5_121, limit: 5_120))
  }

  @Test func `requests may bring their own apns-id for exactly one token`() throws {
    let id = "0F6E1C1E-5A0B-4C55-9D0E-6F6B3A1C2D3E"
    try read(Self.request(#","apns_id":"\#(id)""#)) { #expect($0.apnsID == NotificationID(id)) }
    let two =
      #"{"app":"a.b","payload":{"aps":{"alert":"x"}},"tokens":["ab","cd"],"apns_id":"\#(id)"}"#
    #expect(error(two)?.problem == .onlyWithOneToken)
  }

  @Test func `requests leave nothing behind for the next one`() throws {
    let reader = RequestReader()
    try read(Self.example, reader) { #expect(!$0.id.isEmpty) }
    try read(Self.request(""), reader) { request in
      #expect(request.id.isEmpty)
      #expect(request.expiration == nil)
      #expect(request[.collapseID].isEmpty)
      #expect(request.tokens.count == 1)
    }
    #expect(reader.refusedID.isEmpty)
  }
}
