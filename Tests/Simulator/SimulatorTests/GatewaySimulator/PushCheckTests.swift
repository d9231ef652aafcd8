// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import GatewayModel
import GatewaySimulator
import Testing

@Suite struct PushCheckTests {
  private static let now: Int64 = 1_795_000_000_000
  private let push: PushText
  private let key: TestKey

  init() throws {
    key = try TestKey()
    push = PushText(token: try key.token(issuedAt: Self.now / 1_000))
  }

  private func refusal(
    _ push: PushText, _ devices: DeviceRegistry = DeviceRegistry(),
    rules: GatewayRules = GatewayRules()
  ) -> Refusal? {
    judgement(push, devices, rules: rules).refusal
  }

  private func judgement(
    _ push: PushText, _ devices: DeviceRegistry = DeviceRegistry(),
    rules: GatewayRules = GatewayRules(), environment: Environment = .production
  ) -> PushJudgement {
    var validator = PushValidator(
      keys: [GatewayKey(keyID: key.id, teamID: key.team, publicKey: key.key.publicKey)],
      devices: devices, environment: environment, rules: rules)
    var access = ConnectionAccess()
    return push.withFields { validator.judge($0, &access, now: Self.now) }
  }

  @Test func `a complete push is accepted`() {
    #expect(refusal(push) == nil)
  }

  @Test(arguments: [
    "apns-id", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id",
  ])
  func `an optional header may be absent`(name: String) {
    #expect(refusal(push.with(name, nil)) == nil)
  }

  @Test(arguments: [
    (":path", "/3/devices/00", Reason.badPath),
    (":path", "/", .badPath),
    (":path", "/3/device", .missingDeviceToken),
    (":path", "/3/device/", .missingDeviceToken),
    (":path", "/3/device/abc", .badDeviceToken),
    (":path", "/3/device/xy", .badDeviceToken),
    (":method", "GET", .methodNotAllowed),
    ("apns-id", "0f6e1c1e5a0b4c559d0e6f6b3a1c2d3e", .badMessageId),
    ("apns-id", "", .badMessageId),
    ("authorization", "basic abc", .missingProviderToken),
    ("authorization", "bearer ", .missingProviderToken),
    ("authorization", "bearer abc", .invalidProviderToken),
    ("apns-topic", "", .missingTopic),
    ("apns-topic", "com.example app", .badTopic),
    ("apns-push-type", "fancy", .invalidPushType),
    ("apns-push-type", "voip", .badTopic),
    ("apns-priority", "7", .badPriority),
    ("apns-priority", "high", .badPriority),
    ("apns-push-type", "background", .badPriority),
    ("apns-expiration", "-1", .badExpirationDate),
    ("apns-expiration", "tomorrow", .badExpirationDate),
    ("apns-collapse-id", String(repeating: "c", count: 65), .badCollapseId),
  ])
  func `a wrong header has its reason`(name: String, value: String, reason: Reason) {
    #expect(refusal(push.with(name, value)) == Refusal(reason))
  }

  @Test(arguments: [
    (":path", Reason.badPath), (":method", .methodNotAllowed),
    ("authorization", .missingProviderToken), ("apns-topic", .missingTopic),
  ])
  func `a required header that is absent has its reason`(name: String, reason: Reason) {
    #expect(refusal(push.with(name, nil)) == Refusal(reason))
  }

  @Test(arguments: ["apns-id", "apns-topic", "authorization", "apns-priority"])
  func `a repeated header is refused`(name: String) {
    let value = push.fields.first { $0.name == name }?.value ?? ""
    #expect(refusal(push.adding(name, value)) == Refusal(.duplicateHeaders))
  }

  @Test func `an unknown header is ignored even twice`() {
    #expect(refusal(push.adding("x-note", "a").adding("x-note", "b")) == nil)
  }

  @Test func `the body's size is limited by the type`() {
    let voip = push.with("apns-push-type", "voip").with("apns-topic", "com.example.app.voip")
    #expect(refusal(push.withBody(0)) == Refusal(.payloadEmpty))
    #expect(refusal(push.withBody(4_096)) == nil)
    #expect(refusal(push.withBody(4_097)) == Refusal(.payloadTooLarge))
    #expect(refusal(voip.withBody(5_120)) == nil)
    #expect(refusal(voip.withBody(5_121)) == Refusal(.payloadTooLarge))
  }

