// SPDX-License-Identifier: Apache-2.0
import Crypto
import Testing

@Suite struct HandshakeTests {
  let certificates: Certificates
  let client: TLSContext

  init() throws {
    certificates = try Certificates.shared.get()
    client = try .client(roots: .pem(certificates.authority.certificatePEM))
  }

  @Test(arguments: ["localhost", "127.0.0.1"])
  func `a certificate that names the server is accepted`(name: String) throws {
    let pair = try TLSPair(client, .server(identity: certificates.localhost), name: name)
    try pair.handshake()
    #expect(pair.client.isEstablished)
    #expect(pair.server.isEstablished)
    #expect(pair.client.version == "TLSv1.3")
    #expect(pair.server.peerCertificate == nil)
  }

  @Test(arguments: ["gateway.example", "192.0.2.1"])
  func `a certificate for another host is refused`(name: String) throws {
    let pair = try TLSPair(client, .server(identity: certificates.localhost), name: name)
    let error = #expect(throws: TLSError.self) { try pair.handshake() }
    #expect(error?.kind == .certificate)
    #expect(error?.message.hasPrefix("the certificate of \(name) is refused: ") == true)
    #expect(error?.message.contains("mismatch") == true)
    #expect(!pair.client.isEstablished)
  }

  @Test func `an unknown authority is refused`() throws {
    let stranger = try CertificateAuthority(name: "stranger")
    let client = try TLSContext.client(roots: .pem(stranger.certificatePEM))
    let pair = try TLSPair(client, .server(identity: certificates.localhost))
    let error = #expect(throws: TLSError.self) { try pair.handshake() }
    #expect(error?.kind == .certificate)
    #expect(error?.message.contains("issuer certificate") == true)
  }

  @Test func `a certificate that is trusted itself needs no root above it`() throws {
    let client = try TLSContext.client(roots: .pem(certificates.localhost.certificates))
    let pair = try TLSPair(client, .server(identity: certificates.localhost))
    try pair.handshake()
    #expect(pair.client.isEstablished)
    let other = TLSIdentity(try certificates.authority.issueServer())
    let stranger = try TLSPair(client, .server(identity: other))
    #expect(throws: TLSError.self) { try stranger.handshake() }
  }

  @Test func `the system's authorities do not know the test authority`() throws {
    let pair = try TLSPair(.client(), .server(identity: certificates.localhost))
    let error = #expect(throws: TLSError.self) { try pair.handshake() }
    #expect(error?.kind == .certificate)
  }

  @Test func `an expired certificate is refused`() throws {
    let pair = try TLSPair(client, .server(identity: certificates.expired))
    let error = #expect(throws: TLSError.self) { try pair.handshake() }
    #expect(error?.message == "the certificate of localhost is refused: certificate has expired")
  }

  @Test(arguments: [TLSContext.ServerFault.selectsHTTP1, .speaksOnlyTLS11])
  func `a server that chooses HTTP/1 or speaks only TLS 1.1 is refused`(
    fault: TLSContext.ServerFault
  ) throws {
    let server = try TLSContext.server(identity: certificates.localhost, fault: fault)
    let pair = try TLSPair(client, server)
    let error = #expect(throws: TLSError.self) { try pair.handshake() }
    #expect(error?.kind == .handshake)
    #expect(!pair.client.isEstablished)
  }

  @Test func `a server that names no protocol is accepted`() throws {
    let server = try TLSContext.server(identity: certificates.localhost, fault: .namesNoProtocol)
    let pair = try TLSPair(client, server)
    try pair.handshake()
    #expect(pair.client.isEstablished)
  }

  @Test func `the second connection resumes the first ones session`() throws {
    let server = try TLSContext.server(identity: certificates.localhost)
    let first = try TLSPair(client, server)
    try first.handshake()
    // TLS 1.3 sends the session's tickets after the handshake.
    var room = [UInt8](repeating: 0, count: 10)
    let count = try room.withUnsafeMutableBytes { try first.client.read(into: $0) }
    #expect(count == 0)
    #expect(!first.client.isResumed)
    let second = try TLSPair(client, server)
    try second.handshake()
    #expect(second.client.isResumed)
    // Not for another name: the session would skip the certificate's check.
    let other = try TLSPair(client, server, name: "gateway.example")
    #expect(throws: TLSError.self) { try other.handshake() }
  }

