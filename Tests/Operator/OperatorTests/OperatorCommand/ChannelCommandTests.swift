// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTPClient
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import OperatorCommand

/// A simulator with channel management, a cluster with a provider token, and the commands between them.
private final class ChannelFixture {
  static let app = "com.example.app"
  let kafka: KafkaFixture
  let simulator: Simulator
  let folder = TemporaryFolder()
  private let key: SigningKey
  private let simulatorContext: ServiceContext
  private let authority: CertificateAuthority
  /// What the last request said, also one that was refused.
  private(set) var lines: [String] = []
  /// What the audit has of all requests.
  private(set) var deeds: [String] = []

  init(simulator flags: [String] = [], hasToken: Bool = true) throws {
    kafka = try KafkaFixture(topics: [("provider-tokens", 1)])
    key = try SigningKey.generate()
    authority = try CertificateAuthority()
    try authority.issueServer().write(
      certificate: folder.file("gateway.pem"), key: folder.file("gateway-key.pem"))
    try File.write(folder.file("root.pem"), authority.certificatePEM)
    try File.write(folder.file("public.pem"), key.publicKey.pem())
    let keys =
      #"{"keys":[{"team_id":"TEAM000001","key_id":"KEY0000001","environment":"any","apps":["*"],"#
      + #""public_key_file":"public.pem"}]}"#
    try File.write(folder.file("keys.json"), Array(keys.utf8))
    simulatorContext = try SimulatorService.context(
      [
        "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--certificate",
        folder.file("gateway.pem"), "--certificate-key", folder.file("gateway-key.pem"),
        "--client-roots", folder.file("root.pem"), "--keys", folder.file("keys.json"),
      ] + flags)
    simulator = try Simulator(try SimulatorSettings(simulatorContext.values), simulatorContext)
    if hasToken { try publishToken() }
  }

  deinit {
    simulatorContext.signals.requestStop()
    simulator.wait()
  }

  func publishToken(issuedAt: Int64 = WallClock.seconds(), sealed seal: TokenSeal = .none) throws {
    let minter = try ProviderTokenMinter(key: key, teamID: "TEAM000001", keyID: "KEY0000001")
    let record = ProviderTokenRecord(
      credential: "TEAM000001/KEY0000001/any", teamID: "TEAM000001", keyID: "KEY0000001",
      scope: .any, apps: ["*"], issuedAt: issuedAt, generation: issuedAt,
      token: try minter.mint(issuedAt: issuedAt))
    let value = try seal.sealed(record).value
    try kafka.produce(
      kafka.name("provider-tokens"), key: record.credential,
      value: String(decoding: value, as: UTF8.self))
  }

  /// Writes a key file and returns what it makes of `--token-key`.
  func seal(_ key: String, file: String) throws -> TokenSeal {
    try File.write(folder.file(file), Array(key.utf8))
    let flags = ["--app", Self.app, "--token-key", folder.file(file)]
    return try TokenSeal(ChannelsListCommand.values(flags))
  }

  func certificate() throws -> (certificate: String, key: String) {
    let paths = (folder.file("client.pem"), folder.file("client-key.pem"))
    try authority.issueClient(bundleID: Self.app).write(certificate: paths.0, key: paths.1)
    return paths
  }

  /// Runs one request and returns what was said.
  func said(_ flags: [String] = [], _ body: (ChannelSession) throws -> Void) throws -> String {
    let context = try ChannelsListCommand.context(
      [
        "--app", Self.app, "--topic-prefix", kafka.prefix, "--gateway-roots",
        folder.file("root.pem"), "--gateway-name", "localhost", "--channels-gateway",
        "127.0.0.1:\(simulator.managementAddress.port)", "--sandbox-channels-gateway",
        "127.0.0.1:\(simulator.sandboxManagementAddress.port)",
      ] + flags)
    var settings = try ChannelSettings(context.values)
    settings.cluster.kafka = kafka.configuration
    lines = []
    try body(
      ChannelSession(
        settings, context, output: { self.lines.append($0) },
        audit: { deed, subject, _ in self.deeds.append("\(deed) \(subject)") }))
    return lines.joined(separator: "\n")
  }

  /// Makes a channel and returns its id.
  func create(storesLast: Bool = false, _ flags: [String] = []) throws -> String {
    let text = try said(flags + ["--json"]) { try $0.create(storesLast: storesLast) }
    return try #require(try JSONDocument(text).root["channel"]?.string)
  }

  /// What a refused request says.
  func refusal(_ flags: [String] = [], _ body: (ChannelSession) throws -> Void) -> String {
    do {
      return "not refused: " + (try said(flags, body))
    } catch { return "\(error)" }
  }
}

