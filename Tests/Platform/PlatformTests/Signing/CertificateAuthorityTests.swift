// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Testing

@Suite struct CertificateAuthorityTests {
  private let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func inspected(_ certificate: IssuedCertificate, _ body: (String, String) -> Void) throws
  {
    try withFolder { folder in
      try certificate.write(certificate: "\(folder)/certificate.pem", key: "\(folder)/key.pem")
      try File.write("\(folder)/root.pem", authority.certificatePEM)
      let text = openssl("x509 -in \(folder)/certificate.pem -noout -text -nameopt RFC2253").output
      body(folder, text)
    }
  }

  @Test func `openssl opens a PKCS #12 file with an RSA key of 2,048 bits`() throws {
    try withFolder { folder in
      let issued = try CertificateAuthority(clientKeys: .rsa).issueClient(
        bundleID: "com.example.app")
      try File.write(
        "\(folder)/client.p12", issued.pkcs12(name: "com.example.app", passPhrase: "secret"))
      let opened = openssl("pkcs12 -in \(folder)/client.p12 -passin pass:secret -nodes -info")
      #expect(opened.status == 0, "\(opened.output)")
      for part in ["BEGIN CERTIFICATE", "BEGIN PRIVATE KEY", "com.example.app", "MAC: sha1"] {
        #expect(opened.output.contains(part), "\(part)")
      }
      #expect(openssl("pkcs12 -in \(folder)/client.p12 -passin pass:other -nodes").status != 0)
      try File.write("\(folder)/key.pem", issued.keyPEM)
      #expect(openssl("pkey -in \(folder)/key.pem -noout -text").output.contains("2048 bit"))
    }
  }

  @Test func `openssl verifies a server certificate for its names and for no other`() throws {
    try inspected(try authority.issueServer()) { folder, text in
      // Strictly, as Python's clients do since 3.13.
      let verify = "verify -x509_strict -CAfile \(folder)/root.pem -purpose sslserver"
      for name in ["-verify_hostname localhost", "-verify_ip 127.0.0.1", "-verify_ip ::1"] {
        let answer = openssl("\(verify) \(name) \(folder)/certificate.pem")
        #expect(answer.status == 0, "\(answer.output)")
      }
      #expect(
        openssl("\(verify) -verify_hostname example.com \(folder)/certificate.pem").status != 0)
      #expect(openssl("verify \(folder)/certificate.pem").status != 0)
      #expect(text.contains("Version: 3"))
    }
  }

  @Test func `files with keys are for their owner only`() throws {
    try inspected(try authority.issueServer()) { folder, _ in
      #expect((try? FileExposure("\(folder)/key.pem").mode) == 0o600)
    }
  }

  @Test func `a client certificate carries its app, its topics and its environments`() throws {
    let issued = try authority.issueClient(bundleID: "com.example.app", forSandbox: false)
    try inspected(issued) { folder, text in
      #expect(text.contains("UID=com.example.app"))
      #expect(text.contains("CN=Apple Push Services: com.example.app"))
      #expect(text.contains("TLS Web Client Authentication"))
      #expect(text.contains("1.2.840.113635.100.6.3.2"))
      #expect(!text.contains("1.2.840.113635.100.6.3.1:"))
      let answer = openssl(
        "verify -x509_strict -CAfile \(folder)/root.pem -purpose sslclient \(folder)/certificate.pem"
      )
      #expect(answer.status == 0, "\(answer.output)")
      let parsed = openssl("asn1parse -in \(folder)/certificate.pem").output
      #expect(parsed.contains("1.2.840.113635.100.6.3.6"))
    }
  }

  @Test func `a single-topic certificate has no list of topics`() throws {
    try inspected(try authority.issueClient(bundleID: "a.b", isUniversal: false)) { _, text in
      #expect(!text.contains("1.2.840.113635.100.6.3.6"))
    }
  }

  @Test func `an expired certificate is expired`() throws {
    try inspected(try authority.issueServer(validity: .expired)) { folder, _ in
      let answer = openssl("verify -CAfile \(folder)/root.pem \(folder)/certificate.pem")
      #expect(answer.output.contains("expired"))
    }
  }

  @Test func `a long bundle id still makes a certificate that parses`() throws {
    let id = "com." + String(repeating: "x", count: 50)
    try inspected(try authority.issueClient(bundleID: id)) { folder, _ in
      #expect(openssl("asn1parse -in \(folder)/certificate.pem").status == 0)
    }
  }

  @Test func `another authority's certificate is not trusted`() throws {
    let stranger = try CertificateAuthority().issueServer()
    try inspected(stranger) { folder, _ in
      let answer = openssl("verify -CAfile \(folder)/root.pem \(folder)/certificate.pem")
      #expect(answer.status != 0)
    }
  }
}
