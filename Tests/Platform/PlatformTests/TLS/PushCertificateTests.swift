// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Crypto

/// What a push certificate says, and how a server judges the ones that it is shown.
@Suite struct PushCertificateTests {
  private let authority: CertificateAuthority

  init() throws { authority = try Certificates.shared.get().authority }

  private func facts(_ issued: IssuedCertificate) throws -> PushCertificate {
    try PushCertificate(pem: issued.certificatePEM)
  }

  @Test func `a universal certificate lists the app, VoIP and complication`() throws {
    let facts = try facts(
      authority.issueClient(
        bundleID: "com.x.app", furtherTopics: [("com.x.app.push-type.liveactivity", "activity")]))
    #expect(facts.bundleID == "com.x.app")
    #expect(facts.commonName == "Apple Push Services: com.x.app")
    #expect(
      facts.listedTopics == [
        .init(name: "com.x.app", kinds: ["app"]), .init(name: "com.x.app.voip", kinds: ["voip"]),
        .init(name: "com.x.app.complication", kinds: ["complication"]),
        .init(name: "com.x.app.push-type.liveactivity", kinds: ["activity"]),
      ])
    #expect(facts.servesSandbox && facts.servesProduction)
  }

  @Test func `a single-topic certificate has its UID as topic`() throws {
    let facts = try facts(authority.issueClient(bundleID: "com.x.app", isUniversal: false))
    #expect(facts.topics == ["com.x.app"])
  }

  @Test func `a VoIP certificate's topic comes from its own extension`() throws {
    let facts = try facts(authority.issueVoIPClient(bundleID: "com.x.app"))
    #expect(facts.topics == ["com.x.app.voip"])
    #expect(facts.listedTopics == [.init(name: "com.x.app.voip", kinds: ["voip"])])
    // Without marks it serves both environments.
    #expect(facts.servesSandbox && facts.servesProduction)
  }

  @Test func `the marks say which environment is served`() throws {
    let sandbox = try facts(authority.issueClient(bundleID: "a.b", forProduction: false))
    #expect(sandbox.servesSandbox && !sandbox.servesProduction)
    let production = try facts(authority.issueClient(bundleID: "a.b", forSandbox: false))
    #expect(!production.servesSandbox && production.servesProduction)
  }

  @Test func `a certificate's end is read`() throws {
    let year = try facts(authority.issueClient(bundleID: "a.b")).expiresAt
    let past = try facts(authority.issueClient(bundleID: "a.b", validity: .expired)).expiresAt
    // A year from now against an hour ago, to the second or two that the test takes.
    #expect((31_557_600 + 3_598...31_557_600 + 3_602).contains(year - past))
  }

  @Test func `text that is no certificate is refused`() {
    #expect(throws: TLSError.self) { try PushCertificate(pem: Array("no".utf8)) }
  }

  @Test func `a server reads the certificate that the client shows`() throws {
    let issued = try authority.issueClient(bundleID: "com.x.app")
    let pair = try pair(issued, ClientTrust(roots: authority.certificatePEM))
    try pair.handshake()
    #expect(pair.server.peerCertificate?.bundleID == "com.x.app")
    #expect(pair.server.peerCertificate?.fingerprint == (try facts(issued)).fingerprint)
    #expect(pair.server.peerProblem == nil)
    #expect(pair.server.requestedName == "localhost")
  }

  @Test
  func `expired and foreign certificates are refused, or let in with the problem named`() throws {
    let expired = try authority.issueClient(bundleID: "a.b", validity: .expired)
    let foreign = try CertificateAuthority(name: "stranger").issueClient(bundleID: "a.b")
    for (issued, words) in [(expired, "expired"), (foreign, "issuer certificate")] {
      let strict = try pair(issued, ClientTrust(roots: authority.certificatePEM))
      #expect(throws: TLSError.self) { try strict.handshake() }
      let open = try pair(issued, ClientTrust(roots: authority.certificatePEM, admitsBroken: true))
      try open.handshake()
      #expect(open.server.peerProblem?.contains(words) == true)
    }
  }

  @Test func `a revoked certificate is refused however broken ones are treated`() throws {
    let issued = try authority.issueClient(bundleID: "a.b")
    let trust = ClientTrust(roots: authority.certificatePEM, admitsBroken: true)
    trust.revoke([try facts(issued).fingerprint])
    let pair = try pair(issued, trust)
    let error = #expect(throws: TLSError.self) { try pair.handshake() }
    #expect(error?.message.contains("revoked") == true)
    trust.revoke([])
    try self.pair(issued, trust).handshake()
  }

  private func pair(_ issued: IssuedCertificate, _ trust: ClientTrust) throws -> TLSPair {
    let certificates = try Certificates.shared.get()
    return try TLSPair(
      .client(
        roots: .pem(authority.certificatePEM),
        identity: TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM)),
      .server(identity: certificates.localhost, clientTrust: trust))
  }
}