  @Test(arguments: PushType.allCases) func `each type goes with its suffix`(type: PushType) {
    let named = push.with("apns-push-type", "\(type)").with(
      "apns-priority", "\(type.defaultPriority)")
    #expect(refusal(named.with("apns-topic", "com.example.app\(type.topicSuffix)")) == nil)
    let suffix = "\(type.topicSuffix)"
    if !suffix.isEmpty {
      #expect(refusal(named) == Refusal(.badTopic))
      #expect(refusal(named.with("apns-topic", suffix)) == Refusal(.badTopic))
    }
  }

  @Test func `the first failing check decides`() {
    // Everything is wrong; what is answered is mended, in the order of the table.
    var broken = PushText(token: "x").withBody(0)
      .with(":path", "/nowhere").with(":method", "PUT").with("apns-id", "x")
      .with("apns-topic", " ").with("apns-push-type", "x").with("apns-priority", "x")
      .with("apns-expiration", "x").with(
        "apns-collapse-id", String(repeating: "x", count: 65))
    broken = broken.adding("apns-priority", "x")
    let steps: [(Reason, (PushText) -> PushText)] = [
      (.duplicateHeaders, { $0.with("apns-priority", nil).adding("apns-priority", "x") }),
      (.methodNotAllowed, { $0.with(":method", "POST") }),
      (.badMessageId, { $0.with("apns-id", nil) }),
      (.invalidProviderToken, { $0.with("authorization", push.fields[4].value) }),
      (.badPath, { $0.with(":path", "/3/device/xx") }),
      (.badTopic, { $0.with("apns-topic", "com.example.app") }),
      (.invalidPushType, { $0.with("apns-push-type", "alert") }),
      (.badPriority, { $0.with("apns-priority", "10") }),
      (.badExpirationDate, { $0.with("apns-expiration", "1") }),
      (.badCollapseId, { $0.with("apns-collapse-id", nil) }),
      (.payloadEmpty, { $0.withBody(10) }),
      (.badDeviceToken, { $0.with(":path", "/3/device/" + String(repeating: "ab", count: 32)) }),
    ]
    for (reason, mend) in steps {
      #expect(refusal(broken) == Refusal(reason))
      broken = mend(broken)
    }
    #expect(refusal(broken) == nil)
  }

  /// As Apple's gateway was seen to do.
  @Test
  func `without a credential and a token GET is refused for its method, POST for the credential`() {
    let bare = push.with(":path", "/3/device/").with("authorization", nil)
    #expect(refusal(bare.with(":method", "GET")) == Refusal(.methodNotAllowed))
    #expect(refusal(bare) == Refusal(.missingProviderToken))
  }

