// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// Which devices of people get a request.
@Suite struct AddresseesTests {
  @Test func `details and models of other bytes but equal text are not the same`() {
    #expect(DeviceDetails(user: "\u{E9}") != DeviceDetails(user: "e\u{301}"))
    #expect(DeviceDetails(user: "\u{E9}") == DeviceDetails(user: "\u{E9}"))
    let devices = ["\u{E9}", "e\u{301}"].map { Recipients.Device(token: "a", model: $0.exact) }
    #expect(Recipients.chosen(devices, onePerModel: true).count == 2)
  }

  @Test func `an alert goes to the tokens of the app, any other type to tokens of its own`() {
    func types(_ type: String) -> [String?] {
      Recipients(type: type, users: ["ann"]).registrationTypes
    }
    #expect(types("alert") == [nil, "alert", "background"])
    #expect(types("background") == types("alert"))
    #expect(types("voip") == ["voip"] && types("weather") == ["weather"])
  }

  @Test func `an activity is started by a token that starts any, and followed by its own`() {
    func registered(_ event: Recipients.Activity.Event) -> ExactText? {
      Recipients(
        type: "liveactivity", users: ["ann"], activity: .init(name: "order-1", event: event)
      ).registeredActivity
    }
    #expect(registered(.start) == nil && registered(.startOrUpdate) == nil)
    #expect(registered(.update) == "order-1" && registered(.end) == "order-1")
    #expect(Recipients(type: "alert", users: ["ann"]).registeredActivity == nil)
  }

  @Test func `all users together have no more devices than a request has tokens`() {
    for count in [1, 2, 3, 7, 99, RequestRules.maximumUsers] {
      let users = (0..<count).map { "u\($0)".exact }
      let most = Recipients(type: "alert", users: users).devicesOfEach
      #expect(most * count <= RequestRules.maximumTokens && most >= 10)
    }
  }

  @Test func `of devices with one model and bundle only the newest is chosen where that is wanted`()
  {
    let devices: [Recipients.Device] = [
      .init(token: "5", bundle: "b", model: "iPhone17,1"),
      .init(token: "4", bundle: "b", model: "iPhone17,1"),
      .init(token: "3", bundle: "c", model: "iPhone17,1"),
      .init(token: "2", model: "iPhone17,1"), .init(token: "1"), .init(token: "0"),
    ]
    #expect(Recipients.chosen(devices, onePerModel: false) == devices)
    #expect(
      Recipients.chosen(devices, onePerModel: true).map(\.token) == ["5", "3", "2", "1", "0"])
  }

  @Test func `the request for the devices is the same with their tokens`() {
    let json = Array(#"  {"user":"a{\"","id":"r"}"#.utf8)
    func made(_ tokens: [String]) -> String {
      String(
        decoding: Recipients.request(json, to: tokens.map { Recipients.Device(token: $0) }),
        as: UTF8.self)
    }
    #expect(made(["ab", "cd"]) == #"{"tokens":["ab","cd"],"user":"a{\"","id":"r"}"#)
    #expect(made([]) == #"{"tokens":[],"user":"a{\"","id":"r"}"#)
  }
}
