// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Kafka
import Records
import SenderDecisions
import ServiceKit
import Settings
import Telemetry
import TestSupport
import Testing

@testable import Sender

@Suite(.serialized) struct CertificateTests {
  /// Issues a client certificate and lists it in `certificates.json`.
  private func list(
    _ rig: SenderRig, _ name: String, _ issued: IssuedCertificate, _ more: String = ""
  ) throws -> String {
    try issued.write(
      certificate: rig.folder.file("\(name).pem"), key: rig.folder.file("\(name)-key.pem"))
    let path = rig.folder.file("certificates.json")
    let entry = #"{"certificate_file":"\#(name).pem","key_file":"\#(name)-key.pem"\#(more)}"#
    try File.write(path, Array("[\(entry)]".utf8))
    return path
  }

  @Test
  func `certificate and key may be one file, and a key that is elsewhere is asked for`() throws {
    let folder = TemporaryFolder()
    let issued = try CertificateAuthority().issueClient(bundleID: SenderRig.app)
    let path = folder.file("certificates.json")
    try File.write(path, Array(#"[{"certificate_file":"push.pem"}]"#.utf8))
    try File.write(folder.file("push.pem"), issued.certificatePEM + issued.keyPEM)
    #expect(try CertificatesFile.load(path).map(\.apps) == [[SenderRig.app]])
    try File.write(folder.file("push.pem"), issued.certificatePEM)
    let refusal = #expect(throws: CertificatesError.self) { try CertificatesFile.load(path) }
    #expect(
      refusal?.description.hasSuffix(
        "holds no private key (a block that begins with -----BEGIN PRIVATE KEY-----), but a certificate; if the key is"
          + " in a file of its own, name that in key_file") == true)
  }

  @Test func `a file that changes before the sender works, as while Kafka is away, is noticed`()
    throws
  {
    let folder = TemporaryFolder()
    func write(_ key: String) throws {
      try File.write(folder.file("token-key"), Array(String(repeating: key, count: 32).utf8))
    }
    try write("5a")
    let context = try SenderService.context(
      ["--kafka", "localhost:1", "--token-key", folder.file("token-key")])
    let settings = try SenderSettings(context.values)
    try write("a5")
    let watch = CertificateWatch(settings, context)
    #expect(eventually { watch.turn() })
  }

  private func gateway(_ rig: SenderRig, _ script: ScriptedGateway.Script) throws -> ScriptedGateway
  {
    try ScriptedGateway(
      try rig.gatewayIdentity(), clientTrust: ClientTrust(roots: rig.authority.certificatePEM),
      script)
  }

  @Test
  func `with a certificate: shown in TLS, no token, all streams as soon as one push was accepted`()
    throws
  {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.limit = 100
    script.reply = { peer, request in
      // What the gateway would refuse: no certificate, or another app's.
      guard peer.http.clientCertificate?.bundleID == SenderRig.app else {
        return .answer(403, #"{"reason":"BadCertificate"}"#)
      }
      return request.stream == 1 ? .answer(200) : .hold
    }
    let gateway = try gateway(rig, script)
    let path = try list(rig, "push", try rig.authority.issueClient(bundleID: SenderRig.app))
    let sender = try rig.startSender(for: [gateway], ["--certificates", path])
    try rig.sendMany(40)
    #expect(eventually { gateway.seen.mostOpen == 39 })
    gateway.answerHeld()
    let receipts = try rig.receipts(40)
    #expect(receipts.count == 40 && receipts.allSatisfy { $0.outcome == .delivered })
    #expect(gateway.seen.requests.allSatisfy { $0.authorization == nil })
    #expect(sender.counter("certificate_days_left") >= 364)
  }

  @Test
  func `a location push needs a provider token, with which it goes on another connection`() throws {
    let rig = try SenderRig()
    let gateway = try gateway(rig, .init())
    let path = try list(rig, "push", try rig.authority.issueClient(bundleID: SenderRig.app))
    try rig.startSender(for: [gateway], ["--certificates", path]) { $0.credentialWait = 20_000 }
    let fields = [
      "M2", "transactional", "production", SenderRig.app, "\(SenderRig.app).location-query",
      "location", "10", "", SenderRig.id(1), "\(WallClock.milliseconds())", "", "", "", "",
    ]
    try rig.send(SenderRig.token(1), fields.joined(separator: "\t") + "\n{}")
    try rig.sendMany(3, from: 2)
    #expect(try rig.receipts(3).count == 3)
    try rig.publishToken()
    #expect(try rig.receipts(4).count == 4)
    let locations = gateway.seen.requests.filter { $0.id == SenderRig.id(1) }
    #expect(locations.count == 1)
    #expect(locations.allSatisfy { $0.authorization?.hasPrefix("bearer ") == true })
    #expect(Set(gateway.seen.requests.map(\.connection)).count == 2)
  }

  @Test
  func
    `a location push of an app with a certificate only: the dead letter says that a token is needed`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try gateway(rig, .init())
    let path = try list(rig, "push", try rig.authority.issueClient(bundleID: SenderRig.app))
    try rig.startSender(for: [gateway], ["--certificates", path]) { $0.credentialWait = 1_000 }
    func location(_ number: Int, _ app: String) -> String {
      [
        "M2", "transactional", "production", app, "\(app).location-query", "location", "10", "",
        SenderRig.id(number), "\(WallClock.milliseconds())", "", "", "", "",
      ].joined(separator: "\t") + "\n{}"
    }
    try rig.send(SenderRig.token(1), location(1, SenderRig.app))
    try rig.send(SenderRig.token(2), location(2, "com.example.unknown"))
    let receipts = try rig.receipts(of: 1..<3)
    #expect(receipts.count == 2)
    #expect(receipts.allSatisfy { $0.outcome == .deadLettered })
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 2)
    func detail(_ number: Int) -> String {
      let letter = letters.first { $0.key == SenderRig.token(number) }
      let header = letter?.headers.first { $0.name == DeadLetterHeader.detail }
      return String(decoding: header?.value ?? [], as: UTF8.self)
    }
    #expect(detail(1).contains("needs a provider token"))
    #expect(detail(1).contains("only a client certificate"))
    #expect(detail(2) == "no provider token serves this app and environment")
    #expect(gateway.seen.requests.isEmpty)
  }

