// SPDX-License-Identifier: Apache-2.0

import Contract
import Records
import Testing

extension RequestReaderTests {
  private static let refused: [(String, RequestField, RequestError.Problem)] = [
    (#"{}"#, .app, .missing),
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
  ]

  @Test(arguments: RequestReaderTests.refused)
  func `requests are refused with the field and what is wrong with it`(
    text: String, field: RequestField, problem: RequestError.Problem
  ) {
    let found = error(text)
    #expect(found?.field == field, "\(text)")
    #expect(found?.problem == problem, "\(text)")
  }

  @Test func `requests that are refused still tell their id and app, wherever these stand`() {
    let reader = RequestReader()
    func known(_ text: String) -> [String] {
      _ = error(text, reader)
      return [Self.string(reader.refusedID), Self.string(reader.refusedApp)]
    }
    #expect(known(Self.request(#","id":"a\n","priority":7"#)) == [#"a\n"#, "com.example.app"])
    #expect(known(#"{"app":"a.b","id":"x","lane":5}"#) == ["x", "a.b"])
    #expect(known(#"{"app":5,"id":"x"}"#) == ["x", ""])
    #expect(known(#"{"app":"a b","id":"x"}"#) == ["x", ""])
    // Behind what is wrong, as in JSON with sorted names.
    for wrong in [
      #""colour":{"id":"no","app":[1,{}]}"#, #""activity":5"#, #""lane":["a"]"#,
      #""data":{"id":{"id":"no"}}"#, #""event":"a","event":"b""#, #""channel":"a","token":"b""#,
      #""payload":{"aps":{"alert":1,"alert":{"id":"no"},"x":[{"app":"no"}]},"id":"no"}"#,
    ] {
      let text = #"{\#(wrong),"app":"a.b","id":null,"id":"x"}"#
      #expect(known(text) == ["x", "a.b"], "\(wrong)")
    }
    #expect(known(#"{"id":5,"id":"x"}"#) == ["", ""])
    #expect(known(#"{"lane":nul,"id":"x"}"#) == ["", ""])
    #expect(known("{") == ["", ""])
    func id(_ text: String) -> String {
      _ = error(text, reader)
      return reader.refusedIDText
    }
    #expect(id(#"{"app":"a.b","id":"order\/1 \u00e9 \"x\"","lane":5}"#) == "order/1 é \"x\"")
    #expect(id(#"{"app":"a.b","id":"x","lane":5}"#) == "x")
    #expect(id("{") == "")
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
    #expect(words(Self.request(#","expiration":1795000000000"#)).hasSuffix("seconds are expected"))
    #expect(
      words(#"{"app":"a/b","payload":{"aps":{"alert":"x"}},"token":"ab"}"#).hasPrefix(
        "app: has \"/\" at byte 2, where only letters"))
    #expect(
      words(Self.request(#","collapse_id":"a\u0085b""#)).hasPrefix(
        "collapse_id: has U+0085 at byte 2, where only printable ASCII"))
    #expect(words("\u{FEFF}" + Self.request("")).contains("byte order mark"))
    #expect(
      words(Self.request(#","headers":{"apns-id":"x"}"#))
        == "headers.apns-id: is set by Martlet itself, or by APNs in its answers")
    #expect(
      words(#"{"app":"a.b","token":"ab","payload":{"a":01}}"#).hasSuffix(#", at "0" (byte 41)"#))
    #expect(words(Self.request("") + " ,").contains("at the end"))
    #expect(words(#"{"app":"#).contains("at the end"))
    for text in ["x", #"{"app":"#, Self.request("") + " x"] {
      #expect(!words(text).contains(".,"), "\(words(text))")
    }
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
}
