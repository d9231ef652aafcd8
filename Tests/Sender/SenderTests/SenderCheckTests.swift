// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import HTTPClient
import Kafka
import SenderDecisions
import ServiceKit
import TestSupport
import Testing

@testable import Sender

@Suite(.serialized) struct SenderCheckTests {
  private func check(_ flags: [String], within connectTimeout: UInt64 = 10_000) throws -> [Finding]
  {
    let context = try SenderService.context(flags)
    var settings = try SenderSettings(context.values)
    settings.fixed.connectTimeout = connectTimeout
    return SenderService.check(settings, context)
  }

  /// Only what is found on the way to the gateways.
  private func gateways(
    _ rig: SenderRig, _ flags: [String], within connectTimeout: UInt64 = 3_000
  ) throws -> [Finding] {
    let kafka = [
      "--kafka", rig.fixture.configuration.bootstrap, "--topic-prefix", rig.fixture.prefix,
    ]
    return try check(kafka + flags, within: connectTimeout).filter {
      [.gateway, .proxy, .root].contains($0.subject) || isDate($0)
    }
  }

  private func isDate(_ finding: Finding) -> Bool {
    finding.subject == .clock && finding.place != "this machine"
  }

  private func flags(_ rig: SenderRig, _ port: UInt16? = nil) -> [String] {
    let port = port ?? rig.simulator.address.port
    return [
      "--gateway", "localhost:\(port)", "--sandbox-gateway", "localhost:\(port)", "--gateway-roots",
      rig.rootPath,
    ]
  }

  @Test func `simulator and embedded broker: both gateways are APNs, the topics are there`() throws
  {
    let rig = try SenderRig()
    let found = try check(
      flags(rig) + [
        "--kafka", rig.fixture.configuration.bootstrap, "--topic-prefix", rig.fixture.prefix,
        "--loops", "2",
      ])
    #expect(found.filter { $0.status == .error }.isEmpty, "\(found.map(\.text))")
    let gateways = found.filter { $0.subject == .gateway }
    #expect(gateways.count == 2)
    #expect(gateways.allSatisfy { $0.message.hasSuffix("403 MissingProviderToken") })
    #expect(found.filter { $0.subject == .partitions }.map(\.status) == [.ok, .ok])
    #expect(found.contains { $0.subject == .group && $0.status == .ok })
  }

