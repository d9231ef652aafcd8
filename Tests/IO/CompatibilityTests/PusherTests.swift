// SPDX-License-Identifier: Apache-2.0
import APNS
import JSON
import Records
import Testing

@testable import Compatibility

/// Records in the format of topfreegames/pusher, and what it makes of them: header fields and body.
@Suite struct PusherTests {
  private func push(_ record: String, environment: Environment = .production) throws -> Push {
    let translator = PusherTranslator(environment: environment)
    let request = try Array(record.utf8).withUnsafeBytes {
      try translator.request($0, app: "com.game.test")
    }
    return try #require(try Push.all(of: request).first)
  }

  private func body(_ record: String) throws -> JSONValue { try push(record).body }

  @Test func `a record is a push to the game's topic`() throws {
    // The example of its README, with a token of hexadecimal digits.
    let example = try push(
      #"{"DeviceToken":"00fc13ad","Payload":{"aps":{"alert":"Helena miss you! come play!"}},"push_expiry":0}"#
    )
    #expect(
      example
        == Push(
          token: "00fc13ad", topic: "com.game.test",
          body: ["aps": ["alert": "Helena miss you! come play!"]]))
    // That of its tests: names in another case.
    let other = try push(#"{"deviceToken":"ab", "payload": {"aps": {"alert": "Hello"}}}"#)
    #expect(try push(#"{"DeviceToken":"00FC","Payload":{"aps":{"badge":1}}}"#).token == "00fc")
    #expect(other.token == "ab" && other.body == ["aps": ["alert": "Hello"]])
    #expect(
      try push(
        #"{"DeviceToken":"ab","Payload":{"aps":{"badge":1}},"collapse_id":"c","ApnsID":"x"}"#,
        environment: .sandbox)
        == Push(
          token: "ab", environment: "sandbox", topic: "com.game.test", collapseID: "c",
          body: ["aps": ["badge": 1]]))
  }

  @Test func `a record without a token, or with letters beyond f, is no push`() {
    // The token of its README's example has both.
    #expect(throws: (any Error).self) {
      try push(#"{"DeviceToken":"H9ZQ","Payload":{"aps":{"alert":"x"}},"push_expiry":0}"#)
    }
    // As some of its tests have it.
    #expect(throws: (any Error).self) {
      try push(#"{"Payload":{"aps":{"alert":"x"}},"Metadata":{"some":"data"}}"#)
    }
  }

  @Test func `an expired record with metadata keeps both`() throws {
    let expired = try push(
      #"{"DeviceToken":"ab","Payload":{"aps":{"alert":"x"}},"Metadata":{"expiration":0},"push_expiry":1700000000}"#
    )
    // Its tests give seconds where milliseconds belong: long past.
    #expect(expired.expiration == "1000000000")
    #expect(try expired.body == json(#"{"M":{"expiration":0},"aps":{"alert":"x"}}"#))
  }

  @Test func `metadata stands at M, but for what is there`() throws {
    #expect(
      try body(
        #"{"DeviceToken":"ab","Payload":{"aps":{"alert":"Hello HTTP/2"}},"Metadata":{"some":"data"}}"#
      )
        == json(#"{"M":{"some":"data"},"aps":{"alert":"Hello HTTP/2"}}"#))
    #expect(
      try body(
        #"{"DeviceToken":"ab","Payload":{"aps":{"alert":"x"},"M":{"previous":"value","some":1}},"Metadata":{"some":"data","new":2}}"#
      ) == json(#"{"M":{"new":2,"previous":"value","some":1},"aps":{"alert":"x"}}"#))
    #expect(
      try body(
        #"{"DeviceToken":"ab","Payload":{"aps":{"alert":"x"}},"metadata":{"nested":{"some":"data"}}}"#
      )
        == json(#"{"M":{"nested":{"some":"data"}},"aps":{"alert":"x"}}"#))
    #expect(
      try body(#"{"DeviceToken":"ab","Payload":{"aps":{"alert":"x"},"M":7},"metadata":{"a":1}}"#)
        == json(#"{"M":7,"aps":{"alert":"x"}}"#))
  }

  @Test func `push_expiry becomes the expiration, for APNs too`() throws {
    func expiration(_ expiry: String) throws -> String? {
      try push(
        #"{"DeviceToken":"ab","Payload":{"aps":{"badge":1}},"push_expiry":\#(expiry)}"#
      ).expiration
    }
    #expect(try expiration("1795000000001") == "1795000001")
    #expect(try expiration("1795000000000") == "1795000000")
    #expect(try expiration("0") == nil)
    #expect(try expiration("-1") == nil)
    // Nanoseconds, as its tests have them: never.
    #expect(try expiration("1795000000000000000") == nil)
  }

  @Test func `what is no request of pusher is named`() {
    func problem(_ record: String) -> String {
      do {
        _ = try push(record)
        return ""
      } catch {
        return "\(error)"
      }
    }
    #expect(problem("not json").hasPrefix("is not valid JSON"))
    #expect(problem("[]") == "is not an object")
    #expect(problem(#"{"DeviceToken":"ab"}"#) == "payload: is required")
    #expect(problem(#"{"DeviceToken":7,"Payload":{}}"#) == "devicetoken: is not a string")
    #expect(problem(#"{"DeviceToken":"ab","Payload":7}"#).contains("payload"))
  }

  @Test func `an entry of the setting names topic, app and game`() throws {
    let topics = try PusherTopic.all([
      "push-mygame_apns-single=com.game.test", "push-my_game-2-apns=a.b", "own=c.d",
    ])
    #expect(topics.map(\.game) == ["mygame", "my_game-2", "c.d"])
    #expect(topics.map(\.app) == ["com.game.test", "a.b", "c.d"])
    for wrong in ["x", "=a", "a=", "a b=c", "a=b=c"] {
      #expect(throws: CompatibilityError.self) { try PusherTopic.all([wrong]) }
    }
    #expect(throws: CompatibilityError.self) { try PusherTopic.all(["a=b", "a=c"]) }
  }

  @Test func `an answer of APNs has the members that listeners of pusher read`() throws {
    let device = DeviceKey(token: "ab", app: "com.game.test", environment: .production)
    let feedback = FeedbackRecord(
      device: device, topic: "com.game.test", status: 410, reason: "Unregistered",
      timestamp: 1_795_000_000_000, apnsID: "i", sentAt: 1_795_000_001_999, at: 1_795_000_002_000)
    #expect(
      try PusherFeedback.value(feedback, game: "mygame")
        == json(
          #"{"Sent":false,"StatusCode":410,"Reason":"Unregistered","ApnsID":"i","Err":{"Key":"unregistered","Description":"Unregistered"},"DeviceToken":"ab","timestamp":1795000001,"metadata":{"game":"mygame","deviceToken":"ab","deleteToken":true}}"#
        ))
    var other = feedback
    other.reason = "BadTopic"
    let value = PusherFeedback.value(other, game: "g")
    #expect(value["Err"]?["Key"]?.string == "bad-topic")
    #expect(value["metadata"]?["deleteToken"] == nil)
    other.reason = "New"
    #expect(PusherFeedback.value(other, game: "g")["Err"]?["Key"]?.string == "unexpected")
  }
}