  @Test
  func `SIGHUP: a renewed certificate takes over, the old connection drains, nothing is lost`()
    throws
  {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.reply = { peer, _ in
      peer.http.clientCertificate == nil ? .answer(403, #"{"reason":"Forbidden"}"#) : .answer(200)
    }
    let gateway = try gateway(rig, script)
    let path = try list(rig, "old", try rig.authority.issueClient(bundleID: SenderRig.app))
    // On a busy machine the pool would grow.
    let sender = try rig.startSender(
      for: [gateway], ["--certificates", path, "--max-connections", "1"])
    try rig.sendMany(20)
    #expect(try rig.receipts(20).count == 20)
    // What cannot be used changes nothing.
    try File.write(path, Array("[]".utf8))
    sender.context.signals.requestReload()
    try rig.sendMany(20, from: 20)
    #expect(try rig.receipts(40).count == 40)
    #expect(gateway.seen.connections == 1)
    _ = try list(rig, "new", try rig.authority.issueClient(bundleID: SenderRig.app))
    sender.context.signals.requestReload()
    #expect(eventually { gateway.seen.open == 0 })
    try rig.sendMany(20, from: 40)
    let receipts = try rig.receipts(60)
    #expect(receipts.count == 60)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(gateway.seen.connections == 2)
  }

  @Test
  func
    `a changed file is loaded without a signal; another app's certificate in its place is refused`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try gateway(rig, .init())
    let path = try list(rig, "push", try rig.authority.issueClient(bundleID: SenderRig.app))
    // On a busy machine the pool would grow.
    let sender = try rig.startSender(
      for: [gateway], ["--certificates", path, "--max-connections", "1"])
    func samples(_ name: String) -> [MetricSample] {
      sender.context.counters.samples.filter { $0.metric.name == "martlet_sender_\(name)" }
    }
    func refused() -> [String] {
      samples("reload_refused").filter { $0.value == .integer(1) }.map(\.labels[1])
    }
    try rig.sendMany(5)
    #expect(try rig.receipts(5).count == 5)
    let first = samples("certificate_not_after_timestamp_seconds").map(\.labels)
    // Another app's certificate: what is in use stays.
    _ = try list(rig, "push", try rig.authority.issueClient(bundleID: "com.example.other"))
    #expect(eventually { refused() == [SenderRig.app] })
    #expect(samples("certificate_not_after_timestamp_seconds").map(\.labels) == first)
    try rig.sendMany(5, from: 5)
    #expect(try rig.receipts(10).count == 10)
    #expect(gateway.seen.connections == 1)
    // The app's own, renewed: nobody has to say so.
    _ = try list(rig, "push", try rig.authority.issueClient(bundleID: SenderRig.app))
    #expect(eventually { gateway.seen.open == 0 })
    expectEventually { samples("certificate_not_after_timestamp_seconds").map(\.labels) != first }
    #expect(refused().isEmpty)
    try rig.sendMany(5, from: 10)
    let receipts = try rig.receipts(15)
    #expect(receipts.count == 15)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
  }