  @Test func `more loops than partitions are a warning for each lane`() throws {
    let rig = try SenderRig()
    let found = try check(
      flags(rig) + [
        "--kafka", rig.fixture.configuration.bootstrap, "--topic-prefix", rig.fixture.prefix,
        "--loops", "5",
      ]
    ).filter { $0.subject == .partitions }
    #expect(found.map(\.status) == [.warning, .warning])
    #expect(
      found.first?.message
        == "4 partitions; one sender has 5 loops, so 1 of them send nothing of it")
  }

  @Test
  func
    `a wrong root, a wrong name, a closed port and an unknown host: four errors with four remedies`()
    throws
  {
    let rig = try SenderRig()
    let stranger = rig.folder.file("stranger.pem")
    try File.write(stranger, try CertificateAuthority().certificatePEM)
    let port = rig.simulator.address.port
    let both = ["--gateway", "localhost:\(port)", "--sandbox-gateway", "localhost:\(port)"]
    let closed = ["--gateway", "127.0.0.1:1", "--sandbox-gateway", "127.0.0.1:1"]
    let unknown = ["--gateway", "nowhere.invalid:443", "--sandbox-gateway", "nowhere.invalid:443"]
    let cases = [
      both + ["--gateway-roots", stranger],
      both + ["--gateway-roots", rig.rootPath, "--gateway-name", "api.push.example.com"],
      closed + ["--gateway-roots", rig.rootPath], unknown + ["--gateway-roots", rig.rootPath],
    ]
    let found = try cases.map { try gateways(rig, $0) }
    for findings in found {
      #expect(findings.map(\.status) == [.error, .error], "\(findings.map(\.text))")
    }
    #expect(found[0][0].remedy.contains("ca-certificates"))
    #expect(found[1][0].message.contains("api.push.example.com"))
    #expect(found[2][0].remedy.contains("firewall"))
    #expect(found[3][0].remedy.contains("DNS"))
  }

  @Test func `something that is not APNs, and silence behind the handshake`() throws {
    let rig = try SenderRig()
    let gateway = try ScriptedGateway(try rig.gatewayIdentity())
    gateway.answer { _ in .answer(404, "not found") }
    let other = try gateways(rig, flags(rig, gateway.address.port))
    #expect(other.map(\.status) == [.error, .error])
    #expect(other.first?.message == "answers 404, which APNs does not: \"not found\"")
    #expect(other.first?.remedy.contains("captive portal") == true)
    let portal = "<html>\u{1B}[2J<p>Log in</p>"
    gateway.answer { _ in .foreign(403, portal) }
    let captive = try gateways(rig, flags(rig, gateway.address.port))
    #expect(
      captive.first?.message.hasPrefix("answers 403, which APNs does not: \"<html>?[2J<p>Log in")
        == true, "\(captive.map(\.text))")
    gateway.answer { _ in .hold }
    let silent = try gateways(rig, flags(rig, gateway.address.port))
    #expect(silent.map(\.message) == ["no answer in time", "no answer in time"])
  }

  @Test func `the reason of a goodbye is named, also if an empty one stands beside it`() {
    func words(_ goodbyes: [UInt8]...) -> String? {
      let notices = goodbyes.map { ConnectionNotice.goAway(lastStreamID: 0, code: 0, debug: $0) }
      guard case .broken(let text) = GatewayProbe.outcome(notices + [.closed(nil)]) else {
        return nil
      }
      return text
    }
    let reason = Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8)
    let named = "the gateway closes the connection: BadCertificateEnvironment"
    #expect(words(reason, []) == named)
    #expect(words([], reason) == named)
    #expect(words([0x1B, 0x63]) == "the gateway closes the connection: ?c")
    #expect(words([]) == "the gateway closed the connection without an answer")
  }

  @Test func `a gateway's date reveals a wrong clock; without a date there is no finding`() throws {
    let rig = try SenderRig()
    let gateway = try ScriptedGateway(try rig.gatewayIdentity())
    func found(_ date: String) throws -> [Finding] {
      gateway.answer { _ in
        .answer(
          GatewayReply.Answer(status: 403, body: #"{"reason":"MissingProviderToken"}"#, date: date))
      }
      return try gateways(rig, flags(rig, gateway.address.port)).filter(isDate)
    }
    #expect(try found("").isEmpty)
    #expect(try found("not a date, but 29 bytes long").isEmpty)
    let old = try found("Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(old.map(\.status) == [.error], "once, for both environments")
    #expect(old.first?.message.contains("ahead of the gateway's date") == true)
    #expect(try found("Sun, 06 Nov 2194 08:49:37 GMT").first?.message.contains("behind") == true)
  }

  @Test
  func `a certificate is shown to the gateways that it serves; a refused one is an error`() throws {
    let rig = try SenderRig()
    let trust = ClientTrust(roots: rig.authority.certificatePEM)
    let gateway = try ScriptedGateway(try rig.gatewayIdentity(), clientTrust: trust)
    gateway.change {
      $0.reply = { peer, _ in
        let reason = peer.http.clientCertificate == nil ? "MissingProviderToken" : "PayloadEmpty"
        return .answer(400, #"{"reason":"\#(reason)"}"#)
      }
    }
    let issued = try rig.authority.issueClient(bundleID: SenderRig.app)
    try issued.write(certificate: rig.folder.file("push.pem"), key: rig.folder.file("push-key.pem"))
    let list = rig.folder.file("certificates.json")
    try File.write(
      list,
      Array(
        #"[{"certificate_file":"push.pem","key_file":"push-key.pem","environment":"any"}]"#.utf8))
    let flags = flags(rig, gateway.address.port) + ["--certificates", list]
    let found = try gateways(rig, flags)
    #expect(found.map(\.status) == Array(repeating: .ok, count: 4), "\(found.map(\.text))")
    let shown = found.filter { $0.place.hasSuffix("push.pem") }
    #expect(shown.count == 2 && shown.allSatisfy { $0.message.hasSuffix("PayloadEmpty") })
    trust.revoke([try PushCertificate(pem: issued.certificatePEM).fingerprint])
    let revoked = try gateways(rig, flags).filter { $0.place.hasSuffix("push.pem") }
    #expect(revoked.map(\.status) == [.error, .error], "\(revoked.map(\.text))")
    #expect(revoked.first?.remedy.contains("revoked") == true)
  }

  @Test func `a proxy that refuses or is away; the password is nowhere`() throws {
    let rig = try SenderRig()
    let target = rig.simulator.address
    let strict = try TinyProxy(to: target, authorization: "Basic xyz")
    let closed = try TinyProxy(to: target, answer: "HTTP/1.1 403 Forbidden\r\n\r\n")
    let open = try TinyProxy(to: target)
    func found(_ address: String) throws -> [Finding] {
      let found = try gateways(rig, flags(rig) + ["--proxy", "http://user:hunter2@\(address)"])
      #expect(!found.map(\.text).joined().contains("hunter2"))
      return found
    }
    let wrong = try found("\(strict.address)")
    #expect(wrong.map(\.subject) == [.proxy, .proxy])
    #expect(
      wrong.first?.message.hasSuffix("does not accept the user and password that it was sent")
        == true)
    let forbidden = try found("\(closed.address)").first
    #expect(
      forbidden?.message
        == "the proxy refuses the tunnel to localhost:\(target.port): 403 Forbidden")
    #expect(forbidden?.remedy.contains("let it open tunnels (CONNECT)") == true)
    let digest = try TinyProxy(
      to: target, authorization: "Digest x", challenges: #"Digest realm="x""#)
    #expect(try found("\(digest.address)").first?.message.contains("offers Digest only") == true)
    let lost = try TinyProxy(
      to: target, answer: "HTTP/1.1 503 x\r\nX-Squid-Error: ERR_CONNECT_FAIL 110\r\n\r\n")
    let unreachable = try found("\(lost.address)").first
    #expect(unreachable?.message.contains("ERR_CONNECT_FAIL 110") == true)
    #expect(unreachable?.remedy.contains("firewall behind it") == true)
    let closing = try TinyProxy(to: target, closesTunnels: true)
    let hasty = try found("\(closing.address)").first
    #expect(hasty?.subject == .proxy)
    #expect(hasty?.message.contains("opened the tunnel") == true)
    let away = try found("127.0.0.1:1")
    #expect(away.map(\.subject) == [.proxy, .proxy] && away.first?.status == .error)
    let right = try found("\(open.address)")
    #expect(right.map(\.status) == [.ok, .ok], "\(right.map(\.text))")
    #expect(right.first?.message.contains("through the proxy \(open.address)") == true)
  }

  /// The name of Apple's, an authority of somebody else's: what a proxy that breaks TLS open looks like where its root was
  /// installed.
  @Test func `a gateway of Apple's name that another root vouches for is named`() throws {
    let rig = try SenderRig()
    let name = "api.push.apple.com"
    let issued = try rig.authority.issueServer(names: [name, "localhost"])
    let gateway = try ScriptedGateway(
      TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM))
    gateway.answer { _ in
      .answer(GatewayReply.Answer(status: 403, body: #"{"reason":"MissingProviderToken"}"#))
    }
    let hosts = rig.folder.file("apple-hosts")
    try File.write(hosts, Array("127.0.0.1 \(name)\n".utf8))
    let port = gateway.address.port
    let found = try gateways(
      rig,
      [
        "--gateway", "\(name):\(port)", "--sandbox-gateway", "localhost:\(port)", "--gateway-hosts",
        hosts, "--gateway-roots", rig.rootPath,
      ]
    ).filter { $0.subject == .gateway }
    #expect(found.map(\.status) == [.warning, .ok, .ok], "\(found.map(\.text))")
    #expect(found.first?.message.contains("TLS open") == true)
  }

  @Test func `no ServerHello: TCP, silence and the size of the hello are told apart`() throws {
    let rig = try SenderRig()
    let hole = try BlackHole(at: .loopback(port: 0))
    #expect(
      try gateways(rig, flags(rig, hole.address.port), within: 500)
        .allSatisfy { $0.message.contains("no answer to TCP") && $0.remedy.contains("firewall") })
    let listener = try Socket.listening(on: .loopback(port: 0))
    let bound = listener.localAddress
    let mute = try gateways(rig, flags(rig, try #require(bound).port), within: 500)
    #expect(mute.map(\.status) == [.error, .error])
    #expect(mute.first?.message.contains("not to a small one either") == true)
    // Between the hello of these groups and that of the small ones.
    let large = "P-521:P-384:P-256:X25519:X448"
    let filter = try TinyProxy(to: rig.simulator.address, firstAtMost: 400)
    let path = flags(rig) + ["--proxy", "http://\(filter.address)"]
    let size = try gateways(rig, path + ["--tls-groups", large], within: 1_000)
    #expect(
      size.first?.message.hasSuffix("a smaller one is answered") == true, "\(size.map(\.text))")
    #expect(size.first?.remedy.contains("tls-groups") == true)
    let small = try gateways(rig, path + ["--tls-groups", "X25519:P-256"], within: 1_000)
    // The second gateway has the same name here: its hello carries a session, and is larger.
    #expect(small.first?.status == .ok, "\(small.map(\.text))")
  }

  @Test func `several addresses: the dead ones do not keep the good one from being asked`() throws {
    let rig = try SenderRig()
    let port = rig.simulator.address.port
    let hole = try BlackHole(at: SocketAddress(bytes: [127, 0, 0, 9], port: port)!)
    let hosts = rig.folder.file("many-hosts")
    let dead = (2...6).map { "127.0.0.\($0) localhost\n224.0.0.\($0) localhost\n" }.joined()
    try File.write(
      hosts, Array("\(hole.address.host) localhost\n\(dead)127.0.0.1 localhost\n".utf8))
    for _ in 1...3 {
      let found = try gateways(rig, flags(rig) + ["--gateway-hosts", hosts])
      #expect(found.map(\.status) == [.ok, .ok], "\(found.map(\.text))")
    }
  }

  @Test func `Apple's roots are looked for when a gateway is Apple's`() throws {
    let rig = try SenderRig()
    let hosts = rig.folder.file("hosts")
    // Nobody listens there: nothing leaves this machine.
    try File.write(hosts, Array("127.0.0.2 api.push.apple.com\n".utf8))
    let found = try gateways(
      rig,
      [
        "--gateway", "api.push.apple.com:1", "--sandbox-gateway", "localhost:1", "--gateway-hosts",
        hosts, "--gateway-roots", rig.rootPath,
      ])
    #expect(found.first?.subject == .root && found.first?.status == .error)
    #expect(found.first?.place == rig.rootPath)
  }
}
