// SPDX-License-Identifier: Apache-2.0

import APNS
import Bytes
import Contract
import Random
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

  private func read<Result>(
    _ text: String, _ reader: RequestReader = RequestReader(),
    _ body: (PushRequest) -> Result
  ) throws(RequestError) -> Result {
    let bytes = Array(text.utf8)
    return try bytes.withUnsafeBytes { raw in
      Swift.Result { () throws(RequestError) in body(try reader.read(raw)) }
    }.get()
  }

  private func error(_ text: String, _ reader: RequestReader = RequestReader()) -> RequestError? {
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

  @Test func `requests expire at a time, or some seconds after their own time, and not both`()
    throws
  {
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
    for both in [
      #","expires_in":90,"expiration":1900000000"#, #","expiration":0,"expires_in":0"#,
    ] {
      #expect(
        error(Self.request(both))?.description == "expires_in: cannot be combined with expiration")
    }
    #expect(error(Self.request(#","expires_in":"90""#))?.field == .expiresIn)
    #expect(error(Self.request(#","expires_in":-1"#))?.field == .expiresIn)
    #expect(error(Self.request(#","expires_in":1795224000"#))?.field == .expiresIn)
  }

  @Test func `of a type of the setting have its name and suffix; without it they are refused`()
    throws
  {
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

  @Test func `requests keep the payload's own white space and escapes, and nothing around it`()
    throws
  {
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
      try normalize(decorated) {
        #expect($0 == String(decoding: good, as: UTF8.self).lowercased())
      }
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

  @Test(arguments: [
    (#"{}"#, RequestField.app, RequestError.Problem.missing),
    (#"{"app":"a"}"#, .payload, .missing),
    (#"{"app":"a","payload":{"aps":{"alert":"x"}}}"#, .token, .missing),
    (#"{"app":5,"payload":{"aps":{"alert":"x"}},"token":"ab"}"#, .app, .notA("a string")),
    (#"{"app":"","payload":{"aps":{"alert":"x"}},"token":"ab"}"#, .app, .emptyText),
    (
      #"{"app":"a b","payload":{"aps":{"alert":"x"}},"token":"ab"}"#, .app,
      .forbiddenCharacter("a blank", at: 1)
    ),
    (#"{"app":"a","payload":[],"token":"ab"}"#, .payload, .notA("an object")),
    (#"{"app":"a","payload":"{}","token":"ab"}"#, .payload, .notA("an object")),
    (#"{"app":"a","payload":null,"token":"ab"}"#, .payload, .missing),
    (#"{"app":null,"payload":{"aps":{"alert":"x"}},"token":"ab"}"#, .app, .missing),
    (#"{"app":"a","payload":{"aps":{"alert":"x"}},"token":null}"#, .token, .missing),
    (#"{"app":"a","payload":{"aps":{"alert":"x"}},"token":["ab"]}"#, .token, .notA("a string")),
    (#"{"app":"a","payload":{"aps":{"alert":"x"}},"tokens":"ab"}"#, .tokens, .notA("an array")),
    (
      #"{"app":"a","payload":{"aps":{"alert":"x"}},"token":"ab","tokens":[]}"#, .tokens,
      .bothTokenAndTokens
    ),
    (#"{"app":"a","app":"a","payload":{"aps":{"alert":"x"}},"token":"ab"}"#, .app, .duplicate),
    (request(#","priority":7"#), .priority, .priorityNotAllowed(7, .alert, [10, 5, 1])),
    (request(#","priority":"10""#), .priority, .notA("an integer")),
    (request(#","priority":10.5"#), .priority, .notA("an integer")),
    (
      request(#","type":"background","priority":10"#), .priority,
      .priorityNotAllowed(10, .background, [5])
    ),
    (
      request(#","type":"alarm""#), .type,
      .unknownValue("alarm", PushType.allCases.map(\.description))
    ),
    (
      request(#","environment":"prod""#), .environment,
      .unknownValue("prod", ["production", "sandbox"])
    ),
    (request(#","lane":"fast""#), .lane, .unknownValue("fast", ["transactional", "bulk"])),
    (request(#","expiration":1795000000000"#), .expiration, .notSeconds(1_795_000_000_000)),
    (
      request(#","topic":"com.example.other""#), .topic,
      .topicDoesNotMatch(expected: "com.example.app")
    ),
    (request(#","expiration":-1"#), .expiration, .negative),
    (request(#","expiration":"soon""#), .expiration, .notA("an integer")),
    (
      request(#","collapse_id":" x""#), .collapseID, .forbiddenCharacter("a blank", at: 0)
    ),
    (
      request(#","collapse_id":"a\nb""#), .collapseID, .forbiddenCharacter("U+000A", at: 1)
    ),
    (
      request(#","collapse_id":"spécial""#), .collapseID, .forbiddenCharacter("\"é\"", at: 2)
    ),
    (request(#","id":"""#), .id, .emptyText),
    (request(#","apns_id":"nope""#), .apnsID, .notUUID),
  ])
  func `requests are refused with the field and what is wrong with it`(
    text: String, field: RequestField, problem: RequestError.Problem
  ) {
    let found = error(text)
    #expect(found?.field == field, "\(text)")
    #expect(found?.problem == problem, "\(text)")
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

  @Test func `requests that are refused still tell their id and app, as far as they were read`() {
    let reader = RequestReader()
    func known(_ text: String) -> [String] {
      _ = error(text, reader)
      return [Self.string(reader.refusedID), Self.string(reader.refusedApp)]
    }
    #expect(known(Self.request(#","id":"a\n","priority":7"#)) == [#"a\n"#, "com.example.app"])
    #expect(known(#"{"app":"a.b","id":"x","lane":5}"#) == ["x", "a.b"])
    #expect(known(#"{"app":5,"id":"x"}"#) == ["", ""])
    #expect(known(#"{"app":"a b","id":"x"}"#) == ["x", ""])
    #expect(known("{") == ["", ""])
  }

  @Test
  func
    `refusals of requests say what to do: values, seconds, the character and its place, a byte order mark`()
  {
    func words(_ text: String) -> String { error(text)?.description ?? "" }
    #expect(
      words(Self.request(#","environment":"prod""#))
        == "environment: \"prod\" is not one of production, sandbox")
    #expect(
      words(Self.request(#","type":"liveactivity","priority":1"#))
        == "priority: 1 is not allowed for type liveactivity; use 10 or 5")
    #expect(
      words(Self.request(#","expiration":1795000000000"#)).hasSuffix("seconds are expected"))
    #expect(
      words(#"{"app":"a/b","payload":{"aps":{"alert":"x"}},"token":"ab"}"#).hasPrefix(
        "app: has \"/\" at byte 2, where only letters"))
    #expect(
      words(Self.request(#","collapse_id":"a\u0085b""#)).hasPrefix(
        "collapse_id: has U+0085 at byte 2, where only printable ASCII"))
    #expect(words("\u{FEFF}" + Self.request("")).contains("byte order mark"))
    #expect(
      words(#"{"app":"a.b","token":"ab","payload":{"a":01}}"#).hasSuffix(#", at "0" (byte 41)"#))
    #expect(words(Self.request("") + " ,").contains("at the end"))
    #expect(words(#"{"app":"#).contains("at the end"))
    #expect(words(Self.request(#","lane":nul"#)).hasPrefix("lane: is not valid JSON: "))
  }

  @Test func `name a field that does not exist, with its place`() {
    let found = error(Self.request(#","colour":"red""#))
    #expect(found?.problem == .unknownField("colour"))
    #expect(found?.description.hasPrefix("colour: is not a field of a request (byte ") == true)
  }

  @Test func `requests that are no JSON objects are refused as such`() {
    #expect(error("")?.problem == .empty)
    #expect(error("  ")?.problem == .empty)
    for text in ["[]", "7", "\"x\"", "null"] { #expect(error(text)?.field == nil, "\(text)") }
    #expect(error("[]")?.problem == .notAnObject)
    for text in [
      "{", "{\"app\":", "}", "{\"app\":\"a\"} {}", Self.request("") + "x", Self.request("") + ",",
    ] {
      guard case .malformed = error(text)?.problem else {
        Issue.record("\(text) gave \(String(describing: error(text)))")
        continue
      }
    }
  }

  @Test func `requests with a payload that is broken anywhere inside are refused at the payload`() {
    for payload in [
      #"{"a":tru}"#, #"{"a" 1}"#, #"{"a":01}"#, #"{"a":"\x"}"#, #"{"a":1.}"#, #"{"a":[1,]}"#,
      #"{,}"#,
      #"{"a":"\ud800"}"#, #"{"a":-}"#, #"{"a":[1 2]}"#, #"{1:2}"#,
    ] {
      let found = error(#"{"app":"a.b","token":"ab","payload":"# + payload + "}")
      #expect(found?.field == .payload, "\(payload): \(String(describing: found))")
      #expect((found?.offset ?? 0) >= 33, "\(payload): \(String(describing: found))")
    }
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

  @Test func `name header fields of their own, which nothing else sets`() throws {
    func headers(_ object: String) -> String? {
      error(Self.request(#","headers":\#(object)"#))?.description
    }
    #expect(headers(#"{"apns-new-thing":"x","apns-9.b":"~ !"}"#) == nil)
    for name in CarriedHeaders.reserved + ["apns-collapse-id"] {
      #expect(
        headers(#"{"\#(name)":"x"}"#)
          == "headers.\(name): is set by Martlet itself, or by APNs in its answers")
    }
    for name in ["", "apns-", "Apns-x", "apns-X", "apns-a b", "apns-a:", "x", ":path", "apns-é"] {
      #expect(
        headers(#"{"\#(name)":"x"}"#)?.hasPrefix("headers.\(name): is no name of such a header")
          == true, "\(name)")
    }
    #expect(headers(#"{"apns-x":""}"#) == "headers.apns-x: is empty")
    for (value, character, place) in [
      (" a", "a blank", 1), ("a ", "a blank", 2), (#"a\r"#, "U+000D", 2), ("é", "\"é\"", 1),
      (#"\u0000"#, "U+0000", 1), ("a\u{7F}", "U+007F", 2),
    ] {
      #expect(
        headers(#"{"apns-x":"\#(value)"}"#)
          == "headers.apns-x: has \(character) at byte \(place), where only printable ASCII, "
          + "and no blank at either end, is allowed")
    }
    #expect(headers(#"{"apns-x":1}"#)?.hasPrefix("headers.apns-x: is not a string") == true)
    #expect(headers(#"{"apns-x":null}"#)?.hasPrefix("headers.apns-x: is not a string") == true)
    #expect(headers(#"["apns-x"]"#)?.hasPrefix("headers: is not an object") == true)
    #expect(headers(#"{"apns-x":"1","apns-\u0078":"2"}"#) == "headers.apns-x: is given twice")
    let many = (0..<9).map { #""apns-\#($0)":"x""# }
    #expect(headers("{\(many.prefix(8).joined(separator: ","))}") == nil)
    #expect(headers("{\(many.joined(separator: ","))}") == "headers: has more than 8 entries")
    func sized(_ count: Int) -> String {
      #"{"apns-x":"\#(String(repeating: "v", count: count - 6))"}"#
    }
    #expect(headers(sized(256)) == nil)
    #expect(headers(sized(257)) == "headers: has 257 bytes, more than 256")
  }

  @Test func `requests give data that comes back`() throws {
    func data(_ object: String) -> String? {
      error(Self.request(#","data":\#(object)"#))?.description
    }
    for object in [
      "{}", #"{"":""}"#, #"{"a":"b","c":"d"}"#, #"{"a":"\ud83d\ude00\u0000\t"}"#,
    ] {
      #expect(data(object) == nil)
    }
    #expect(data(#"{"a":{"b":"c"}}"#)?.hasPrefix("data.a: is not a string") == true)
    #expect(data(#"{"a":1}"#)?.hasPrefix("data.a: is not a string") == true)
    #expect(data(#""x""#)?.hasPrefix("data: is not an object") == true)
    #expect(data(#"{"a":"1","\u0061":"2"}"#) == "data.a: is given twice")
    #expect(data(#"{"a":"\ud800"}"#)?.contains("is not valid JSON") == true)
    #expect(data(#"{"a":"b""#)?.contains("is not valid JSON") == true)
    func sized(_ count: Int) -> String {
      #"{ "k" : "\#(String(repeating: "d", count: count - 8))" }"#
    }
    #expect(data(sized(512)) == nil)
    #expect(data(sized(513)) == "data: has 513 bytes, more than 512")
    let members = (0..<129).map { #""\#($0)":"""# }.joined(separator: ",")
    #expect(data("{\(members)}")?.hasPrefix("data: has more than 128 entries") == true)
    try read(Self.request(#","data":{ "a" : "b" }"#)) { request in
      var text = ByteBuffer()
      request.data?.appendObject(to: &text)
      #expect(Self.string(text.bytes) == #"{"a":"b"}"#)
    }
    try read(Self.request("")) { #expect($0.data == nil && $0.headers.isEmpty) }
  }

  @Test func `requests carry so much together, the id as it stands among it`() throws {
    func text(_ idCount: Int) -> String {
      let id = String(repeating: #"\u00e9"#, count: idCount / 6)
      return Self.request(
        #","id":"\#(id)","data":{"k":"\#(String(repeating: "d", count: 504))"},"#
          + #""headers":{"apns-x":"\#(String(repeating: "v", count: 250))"}"#)
    }
    #expect(error(text(288)) == nil)
    #expect(
      error(text(294))?.description
        == "request: id, collapse_id, headers and data have 1062 bytes together, more than 1056")
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

  @Test func `requests survive 100,000 random mutations: read, or refused with a named place`() {
    var random = SeededGenerator(seed: 2)
    let reader = RequestReader()
    let alphabet = Array(#"{}[]",:\u0e-tfn "#.utf8)
    var refused = 0
    for round in 0..<100_000 {
      var text = Array((round % 2 == 0 ? Self.example : Self.request(#","tokens":["a"]"#)).utf8)
      for _ in 0...Int(random.next() % 3) where !text.isEmpty {
        let position = Int(random.next() % UInt64(text.count))
        switch random.next() % 4 {
        case 0: text[position] = UInt8(truncatingIfNeeded: random.next())
        case 1: text[position] = alphabet[Int(random.next() % UInt64(alphabet.count))]
        case 2: text.remove(at: position)
        default: text.swapAt(position, Int(random.next() % UInt64(text.count)))
        }
      }
      text.withUnsafeBytes { raw in
        do throws(RequestError) {
          let request = try reader.read(raw)
          #expect(request.tokens.count > 0)
        } catch {
          refused += 1
          #expect((error.offset ?? 0) <= raw.count)
          #expect(!error.description.isEmpty)
        }
      }
    }
    #expect(refused > 50_000)
    #expect(refused < 100_000)
  }
}