  @Test func `a session is offered until a handshake with it comes to nothing`() throws {
    let server = try TLSContext.server(identity: certificates.localhost)
    // A connection that ends without close_notify takes its session with it (OpenSSL 3, `ssl_clear_bad_session`).
    var open: [TLSPair] = []
    func resumes() throws -> Bool {
      let pair = try TLSPair(client, server)
      open.append(pair)
      try pair.handshake()
      var room = [UInt8](repeating: 0, count: 10)
      let count = try room.withUnsafeMutableBytes { try pair.client.read(into: $0) }
      #expect(count == 0)
      return pair.client.isResumed
    }
    #expect(try [resumes(), resumes()] == [false, true])
    // Nothing left for the server.
    _ = try TLSConnection(client: client, serverName: "localhost")
    #expect(try resumes())
    do {
      let silent = try TLSConnection(client: client, serverName: "localhost")
      try silent.advance()
    }
    #expect(try [resumes(), resumes()] == [false, true])
    // Another one has brought a newer session meanwhile.
    do {
      let beaten = try TLSConnection(client: client, serverName: "localhost")
      try beaten.advance()
      #expect(try resumes())
      withExtendedLifetime(beaten) {}
    }
    #expect(try resumes())
  }

  @Test func `a client certificate is shown when asked for`() throws {
    let roots = certificates.authority.certificatePEM
    let server = try TLSContext.server(identity: certificates.localhost, clientRoots: roots)
    let issued = try certificates.authority.issueClient(bundleID: "com.example.app")
    let client = try TLSContext.client(roots: .pem(roots), identity: TLSIdentity(issued))
    let pair = try TLSPair(client, server)
    try pair.handshake()
    #expect(pair.server.peerCertificate != nil)
    let without = try TLSPair(self.client, server)
    try without.handshake()
    #expect(without.server.isEstablished)
    #expect(without.server.peerCertificate == nil)
  }

  @Test func `a client trusts what another one does, and shows its own certificate`() throws {
    let roots = certificates.authority.certificatePEM
    let server = try TLSContext.server(identity: certificates.localhost, clientRoots: roots)
    let identity = TLSIdentity(try certificates.authority.issueClient(bundleID: "com.example.app"))
    var other: TLSContext? = try .client(roots: .pem(roots))
    let client = try TLSContext.client(roots: .shared(try #require(other)), identity: identity)
    other = nil
    let pair = try TLSPair(client, server)
    try pair.handshake()
    #expect(pair.server.peerCertificate?.bundleID == "com.example.app")
    let stranger = try TLSContext.client(
      roots: .shared(.client(roots: .pem(CertificateAuthority(name: "stranger").certificatePEM))))
    let refused = try TLSPair(stranger, .server(identity: certificates.localhost))
    #expect(throws: TLSError.self) { try refused.handshake() }
  }

  @Test func `unusable certificates and keys are refused with the reason`() throws {
    let other = try certificates.authority.issueServer()
    let mixed = TLSIdentity(certificates: certificates.localhost.certificates, key: other.keyPEM)
    let mismatch = #expect(throws: TLSError.self) { try TLSContext.server(identity: mixed) }
    #expect(mismatch?.message.contains("does not belong to any of the certificates") == false)
    #expect(mismatch?.message.contains("does not belong to the certificate") == true)
    let empty = TLSIdentity(certificates: [], key: [])
    let nothing = #expect(throws: TLSError.self) { try TLSContext.server(identity: empty) }
    #expect(nothing?.message.contains("is empty") == true)
    let missing = #expect(throws: TLSError.self) {
      try TLSContext.client(roots: .file("/nonexistent/roots.pem"))
    }
    #expect(missing?.message.contains("/nonexistent/roots.pem") == true)
  }

  @Test func `garbage instead of a handshake is an error`() throws {
    let connection = try TLSConnection(client: client, serverName: "localhost")
    try connection.advance()
    let garbage = [UInt8](repeating: UInt8(ascii: "x"), count: 100)
    garbage.withUnsafeBytes { connection.receive($0) }
    let error = #expect(throws: TLSError.self) { try connection.advance() }
    #expect(error?.kind == .handshake)
  }
}
