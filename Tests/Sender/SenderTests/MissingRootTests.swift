// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import TestSupport
import Testing

@testable import Sender

/// Silent since 2025 where the trust store is old: the handshake fails without a clear cause.
@Suite struct MissingRootTests {
  private let folder = TemporaryFolder()

  /// What is missing for senders with these flags that trust this authority.
  private func missing(_ flags: [String], _ authority: CertificateAuthority) throws -> String? {
    let roots = folder.file("root.pem")
    try File.write(roots, authority.certificatePEM)
    let settings = try SenderSettings(
      SenderSettings.table.values(["--kafka", "localhost:1", "--gateway-roots", roots] + flags))
    let access = try GatewayAccess(roots: roots, certificates: [])
    return SenderService.missingRoot(settings, access.tls)?.commonName
  }

  private static let others = ["--gateway", "localhost:1", "--sandbox-gateway", "localhost:1"]

  @Test func `a gateway of Apple's without its root is worth a warning that names the root`() throws
  {
    let stranger = try CertificateAuthority()
    let name = "USERTrust RSA Certification Authority"
    #expect(try missing([], stranger) == name)
    #expect(try missing(["--gateway", "api.push.apple.com:2197"], stranger) == name)
    #expect(
      try missing(
        ["--gateway", "localhost:1", "--sandbox-gateway", "API.Sandbox.Push.Apple.com:443"],
        stranger) == name)
    #expect(
      try missing(
        Self.others + ["--broadcast-gateway", "api-broadcast.push.apple.com:443"], stranger)
        == name)
  }

  @Test func `there is no warning for other gateways, nor when the root is there`() throws {
    let stranger = try CertificateAuthority()
    #expect(try missing(Self.others, stranger) == nil)
    #expect(
      try missing(
        ["--gateway", "push.apple.com.example.com:1", "--sandbox-gateway", "localhost:1"], stranger)
        == nil)
    // An authority of the same name: nobody here has Apple's key, and only the name is looked for.
    let namesake = try CertificateAuthority(
      name: "USERTrust RSA Certification Authority",
      further: [
        ("C", "US"), ("ST", "New Jersey"), ("L", "Jersey City"), ("O", "The USERTRUST Network"),
      ])
    #expect(try missing([], namesake) == nil)
    // The common name alone does not make it Apple's root.
    let halfNamesake = try CertificateAuthority(name: "USERTrust RSA Certification Authority")
    #expect(try missing([], halfNamesake) != nil)
  }
}