  @Test
  func `a certificate that has expired in use does not keep another from being renewed`() throws {
    let rig = try SenderRig()
    let expired = try rig.authority.issueClient(bundleID: SenderRig.app, validity: .expired)
    let path = try list(rig, "old", expired)
    #expect(throws: CertificatesError.self) { try CertificatesFile.load(path) }
    let fingerprint = try PushCertificate(pem: expired.certificatePEM).fingerprint
    #expect(try CertificatesFile.load(path, inUse: [fingerprint]).count == 1)
  }

  @Test func `what cannot be used is refused with the entry, the field and what to do`() throws {
    let rig = try SenderRig()
    let client = try rig.authority.issueClient(bundleID: SenderRig.app)
    func problem(_ path: String) -> String {
      do throws(CertificatesError) {
        _ = try CertificatesFile.load(path)
        return "none"
      } catch {
        return error.description
      }
    }
    let expired = try rig.authority.issueClient(bundleID: SenderRig.app, validity: .expired)
    let words = problem(try list(rig, "expired", expired))
    #expect(words.contains("expired.pem expired 1 hour ago"), "\(words)")
    let future = try rig.authority.issueClient(bundleID: SenderRig.app, validity: .future)
    let later = problem(try list(rig, "future", future))
    #expect(later.contains("future.pem is valid from"), "\(later)")
    let exposed = try list(rig, "exposed", client)
    try File.write(rig.folder.file("exposed-key.pem"), client.keyPEM, mode: 0o644)
    #expect(problem(exposed).contains("chmod 600"))
    let mixed = try list(rig, "mixed", client)
    try File.write(rig.folder.file("mixed-key.pem"), try SigningKey.generate().pem())
    let mismatch = problem(mixed)
    #expect(mismatch.contains("private key"), "\(mismatch)")
    let sandbox = try rig.authority.issueClient(bundleID: SenderRig.app, forProduction: false)
    #expect(
      problem(try list(rig, "sandbox", sandbox, #","environment":"production""#))
        == "\(rig.folder.file("certificates.json")): entry 1: environment: "
        + "the certificate is not one for production")
    #expect(problem(try list(rig, "odd", client, #","app":["x"]"#)).contains("app is not a field"))
    let pattern = problem(try list(rig, "pattern", client, #","apps":["com.example.*"]"#))
    #expect(pattern.contains(#"entry 1: apps: "com.example.*" is a pattern"#), "\(pattern)")
  }

  @Test
  func `two certificates for one app are a renewal if they serve the same, and refused otherwise`()
    throws
  {
    let rig = try SenderRig()
    func load(_ second: String) throws -> String {
      for name in ["a", "b"] {
        try rig.authority.issueClient(bundleID: "com.example.a").write(
          certificate: rig.folder.file("\(name).pem"), key: rig.folder.file("\(name)-key.pem"))
      }
      let list =
        #"[{"certificate_file":"a.pem","key_file":"a-key.pem"},"#
        + #"{"certificate_file":"b.pem","key_file":"b-key.pem"\#(second)}]"#
      try File.write(rig.folder.file("certificates.json"), Array(list.utf8))
      do throws(CertificatesError) {
        return "\(try CertificatesFile.load(rig.folder.file("certificates.json")).count)"
      } catch {
        return error.description
      }
    }
    #expect(try load("") == "2")
    #expect(try load(#","apps":["com.example.b"]"#) == "2")
    let overlap = try load(#","apps":["com.example.a","com.example.b"]"#)
    #expect(
      overlap.contains("entry 2: apps: com.example.a in production is claimed by entry 1, too"),
      "\(overlap)")
    #expect(try load(#","environment":"sandbox""#).contains("in sandbox is claimed by entry 1"))
  }

  @Test func `an mdm push goes out with a certificate only, never with a provider token`() throws {
    let rig = try SenderRig()
    let gateway = try gateway(rig, .init())
    let topic = "com.apple.mgmt.External.1"
    let path = try list(rig, "mdm", try rig.authority.issueClient(bundleID: topic))
    try rig.publishToken()
    try rig.startSender(for: [gateway], ["--certificates", path]) { $0.credentialWait = 1_000 }
    func push(_ number: Int, _ app: String) -> String {
      [
        "M2", "transactional", "production", app, app, "mdm", "10", "", SenderRig.id(number),
        "\(WallClock.milliseconds())", "", "", "", "",
      ].joined(separator: "\t") + "\n" + #"{"mdm":"x"}"#
    }
    try rig.send(SenderRig.token(1), push(1, topic))
    try rig.send(SenderRig.token(2), push(2, "com.apple.mgmt.External.2"))
    let receipts = try rig.receipts(of: 1..<3)
    #expect(receipts.count { $0.outcome == .delivered } == 1)
    #expect(receipts.count { $0.outcome == .deadLettered } == 1)
    #expect(gateway.seen.requests.map(\.id) == [SenderRig.id(1)])
    #expect(gateway.seen.requests.allSatisfy { $0.authorization == nil })
    let letter = try #require(try rig.fixture.read(rig.names.deadLetters, count: 1).first)
    let detail = letter.headers.first { $0.name == DeadLetterHeader.detail }
    let text = String(decoding: detail?.value ?? [], as: UTF8.self)
    #expect(text.contains("needs a client certificate"), "\(text)")
  }

  @Test func `apps and environments come from the certificate unless the list says less`() throws {
    let rig = try SenderRig()
    let sandbox = try rig.authority.issueClient(bundleID: "com.example.a", forProduction: false)
    let first = try CertificatesFile.load(try list(rig, "one", sandbox))[0]
    #expect(first.apps == ["com.example.a"])
    #expect(first.scope == .sandbox)
    let universal = try rig.authority.issueClient(
      bundleID: "com.example.a", furtherTopics: [("com.example.b", "app")])
    let second = try CertificatesFile.load(try list(rig, "two", universal))[0]
    #expect(second.apps == ["com.example.a", "com.example.b"])
    #expect(second.scope == .any)
    let third = try CertificatesFile.load(
      try list(rig, "three", universal, #","apps":["com.example.b"],"environment":"sandbox""#))[0]
    #expect(third.apps == ["com.example.b"])
    #expect(third.scope == .sandbox)
  }
}