@Suite struct ChannelCommandTests {
  @Test func `a channel is made, read, listed and deleted`() throws {
    let fixture = try ChannelFixture()
    let none = try fixture.create()
    let last = try fixture.create(storesLast: true)
    #expect(none != last)
    #expect(
      try fixture.said { try $0.read(last) }
        == "channel \(last)\nfor com.example.app in production, storage policy last, push type"
        + " LiveActivity")
    let read = try JSONDocument(try fixture.said(["--json"]) { try $0.read(none) }).root
    #expect(read["storage_policy"]?.string == "none")
    #expect(read["app"]?.string == ChannelFixture.app)
    let list = try fixture.said { try $0.list() }.split(separator: "\n").map(String.init)
    #expect(Set(list.dropLast()) == [none, last])
    #expect(list.last == "2 channels for com.example.app in production")
    #expect(
      try fixture.said { try $0.delete(none) }
        == "deleted channel \(none) for com.example.app in production")
    let text = fixture.refusal { try $0.read(none) }
    #expect(text.hasPrefix("refused with 400 ChannelNotRegistered"))
    #expect(text.contains("martlet channels list shows the existing ones"))
    #expect(
      try fixture.said { try $0.list() }.hasSuffix("1 channel for com.example.app in production"))
    #expect(
      fixture.deeds
        == [("create", none), ("create", last), ("delete", none)].map { deed, channel in
          "channels \(deed) \(channel) for com.example.app in production"
        })
  }

  @Test func `channels of one environment are not in the other`() throws {
    let fixture = try ChannelFixture()
    let id = try fixture.create(["--environment", "sandbox"])
    #expect(fixture.refusal { try $0.read(id) }.contains("ChannelNotRegistered"))
    #expect(try fixture.said(["--environment", "sandbox"]) { try $0.read(id) }.contains(id))
  }

  @Test func `a client certificate serves in place of a provider token`() throws {
    let fixture = try ChannelFixture(hasToken: false)
    let paths = try fixture.certificate()
    let flags = ["--client-certificate", paths.certificate, "--client-key", paths.key]
    let id = try fixture.create(flags)
    #expect(try fixture.said(flags) { try $0.list() }.contains(id))
    try File.write(fixture.folder.file("open.pem"), try File.read(paths.key), mode: 0o644)
    #expect(throws: SettingErrors.self) {
      try fixture.said(
        [
          "--client-certificate", paths.certificate, "--client-key",
          fixture.folder.file("open.pem"),
        ]
      ) { try $0.list() }
    }
    #expect(throws: SettingErrors.self) {
      try fixture.said(["--client-key", paths.key]) { try $0.list() }
    }
  }

  @Test func `an unusable provider token is an error that names the cause`() throws {
    let fixture = try ChannelFixture(hasToken: false)
    #expect(
      fixture.refusal { try $0.list() }.hasPrefix(
        "no credential of martlet-signer serves com.example.app in production"))
    try fixture.publishToken(issuedAt: WallClock.seconds() - 3_400)
    #expect(fixture.refusal { try $0.list() }.contains("older than 55 minutes"))
  }

  @Test func `a sealed provider token needs the deployment's key, and the error says so`() throws {
    let fixture = try ChannelFixture(hasToken: false)
    let seal = try fixture.seal(String(repeating: "5a", count: 32), file: "token-key")
    _ = try fixture.seal(String(repeating: "c3", count: 32), file: "other-key")
    try fixture.publishToken(sealed: seal)
    for flags in [[], ["--token-key", fixture.folder.file("other-key")]] {
      let said = fixture.refusal(flags) { try $0.list() }
      #expect(said.contains("is sealed with key") && said.contains("--token-key"), "\(said)")
    }
    let flags = ["--token-key", fixture.folder.file("token-key")]
    #expect(try fixture.said(flags) { try $0.list() }.hasPrefix("0 channels"))
  }

  @Test func `a refusal is explained, as JSON too`() throws {
    let fixture = try ChannelFixture()
    let flags = ["--app", "com.example.app.push-type.liveactivity"]
    let text = fixture.refusal(flags) { try $0.list() }
    #expect(text.hasPrefix("refused with 400 TopicDisallowed"))
    #expect(text.contains("without a suffix"))
    let unknown = fixture.refusal(["--json"]) { try $0.read("dHN0LXNyY2gtY2hubA==") }
    #expect(unknown.contains("ChannelNotRegistered") && unknown.contains("apns-request-id"))
    let said = try JSONDocument(fixture.lines.joined()).root
    #expect(said["status"]?.int == 400)
    #expect(said["reason"]?.string == "ChannelNotRegistered")
    #expect(said["advice"]?.string?.isEmpty == false)
    #expect(said["apns_request_id"]?.string?.count == 36)
  }

  @Test func `through a proxy it works as without, and what the proxy refuses is named`() throws {
    let fixture = try ChannelFixture()
    let target = fixture.simulator.managementAddress
    try File.write(fixture.folder.file("proxy"), Array("us%65r:p@ss %41%\n".utf8))
    func flags(_ proxy: TinyProxy) -> [String] {
      [
        "--proxy", "http://\(proxy.address)", "--proxy-credentials", fixture.folder.file("proxy"),
      ]
    }
    let open = try TinyProxy(to: target, authorization: "Basic dXMlNjVyOnBAc3MgJTQxJQ==")
    let id = try fixture.create(flags(open))
    #expect(try fixture.said(flags(open)) { try $0.list() }.contains(id))
    #expect(open.seen.requests.allSatisfy { $0.hasPrefix("CONNECT 127.0.0.1:\(target.port) ") })
    #expect(open.seen.tunnels == 2)
    func refusal(_ proxy: TinyProxy) -> String {
      let text = fixture.refusal(flags(proxy)) { try $0.create(storesLast: false) }
      #expect(text.contains("through the proxy \(proxy.address): "), "\(text)")
      #expect(!text.contains("the answer was lost") && !text.contains("p@ss"), "\(text)")
      return text
    }
    let strict = try TinyProxy(to: target, authorization: "Basic x")
    #expect(refusal(strict).contains("does not accept the user and password"))
    let digest = try TinyProxy(
      to: target, authorization: "Digest x", challenges: #"Digest realm="x""#)
    #expect(refusal(digest).contains("it offers Digest only"))
    let lost = try TinyProxy(
      to: target, answer: "HTTP/1.1 503 x\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\n\r\n")
    #expect(refusal(lost).contains("its DNS does not resolve the host"))
    #expect(refusal(try TinyProxy(to: target, closesTunnels: true)).contains("says 200 before"))
    #expect(throws: SettingErrors.self) {
      try fixture.said(["--proxy", "proxy:3128"]) { try $0.list() }
    }
  }

  @Test func `after a lost answer to create, the error asks to list the channels first`() throws {
    let fixture = try ChannelFixture(simulator: ["--latency", "20s"])
    let flags = ["--timeout", "700ms"]
    let text = fixture.refusal(flags) { try $0.create(storesLast: false) }
    #expect(text.contains("martlet channels list before you create one again"))
    // Nothing is lost with a question.
    #expect(!fixture.refusal(flags) { try $0.list() }.contains("the answer was lost"))
  }

  @Test func `the time-out holds for Kafka too, with all the attempts`() throws {
    let context = try ChannelsListCommand.context([
      "--app", "a.b", "--kafka", "127.0.0.1:1", "--timeout", "300ms",
    ])
    let session = ChannelSession(try ChannelSettings(context.values), context)
    let start = MonotonicClock.milliseconds()
    #expect(throws: ServiceFailure.self) { try session.list() }
    // Kafka alone was given ten seconds.
    #expect(MonotonicClock.milliseconds() - start < 9_000)
  }

  @Test func `a gateway that cannot be reached or trusted made no channel`() throws {
    let fixture = try ChannelFixture()
    // Nobody listens on tcpmux's port.
    let text = fixture.refusal(["--channels-gateway", "127.0.0.1:1"]) {
      try $0.create(storesLast: false)
    }
    #expect(!text.contains("the answer was lost") && text.contains("127.0.0.1:1"))
    let untrusted = fixture.refusal(["--gateway-name", "gateway.example"]) {
      try $0.create(storesLast: false)
    }
    #expect(!untrusted.contains("the answer was lost") && !untrusted.contains("not refused"))
  }

  @Test(arguments: Reason.allCases)
  func `a refusal of channel management comes with advice`(reason: Reason) {
    let advice = ChannelAdvice.text(GatewayResponse(status: reason.rule.status, reason: reason))
    #expect(advice.hasSuffix(".") || advice.hasSuffix("?"))
  }

  @Test func `a status without a known reason comes with advice, too`() {
    let words = [400, 429, 500].map { ChannelAdvice.text(GatewayResponse(status: UInt16($0))) }
    #expect(Set(words).count == 3)
  }

  @Test func `what cannot be a channel or an app is refused before anything is sent`() throws {
    func settings(_ flags: [String]) throws {
      _ = try ChannelsDeleteCommand.settings(ChannelsDeleteCommand.table.values(flags))
    }
    try settings(["--app", "a.b", "--channel", "YQ=="])
    #expect(throws: SettingErrors.self) { try settings(["--app", "a b", "--channel", "YQ=="]) }
    #expect(throws: SettingErrors.self) { try settings(["--app", "a.b", "--channel", "Y-=="]) }
    #expect(throws: SettingErrors.self) { try settings(["--app", "a.b"]) }
  }

  @Test func `the defaults are Apple's hosts and ports`() throws {
    for (environment, gateway) in [
      ("production", "api-manage-broadcast.push.apple.com:2196"),
      ("sandbox", "api-manage-broadcast.sandbox.push.apple.com:2195"),
    ] {
      let values = try ChannelsListCommand.values(["--app", "a.b", "--environment", environment])
      #expect(try ChannelsListCommand.settings(values).common.gateway.description == gateway)
    }
  }
}