  @Test func `a Live Activity's token that is gone has the reason of the switch`() {
    var devices = DeviceRegistry()
    let gone = String(repeating: "ab", count: 32)
    devices.declare(DeclaredToken(token: gone, state: .gone(.unregistered, timestamp: 5)))
    let activity = push.with(":path", "/3/device/" + gone).with("apns-push-type", "liveactivity")
      .with("apns-topic", "com.example.app.push-type.liveactivity")
    #expect(refusal(activity, devices) == Refusal(.unregistered, timestamp: 5))
    var rules = GatewayRules()
    rules.goneLiveActivity = .expiredToken
    #expect(refusal(activity, devices, rules: rules) == Refusal(.expiredToken, timestamp: 5))
    #expect(
      refusal(push.with(":path", "/3/device/" + gone), devices, rules: rules)
        == Refusal(.unregistered, timestamp: 5))
  }

  @Test func `declared tokens are answered by their state`() {
    var devices = DeviceRegistry()
    let dead = String(repeating: "AB", count: 32)
    devices.declare(DeclaredToken(token: dead, state: .gone(.unregistered, timestamp: 5)))
    devices.declare(DeclaredToken(token: "cd", state: .gone(.expiredToken, timestamp: 6)))
    devices.declare(DeclaredToken(token: "ef", state: .bad))
    devices.declare(DeclaredToken(token: "0123", state: .active, topic: "com.example.other"))
    func answer(_ token: String) -> Refusal? {
      refusal(push.with(":path", "/3/device/" + token), devices)
    }
    #expect(answer(dead) == Refusal(.unregistered, timestamp: 5))
    #expect(answer(dead.lowercased()) == Refusal(.unregistered, timestamp: 5))
    #expect(answer("cd") == Refusal(.expiredToken, timestamp: 6))
    #expect(answer("ef") == Refusal(.badDeviceToken))
    #expect(answer("0123") == Refusal(.deviceTokenNotForTopic))
    #expect(answer(String(repeating: "4567", count: 16)) == nil)
    devices.declare(DeclaredToken(token: dead, state: .active))
    #expect(answer(dead) == nil)
    #expect(devices.count == 4)
  }

  @Test func `a token that was not declared must be of plausible length`() throws {
    var devices = DeviceRegistry()
    devices.declare(DeclaredToken(token: "abcd", state: .active))
    func answer(_ digits: Int, _ rules: GatewayRules = GatewayRules()) -> Refusal? {
      let token = String(repeating: "0", count: digits)
      return refusal(push.with(":path", "/3/device/" + token), devices, rules: rules)
    }
    for digits in [2, 4, 62] { #expect(answer(digits) == Refusal(.badDeviceToken)) }
    for digits in [64, 66, 200, 512] { #expect(answer(digits) == nil) }
    #expect(refusal(push.with(":path", "/3/device/abcd"), devices) == nil)
    var rules = GatewayRules()
    try rules.set("shortest-device-token", "4")
    #expect(answer(2, rules) == Refusal(.badDeviceToken))
    #expect(answer(4, rules) == nil)
    #expect(throws: BehaviourError.self) { try rules.set("shortest-device-token", "1") }
  }

  @Test func `a registry that knows all tokens refuses others`() {
    var rules = GatewayRules()
    rules.acceptsUnknownTokens = false
    var devices = DeviceRegistry()
    #expect(refusal(push, devices, rules: rules) == Refusal(.badDeviceToken))
    devices.declare(DeclaredToken(token: String(repeating: "0a", count: 32), state: .active))
    #expect(refusal(push, devices, rules: rules) == nil)
  }

  @Test func `ten thousand declared tokens are all found`() {
    var devices = DeviceRegistry()
    for number in 0..<10_000 {
      let token = String(repeating: "0", count: 10) + String(100_000 + number)
      devices.declare(
        DeclaredToken(token: token, state: .gone(.unregistered, timestamp: Int64(number))))
    }
    for number in stride(from: 0, to: 10_000, by: 97) {
      let path = "/3/device/0000000000" + String(100_000 + number)
      #expect(
        refusal(push.with(":path", path), devices)
          == Refusal(.unregistered, timestamp: Int64(number)))
    }
  }

  @Test func `a token of the other environment is a bad one`() {
    var devices = DeviceRegistry()
    devices.declare(
      DeclaredToken(
        token: String(repeating: "0a", count: 32), state: .active, environment: .sandbox))
    #expect(judgement(push, devices).refusal == Refusal(.badDeviceToken))
    #expect(judgement(push, devices, environment: .sandbox).refusal == nil)
  }

  @Test func `the order of the checks can be changed and checks left out`() throws {
    let broken = push.with("apns-priority", "7").with(
      "apns-collapse-id", String(repeating: "c", count: 65))
    #expect(refusal(broken) == Refusal(.badPriority))
    var rules = GatewayRules()
    rules.checks = try PushCheck.order("path,collapse-id,priority")
    #expect(refusal(broken, rules: rules) == Refusal(.badCollapseId))
    #expect(refusal(push.with("authorization", nil), rules: rules) == nil)
  }

  @Test func `the strict form of an id is lower case`() throws {
    let upper = push.with("apns-id", "0F6E1C1E-5A0B-4C55-9D0E-6F6B3A1C2D3E")
    #expect(refusal(upper) == nil)
    var rules = GatewayRules()
    rules.identifierForm = .strict
    #expect(refusal(upper, rules: rules) == Refusal(.badMessageId))
    #expect(refusal(push, rules: rules) == nil)
  }

  @Test func `a body is looked at as far as the rules say`() {
    var rules = GatewayRules()
    let broken = push.withText("{\"aps\":")
    #expect(judgement(broken).refusal == nil)
    #expect(judgement(broken).isBrokenJSON)
    #expect(!judgement(push.withText(#"{"aps":{"alert":"x"}}"#)).isBrokenJSON)
    rules.jsonCheck = .off
    #expect(!judgement(broken, rules: rules).isBrokenJSON)
    rules.jsonCheck = .strict
    #expect(refusal(broken, rules: rules) == Refusal(.payloadEmpty))
    #expect(refusal(push.withText("{\"aps\":{}}"), rules: rules) == Refusal(.invalidPushType))
    #expect(refusal(push.withText(#"{"aps":{"alert":"x"}}"#), rules: rules) == nil)
  }

  @Test(arguments: [
    (PushType.background, #"{"aps":{"content-available":1}}"#, true),
    (.background, #"{"aps":{"content-available":1,"alert":"x"}}"#, false),
    (.background, #"{"aps":{}}"#, false),
    (.alert, #"{"aps":{"badge":1}}"#, true),
    (.alert, #"{"x":1}"#, false),
    (.voip, #"{"x":1}"#, true),
    (.mdm, #"{"mdm":"magic"}"#, true),
    (.mdm, #"{"mdm":"magic","aps":{}}"#, false),
    (.widgets, #"{"aps":{"content-changed":true}}"#, true),
    (.controls, #"{"aps":{}}"#, false),
    (.nowplaying, #"{"aps":{"timestamp":1,"event":"end","attributes":{"id":"s"}}}"#, true),
    (.nowplaying, #"{"aps":{"timestamp":1,"event":"end","attributes":{"id":""}}}"#, false),
    (.nowplaying, #"{"aps":{"timestamp":1,"event":"end","attributes":{}}}"#, false),
    (.nowplaying, #"{"aps":{"event":"end","attributes":{"id":"s"}}}"#, false),
    (.nowplaying, #"{"x":1}"#, false),
    (.liveactivity, #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#, true),
    (.liveactivity, #"{"aps":{"timestamp":1,"event":"start","content-state":{}}}"#, false),
    (
      .liveactivity,
      #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"alert":"x"}}"#,
      true
    ), (.liveactivity, #"{"aps":{"event":"end"}}"#, false),
  ])
  func `a strict gateway reads what a type needs`(type: PushType, body: String, fits: Bool) {
    var rules = GatewayRules()
    rules.jsonCheck = .strict
    let named = push.with("apns-push-type", "\(type)")
      .with("apns-priority", "\(type.defaultPriority)")
      .with("apns-topic", "com.example.app\(type.topicSuffix)").withText(body)
    #expect(refusal(named, rules: rules) == (fits ? nil : Refusal(.invalidPushType)))
  }

  @Test func `a certificate stands for its topics alone`() throws {
    let authority = try CertificateAuthority()
    var access = ConnectionAccess()
    func answer(
      _ push: PushText, _ issued: IssuedCertificate, _ environment: Environment = .production
    )
      throws -> Reason?
    {
      access.certificate = CertificateAccess(
        try PushCertificate(pem: issued.certificatePEM), environment, isBroken: false)
      var validator = PushValidator(
        keys: [], devices: DeviceRegistry(), environment: environment, rules: GatewayRules())
      return push.withFields { validator.judge($0, &access, now: Self.now).refusal?.reason }
    }
    let single = try authority.issueClient(bundleID: "com.example.app", isUniversal: false)
    let universal = try authority.issueClient(bundleID: "com.example.app")
    // A provider token beside it is not looked at.
    let bare = push.with("authorization", "bearer nonsense")
    #expect(try answer(bare, single) == nil)
    #expect(try answer(bare.with("apns-topic", nil), single) == nil)
    #expect(try answer(bare.with("apns-topic", nil), universal) == .missingTopic)
    #expect(try answer(bare.with("apns-topic", "com.example.other"), universal) == .badTopic)
    let voip = bare.with("apns-push-type", "voip").with("apns-topic", "com.example.app.voip")
    #expect(try answer(voip, universal) == nil)
    #expect(try answer(voip, single) == .badTopic)
    let location = try authority.issueClient(
      bundleID: "com.example.app", furtherTopics: [("com.example.app.location-query", "location")])
    let query = bare.with("apns-push-type", "location")
      .with("apns-topic", "com.example.app.location-query")
    #expect(try answer(query, location) == .invalidPushType)
    let sandbox = try authority.issueClient(bundleID: "com.example.app", forProduction: false)
    #expect(try answer(bare, sandbox) == .badCertificateEnvironment)
    #expect(try answer(bare.with("apns-topic", "com.example.app"), sandbox, .sandbox) == nil)
  }
}
