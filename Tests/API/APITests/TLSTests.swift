// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Glibc
import HTTPClient
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import API

@Suite(.onOwnThread) struct TLSTests {
  private let folder = TemporaryFolder()
  private let request = Array(
    #"{"app":"a.b","token":"\#(String(repeating: "ab", count: 32))","payload":{"aps":{"badge":1}}}"#
      .utf8)
  private let authorization = ["Authorization: Bearer all"]

  /// The flags for a certificate of a new authority, whose root is in the file `root`.
  private func flags(key other: String? = nil) throws -> [String] {
    let authority = try CertificateAuthority()
    try File.write(folder.file("root"), authority.certificatePEM)
    try authority.issueServer().write(
      certificate: folder.file("certificate"), key: folder.file("key"))
    return [
      "--tls-certificate", folder.file("certificate"), "--tls-key", folder.file(other ?? "key"),
    ]
  }

  @Test
  func `with a certificate of its own it answers clients that trust it, and no others`() throws {
    let fixture = try APIFixture(flags())
    let client = HTTPClient(timeoutMilliseconds: 30_000, roots: folder.file("root"))
    #expect(try client.post(fixture.url, request, headers: authorization).status == 202)
    #expect(try client.post(fixture.url, request).status == 401)
    let lines = Array(repeating: request + [10], count: 5_000).flatMap { $0 }
    let many = try client.post(
      fixture.url, lines, contentType: "application/x-ndjson", headers: authorization)
    #expect(many.status == 202 && many.text.split(separator: "\n").count == 5_000)
    #expect(throws: HTTPClientError.self) {
      try HTTPClient().post(fixture.url, request, headers: authorization)
    }
    // Another authority's root, instead of the system's and of this one's.
    try File.write(folder.file("other"), try CertificateAuthority().certificatePEM)
    #expect(throws: HTTPClientError.self) {
      try HTTPClient(roots: folder.file("other")).post(fixture.url, request, headers: authorization)
    }
    // By a client of its own: from 8.14 on libcurl sends what is for http: over an encrypted connection that it has.
    let plain = fixture.url.replacing("https:", with: "http:")
    #expect((try? HTTPClient().post(plain, request, headers: authorization).status) != 202)
  }

  @Test
  func `a key that others may read, or with a pass phrase, ends the start with the cure`() throws {
    let flags = try flags()
    try CertificateAuthority().issueServer().write(
      certificate: folder.file("unused"), key: folder.file("key"))
    try File.write(folder.file("key"), File.read(folder.file("key")), mode: 0o644)
    #expect {
      try APIFixture(flags)
    } throws: {
      "\($0)".contains("chmod 600 \(folder.file("key"))")
    }
    let encrypted =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
    try File.write(folder.file("key"), Array(encrypted.utf8))
    #expect {
      try APIFixture(flags)
    } throws: {
      "\($0)".contains("openssl pkey -in \(folder.file("key"))")
    }
  }

  @Test
  func `a certificate that is renewed is shown without a restart, one that does not fit is not`()
    throws
  {
    let fixture = try APIFixture(flags())
    let before = HTTPClient(timeoutMilliseconds: 30_000, roots: folder.file("root"))
    #expect(try before.post(fixture.url, request, headers: authorization).status == 202)
    let renewed = try CertificateAuthority()
    try File.write(folder.file("root2"), renewed.certificatePEM)
    let client = HTTPClient(timeoutMilliseconds: 30_000, roots: folder.file("root2"))
    // The certificate comes first; its key is not there yet.
    try renewed.issueServer().write(
      certificate: folder.file("certificate"), key: folder.file("newkey"))
    fixture.context.signals.requestReload()
    func isRefused() -> Bool {
      fixture.value(of: "martlet_api_reload_refused", ["certificate", ""]) == .integer(1)
    }
    #expect(eventually { isRefused() })
    #expect((try? client.post(fixture.url, request, headers: authorization)) == nil)
    #expect(try before.post(fixture.url, request, headers: authorization).status == 202)
    try Files.replace(folder.file("key"), File.text(folder.file("newkey")))
    #expect(
      eventually { (try? client.post(fixture.url, request, headers: authorization).status) == 202 })
    #expect(!isRefused())
  }

  @Test func `the end of the certificate is a metric`() throws {
    let flags = try flags()
    let fixture = try APIFixture(flags)
    let end = try TLSIdentity.load(certificate: flags[1], key: flags[3]).certificate().expiresAt
    let value = fixture.value(of: "martlet_api_certificate_not_after_timestamp_seconds", [])
    #expect(value == .integer(Int(end)))
    #expect(end > 1_795_000_000)
  }

  @Test func `a check tells of a certificate that has expired`() throws {
    let flags = try flags()
    try File.write(folder.file("keys"), Array("[]".utf8))
    let context = try APIService.context(["--keys", folder.file("keys")] + flags)
    let settings = try APISettings(context.values)
    #expect(APIService.identity(settings).map(\.status) == [.ok])
    try CertificateAuthority().issueServer(validity: .expired).write(
      certificate: flags[1], key: flags[3])
    #expect(APIService.identity(settings).map(\.message) == ["has expired"])
  }

  @Test func `nothing older than TLS 1.2 is spoken`() throws {
    let fixture = try APIFixture(flags())
    func connects(_ version: String) -> Bool {
      // s_client ends with its input.
      system(
        "openssl s_client -connect 127.0.0.1:\(fixture.port) \(version) -cipher ALL@SECLEVEL=0 </dev/null >/dev/null 2>&1"
      ) == 0
    }
    #expect(!connects("-tls1") && !connects("-tls1_1"))
    #expect(connects("-tls1_2"))
  }

  @Test func `a key that is not the certificate's ends the start with a message`() throws {
    let flags = try flags(key: "other")
    try CertificateAuthority().issueServer().write(
      certificate: folder.file("unused"), key: folder.file("other"))
    #expect(throws: (any Error).self) { try APIFixture(flags) }
  }
}
