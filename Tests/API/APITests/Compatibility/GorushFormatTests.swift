// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Testing

@testable import API

/// Requests in gorush's format, and what gorush makes of them (gorush 1.22, apns2 0.25): header fields and body.
@Suite struct GorushFormatTests {
  private func pushes(_ body: String, app: String? = "com.example.app") throws -> [Push] {
    let translator = GorushTranslator(app: app, environment: .production, types: .builtIn)
    return try GorushNotification.all(in: json(body), limit: 100).flatMap { notification in
      guard notification.platform == .ios else { return [Push]() }
      return try translator.requests(notification).flatMap { try Push.all(of: $0.text) }
    }
  }

  private func push(_ members: String) throws -> Push {
    let pushes = try pushes(#"{"notifications":[{"tokens":["ab12"],"platform":1,\#(members)}]}"#)
    return try #require(pushes.first)
  }

  private func body(_ members: String) throws -> JSONValue { try push(members).body }

  // MARK: Each example of gorush's documentation

  @Test func `a message is the alert, for each token`() throws {
    let both = try pushes(
      #"{"notifications":[{"tokens":["aa","bb"],"platform":1,"message":"Hello World iOS!"}]}"#)
    let expected = Push(
      token: "aa", topic: "com.example.app", body: ["aps": ["alert": "Hello World iOS!"]])
    var second = expected
    second.token = "bb"
    #expect(both == [expected, second])
  }

  @Test func `notifications for other platforms are none for iOS`() throws {
    let mixed = try pushes(
      #"""
      {"notifications":[
        {"tokens":["aa","bb"],"platform":1,"message":"Hello World iOS!"},
        {"tokens":["x","y"],"platform":2,"message":"Hello World Android!"},
        {"tokens":["x","y"],"platform":3,"message":"Hello World Huawei!"}]}
      """#)
    #expect(mixed.map(\.token) == ["aa", "bb"])
  }

  @Test func `members of alert make an object`() throws {
    #expect(
      try body(
        #""badge":5,"alert":{"title":"Game Request","body":"Bob wants to play poker","action-loc-key":"PLAY"}"#
      )
        == json(
          #"{"aps":{"alert":{"action-loc-key":"PLAY","body":"Bob wants to play poker","title":"Game Request"},"badge":5}}"#
        ))
  }

  @Test func `a sound may be an object`() throws {
    #expect(
      try body(
        #""message":"You got your emails.","badge":9,"sound":{"critical":1,"name":"default","volume":1.0}"#
      )
        == json(
          #"{"aps":{"alert":"You got your emails.","badge":9,"sound":{"critical":1,"name":"default","volume":1.0}}}"#
        ))
  }

  @Test func `data stands beside aps`() throws {
    #expect(
      try body(#""message":"Hello World iOS!","data":{"key2":2,"key1":"welcome"}"#)
        == json(#"{"aps":{"alert":"Hello World iOS!"},"key1":"welcome","key2":2}"#))
  }

  @Test
  func `production and development choose the environment, production before development`() throws {
    #expect(try push(#""message":"x","production":true"#).environment == "production")
    #expect(try push(#""message":"x","development":true"#).environment == "sandbox")
    #expect(
      try push(#""message":"x","development":true,"production":true"#).environment == "production")
    let sandbox = GorushTranslator(app: "a.b", environment: .sandbox, types: .builtIn)
    let one = try GorushNotification(json(#"{"tokens":["aa"],"platform":1,"message":"x"}"#))
    #expect(try sandbox.requests(one).first?["environment"]?.string == "sandbox")
  }

  @Test func `what goes to iOS through Firebase is none for APNs`() throws {
    #expect(
      try pushes(
        #"""
        {"notifications":[
          {"tokens":["aa"],"platform":2,"title":"t","message":"m",
           "apns":{"payload":{"aps":{"sound":{"name":"default","critical":1,"volume":0.1}}}}},
          {"topic":"scores","platform":2,"message":"m"},
          {"to":"/topics/scores","platform":2,"message":"m"},
          {"topic":"scores","platform":3,"title":"t","message":"m"}]}
        """#
      ).isEmpty)
  }

  @Test func `two notifications of a body may differ in their environment`() throws {
    let both = try pushes(
      #"""
      {"notifications":[
        {"tokens":["aa","bb"],"platform":1,"production":true,"message":"Production"},
        {"tokens":["aa","bb"],"platform":1,"development":true,"message":"Sandbox"}]}
      """#)
    #expect(both.map(\.environment) == ["production", "production", "sandbox", "sandbox"])
    #expect(both.map(\.token) == ["aa", "bb", "aa", "bb"])
    #expect(both.allSatisfy { $0.topic == "com.example.app" && $0.type == "alert" })
    #expect(both.map { $0.body["aps"]?["alert"]?.string ?? "" }.last == "Sandbox")
  }

  @Test func `the start of a Live Activity has its attributes`() throws {
    let start = try push(
      #"""
      "push_type":"liveactivity","topic":"com.example.app.push-type.liveactivity","event":"start",
      "timestamp":1685952000,"content-state":{"homeScore":0,"minute":1,"period":"1H"},
      "attributes-type":"FootballMatchAttributes","attributes":{"homeTeam":"Team 1"},
      "relevance-score":0.50,"alert":{"title":"Team 1 vs Team 2","body":"Kick-off!"}
      """#)
    let wanted = try json(
      #"""
      {"aps":{"alert":{"body":"Kick-off!","title":"Team 1 vs Team 2"},"attributes":{"homeTeam":"Team 1"},
      "attributes-type":"FootballMatchAttributes","content-state":{"homeScore":0,"minute":1,"period":"1H"},
      "event":"start","relevance-score":0.5,"timestamp":1685952000}}
      """#)
    #expect(start.body == wanted)
    #expect(try body(#""message":"x","attributes":{}"#) == ["aps": ["alert": "x"]])
    #expect(throws: CompatibilityError.self) { try body(#""message":"x","relevance-score":"1""#) }
  }

  @Test func `one recipient may stand in to, besides the tokens`() throws {
    let pushes = try pushes(
      #"""
      {"notifications":[{"to":"cc","platform":1,"message":"x"},
        {"tokens":["aa"],"to":"bb","platform":1,"message":"x"}]}
      """#)
    #expect(pushes.map(\.token) == ["cc", "aa", "bb"])
  }

  @Test func `numbers keep their digits, wherever they stand`() throws {
    let numbers =
      "[9223372036854775808,-9223372036854775809,123456789012345678901234567890,1E5,1e-7,1.10,-0,-0.0,1E400,0.1]"
    let notification = try GorushNotification(
      json(
        #"{"tokens":["aa"],"platform":1,"message":"x","data":{"n":\#(numbers),"o":{"p":\#(numbers)}},"#
          + #""content-state":{"n":\#(numbers)},"attributes":{"n":\#(numbers)},"relevance-score":0.10}"#
      ))
    let text = String(decoding: try notification.payload().text, as: UTF8.self)
    #expect(text.ranges(of: "\"n\":\(numbers)").count == 3)
    #expect(text.contains("\"p\":\(numbers)") && text.contains(#""relevance-score":0.10"#))
  }

  // MARK: Header fields

  @Test func `each header field has its member`() throws {
    let id = "0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a"
    #expect(
      try push(
        #""message":"x","topic":"com.example.other","priority":"normal","expiration":1900000000,"collapse_id":"c","apns_id":"\#(id)""#
      )
        == Push(
          token: "ab12", topic: "com.example.other", priority: "5", expiration: "1900000000",
          collapseID: "c", id: id, body: ["aps": ["alert": "x"]]))
    #expect(try push(#""message":"x","priority":"high""#).priority == "10")
    #expect(try push(#""message":"x","priority":"other""#).priority == "10")
    #expect(try push(#""message":"x","expiration":0"#).expiration == "0")
    #expect(try push(#""message":"x""#).expiration == nil)
  }

  @Test func `the topic of a push type is the app and the type's suffix`() throws {
    let call = try push(#""topic":"com.example.app.voip","push_type":"voip","message":"x""#)
    #expect(call.topic == "com.example.app.voip" && call.type == "voip")
    let silent = try push(#""push_type":"background","content_available":true"#)
    #expect(silent.type == "background" && silent.priority == "5")
    #expect(silent.body == ["aps": ["content-available": 1]])
    let activity = try push(
      #""push_type":"liveactivity","topic":"com.example.app.push-type.liveactivity","priority":"high","event":"update","timestamp":1795000000,"stale-date":1795000100,"dismissal-date":1795000200,"content-state":{"b":1,"a":[2]}"#
    )
    #expect(activity.topic == "com.example.app.push-type.liveactivity")
    #expect(
      try activity.body
        == json(
          #"{"aps":{"content-state":{"a":[2],"b":1},"dismissal-date":1795000200,"event":"update","stale-date":1795000100,"timestamp":1795000000}}"#
        ))
  }

  // MARK: Members of the body

  @Test func `a message without a title gives way to members of alert`() throws {
    #expect(
      try body(#""message":"lost","alert":{"title":"t"}"#) == ["aps": ["alert": ["title": "t"]]])
    #expect(
      try body(#""message":"m","title":"t""#)
        == json(#"{"aps":{"alert":{"body":"m","title":"t"}}}"#))
    #expect(
      try body(#""message":"m","title":"t","alert":{"title":"u","body":"n"}"#)
        == json(#"{"aps":{"alert":{"body":"n","title":"u"}}}"#))
  }

  @Test func `every member of alert is passed on`() throws {
    let alert =
      #"{"action":"a","action-loc-key":"b","body":"c","launch-image":"d","loc-args":["e"],"loc-key":"f","title":"g","subtitle":"h","title-loc-args":["i","j"],"title-loc-key":"k","summary-arg":"l","summary-arg-count":3}"#
    let sent = try body(#""alert":\#(alert)"#)["aps"]?["alert"]
    #expect(try sent?.sortedByKey == json(alert).sortedByKey)
  }

  @Test func `every other member has its place in aps`() throws {
    #expect(
      try body(
        #""message":"m","badge":0,"category":"c","content_available":true,"interruption_level":"passive","mutable_content":true,"sound":"s","thread-id":"t","url-args":["u","v"]"#
      )
        == json(
          #"{"aps":{"alert":"m","badge":0,"category":"c","content-available":1,"interruption-level":"passive","mutable-content":1,"sound":"s","thread-id":"t","url-args":["u","v"]}}"#
        ))
    #expect(try body(#""message":"m","badge":-1"#) == ["aps": ["alert": "m"]])
    #expect(
      try body(#""message":"m","mutable_content":false,"sound":7"#) == ["aps": ["alert": "m"]])
  }

  @Test func `name and volume make a critical sound`() throws {
    func sound(_ members: String) throws -> JSONValue? {
      try body(#""message":"m",\#(members)"#)["aps"]?["sound"]
    }
    #expect(try sound(#""name":"n""#) == ["critical": 1, "name": "n", "volume": 1])
    #expect(try sound(#""volume":0.5"#) == ["critical": 1, "name": "default", "volume": 0.5])
    #expect(
      try sound(#""name":"n","volume":0.5,"sound":{"critical":0}"#)
        == ["critical": 1, "name": "n", "volume": 0.5])
  }

  @Test func `names in any case count, the last one wins, and null is absence`() throws {
    #expect(
      try body(#""Message":"a","message":"b","badge":null,"Colour":1"#) == ["aps": ["alert": "b"]])
  }

  // MARK: Differences, as docs/migrating.md lists them

  @Test func `a push that shows nothing goes as background`() throws {
    let silent = try push(#""content_available":true,"priority":"high","data":{"a":1}"#)
    #expect(silent.type == "background" && silent.priority == "5")
  }

  @Test func `an apns_id of several tokens becomes the request's id`() throws {
    let one = try GorushNotification(
      json(
        #"{"tokens":["aa","bb"],"platform":1,"message":"x","apns_id":"0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a"}"#
      ))
    let translator = GorushTranslator(app: "a.b", environment: .production, types: .builtIn)
    let request = try #require(try translator.requests(one).first)
    #expect(request["id"]?.string == "0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a")
    #expect(request["apns_id"] == nil)
    let named = try GorushNotification(
      json(#"{"tokens":["aa"],"platform":1,"message":"x","notif_id":"n"}"#))
    #expect(try translator.requests(named).first?["id"]?.string == "n")
  }

  @Test func `more than 1,000 tokens are several requests`() throws {
    let tokens = (0..<2_500).map { #""\#(10_000 + $0)ab""# }.joined(separator: ",")
    let one = try GorushNotification(
      json(#"{"tokens":[\#(tokens)],"platform":1,"message":"x","notif_id":"n"}"#))
    let translator = GorushTranslator(app: "a.b", environment: .production, types: .builtIn)
    let requests = try translator.requests(one)
    #expect(requests.map { $0["tokens"]?.array?.count } == [1_000, 1_000, 500])
    #expect(requests.allSatisfy { $0["id"]?.string == "n" })
  }

  @Test
  func `a token that is not hexadecimal is refused, as the placeholders of gorush's examples are`()
  {
    #expect(throws: (any Error).self) {
      try pushes(#"{"notifications":[{"tokens":["token_a"],"platform":1,"message":"x"}]}"#)
    }
  }

  @Test func `a volume above 1 is refused, as gorush's example of a sound has it`() throws {
    #expect(throws: (any Error).self) {
      try body(#""message":"x","sound":{"critical":1,"name":"default","volume":2.0}"#)
    }
  }

  @Test func `what cannot be sent is named by its member`() {
    func problem(_ body: String) -> String {
      do {
        _ = try pushes(body, app: nil)
        return ""
      } catch {
        return "\(error)"
      }
    }
    func notification(_ members: String) -> String {
      problem(#"{"notifications":[{"platform":1,\#(members)}]}"#)
    }
    #expect(problem("{}") == "Missing notifications field.")
    #expect(problem("[]") == "is not an object")
    #expect(problem(#"{"notifications":[]}"#) == "Notifications field is empty.")
    #expect(problem(#"{"notifications":7}"#) == "notifications: is not an array")
    let many = Array(repeating: "{}", count: 101).joined(separator: ",")
    #expect(
      problem(#"{"notifications":[\#(many)]}"#) == "Number of notifications(101) over limit(100)")
    #expect(
      notification(#""tokens":["aa"],"mutable_content":1"#)
        == "notifications[0].mutable_content: is not true or false")
    #expect(
      notification(#""tokens":["aa"],"alert":{"body":1}"#)
        == "notifications[0].alert.body: is not a string")
    #expect(notification(#""message":"x""#) == "tokens: is required")
    #expect(notification(#""tokens":["aa"],"message":"x""#).hasPrefix("topic: is required"))
    #expect(
      notification(#""tokens":["aa"],"topic":"a.b","push_type":"voip""#).hasPrefix(
        "topic: does not end in .voip"))
    #expect(notification(#""tokens":["aa"],"topic":"a.b","push_type":"x""#).hasPrefix("push_type:"))
    #expect(
      notification(#""tokens":["aa"],"topic":"a.b","data":{"aps":{}}"#).hasPrefix("data.aps:"))
  }

  @Test func `an entry of logs has gorush's members, with the token hidden`() throws {
    let one = try GorushNotification(
      json(#"{"tokens":["aa"],"platform":2,"message":"m","notif_id":"n"}"#))
    #expect(
      GorushAnswer.log(one, token: "0123456789abcdef0123456789", error: "e") == [
        "notif_id": "n", "type": "failed-push", "platform": "android",
        "token": "**********abcdef**********", "message": "m", "error": "e",
      ])
  }
}
