// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import HTTP2
import Records
import Testing

@Suite struct FaultTLSTests {
  /// What becomes of a client that trusts the authority of the rig's faults if there is one.
  private func refusal(_ tls: String) throws -> ConnectionFailure {
    let rig = try FaultRig(#"[{"id":"tls_failure","tls":"\#(tls)"}]"#)
    let report = try rig.gateway.json("/faults")
    let root = report["root"]?.string.map { Array($0.utf8) }
    let client = try rig.client(roots: root, expectsSettings: false)
    try client.wait { client.connection.isClosed }
    return try #require(client.failure)
  }

  @Test(arguments: [
    ("expired", "certificate has expired"), ("wrong_host", "mismatch"),
    ("unknown_authority", "issuer certificate"),
  ])
  func
    `tls_failure: a server certificate that is expired, for another host, of an unknown authority`(
      tls: String, words: String
    ) throws
  {
    guard case .tls(let error) = try refusal(tls) else {
      return #expect(Bool(false), "expected a TLS failure")
    }
    #expect(error.kind == .certificate)
    #expect(error.message.contains(words), "\(error.message)")
  }

  @Test(arguments: ["tls_1_1", "http_1_1"])
  func `tls_failure: TLS 1.1 only, and ALPN http/1.1`(tls: String) throws {
    guard case .tls(let error) = try refusal(tls) else {
      return #expect(Bool(false), "expected a TLS failure")
    }
    #expect(error.kind == .handshake)
  }

  @Test func `tls_failure: a slow handshake`() throws {
    let rig = try FaultRig(#"[{"id":"tls_failure","tls":"slow","delay":"400ms"}]"#)
    let start = MonotonicClock.milliseconds()
    let client = try rig.client()
    #expect(MonotonicClock.milliseconds() - start >= 400)
    #expect(try client.send(client.push).status == 200)
  }

  @Test
  func `tls_failure: a client certificate is asked for, and a client without one goes on`() throws {
    let rig = try FaultRig(#"[{"id":"tls_failure","tls":"certificate_request"}]"#)
    let client = try rig.client()
    #expect(try client.send(client.push).status == 200)
    // One that shows a certificate is refused: the gateway trusts another authority.
    let issued = try CertificateAuthority().issueClient(bundleID: "com.example.app")
    let other = try GatewayClient(
      rig.gateway, identity: TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM),
      expectsSettings: false)
    try other.wait { other.connection.isClosed }
    #expect(other.failure != nil)
    #expect(other.goAways.isEmpty)
  }

  @Test func `tls_failure: certificates of the operator's own from files`() throws {
    let rig = try FaultRig("[]")
    let answer = try rig.gateway.admin(
      "POST", "/faults",
      #"[{"id":"tls_failure","certificate":"/no/such.pem","certificate_key":"/no/such.key"}]"#
    )
    #expect(answer.contains("tls_failure"))
    #expect(answer.contains("/no/such.pem"))
    #expect(try rig.fired == [])
  }
}
