// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Testing

/// Certificates and keys in the forms in which people have them.
@Suite struct IdentityTests {
  private final class Folder {
    let path: String

    init() {
      var template = Array("/tmp/martlet-tls-XXXXXX".utf8CString)
      mkdtemp(&template)
      path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func write(_ name: String, _ bytes: [UInt8], mode: UInt32 = 0o600) throws -> String {
      try File.write("\(path)/\(name)", bytes, mode: mode)
      return "\(path)/\(name)"
    }

    /// What the openssl command, which is not ours, makes of `in.pem`.
    func openssl(_ arguments: String, from input: [UInt8]) throws -> [UInt8] {
      let (from, to) = (try write("in.pem", input), "\(path)/out")
      let words =
        arguments.contains("-key") || arguments.contains("genrsa")
        ? arguments : "\(arguments) -in \(from)"
      let pipe = popen("openssl \(words) -out \(to) 2>&1", "r")
      #expect(pipe.map { pclose($0) } == 0, "\(arguments)")
      return try File.read(to)
    }

    deinit {
      for name in ["c", "k", "in.pem", "out"] { unlink("\(path)/\(name)") }
      rmdir(path)
    }
  }

  private let folder = Folder()
  private let authority: CertificateAuthority
  private let issued: IssuedCertificate

  init() throws {
    authority = try CertificateAuthority()
    issued = try authority.issueClient(bundleID: "com.example.app")
  }

  private func load(_ certificate: [UInt8], _ key: [UInt8]) throws -> TLSIdentity {
    try TLSIdentity.load(
      certificate: try folder.write("c", certificate), key: try folder.write("k", key))
  }

  private func refusal(_ certificate: [UInt8], _ key: [UInt8]) -> String {
    do {
      _ = try load(certificate, key)
      return "none"
    } catch {
      return "\(error)"
    }
  }

  @Test func `every form is the same identity`() throws {
    let (certificate, key) = (issued.certificatePEM, issued.keyPEM)
    let root = authority.certificatePEM
    let unescaped = String(decoding: certificate, as: UTF8.self)
    let table: [(name: String, certificate: [UInt8], key: [UInt8])] = [
      ("as it is", certificate, key), ("with its root", certificate + root, key),
      ("issuer first", root + certificate, key),
      ("one file for both", key + certificate, key + certificate),
      ("DER", try folder.openssl("x509 -outform DER", from: certificate), key),
      (
        "trusted", try folder.openssl("x509 -trustout -addtrust clientAuth", from: certificate), key
      ),
      ("with its text", try folder.openssl("x509 -text", from: certificate), key),
      ("SEC 1", certificate, try folder.openssl("ec", from: key)),
      ("literal \\n", Array(unescaped.replacing("\n", with: "\\n").utf8), key),
      ("the same twice", certificate + certificate, key),
    ]
    let fingerprint = try PushCertificate(pem: certificate).fingerprint
    for form in table {
      let identity = try load(form.certificate, form.key)
      #expect(try identity.certificate().fingerprint == fingerprint, "\(form.name)")
      // As other libraries than OpenSSL need it: the certificate first.
      #expect(try PushCertificate(pem: identity.certificates).fingerprint == fingerprint)
      _ = try TLSContext.client(roots: .pem(root), identity: identity)
      _ = try TLSContext.server(
        identity: TLSIdentity(certificates: form.certificate, key: form.key))
    }
  }

  @Test func `RSA keys are taken as well`() throws {
    let key = try folder.openssl("genrsa -traditional", from: [])
    let certificate = try folder.openssl(
      "req -x509 -subj /CN=x -key \(try folder.write("k", key))", from: [])
    #expect(try load(certificate, key).certificate().commonName == "x")
  }

  @Test func `an encrypted key is refused with the command, and nobody is asked`() throws {
    for command in [
      "pkcs8 -topk8 -v2 aes256 -passout pass:x", "ec -aes256 -passout pass:x",
      "pkcs8 -topk8 -v2 aes256 -passout pass:x -outform DER",
    ] {
      let key = try folder.openssl(command, from: issued.keyPEM)
      let words = refusal(issued.certificatePEM, key)
      #expect(words.contains("\(folder.path)/k the private key is encrypted"), "\(words)")
      #expect(words.contains("openssl pkey -in \(folder.path)/k -out key.pem"), "\(words)")
    }
  }

  @Test func `an identity that is cut, damaged or ambiguous is refused and never left out`() throws
  {
    let (certificate, key) = (issued.certificatePEM, issued.keyPEM)
    let root = String(decoding: authority.certificatePEM, as: UTF8.self)
    func after(_ text: String) -> [UInt8] { certificate + Array(text.utf8) }
    let other = try SigningKey.generate().pem()
    let archive = try folder.openssl("pkcs12 -export -passout pass:x", from: key + certificate)
    let request = try folder.openssl(
      "req -new -subj /CN=x -key \(try folder.write("k", key))", from: [])
    let bundle = try folder.openssl(
      "crl2pkcs7 -nocrl -certfile \(try folder.write("c", certificate))", from: [])
    let table: [(certificate: [UInt8], key: [UInt8], words: String)] = [
      (after(root.replacing("MII", with: "M!I")), key, "block 2 (CERTIFICATE) is damaged"),
      (after(root.replacing("MII", with: "MIJ")), key, "certificate 2 of 2 cannot be read"),
      (after(String(root.dropFirst())), key, "damaged BEGIN or END line after block 1"),
      (after(String(root.dropLast(10))), key, "block 2 (CERTIFICATE) has no END line"),
      (certificate, key + other, "holds 2 private keys"),
      (certificate, other, "does not belong to the certificate"),
      (after(root), other, "does not belong to any of the certificates"),
      (certificate, certificate, "holds no private key"), (key, key, "holds no certificate"),
      (archive, key, "openssl pkcs12 -legacy -nodes -in \(folder.path)/c"),
      (certificate, archive, "openssl pkcs12 -legacy -nodes -in \(folder.path)/k"),
      (request, key, "is a certificate signing request"), (bundle, key, "is a PKCS#7 file"),
      (try folder.openssl("pkcs7 -outform DER", from: bundle), key, "is a PKCS#7 file"),
      (try folder.openssl("req -outform DER", from: request), key, "signing request"),
    ]
    for row in table {
      let words = refusal(row.certificate, row.key)
      #expect(words.contains(row.words), "\(words)")
    }
  }

  @Test func `two certificates of one key are ambiguous`() throws {
    let key = try folder.write("k", issued.keyPEM)
    let names = ["/CN=first", "/CN=second"]
    let both = try names.flatMap {
      try folder.openssl("req -x509 -subj \($0) -key \(key)", from: [])
    }
    let words = refusal(both, issued.keyPEM)
    #expect(words.contains("holds 2 certificates of one key"), "\(words)")
  }

  @Test func `a file that holds a key is a secret, whatever it is called`() throws {
    let certificate = try folder.write("c", issued.certificatePEM + issued.keyPEM, mode: 0o644)
    let key = try folder.write("k", issued.keyPEM)
    let problem = #expect(throws: TLSError.self) {
      try TLSIdentity.load(certificate: certificate, key: key)
    }
    #expect(problem?.message.contains("chmod 600 \(certificate)") == true)
  }

  @Test func `trusted authorities are refused when one of them cannot be read`() throws {
    let root = String(decoding: authority.certificatePEM, as: UTF8.self)
    let damaged = try folder.write("c", Array((root + root.replacing("MII", with: "MIJ")).utf8))
    let problem = #expect(throws: TLSError.self) { try TLSContext.client(roots: .file(damaged)) }
    #expect(problem?.message.contains("\(damaged) certificate 2 of 2 cannot be read") == true)
    let der = try folder.openssl("x509 -outform DER", from: authority.certificatePEM)
    let path = try folder.write("c", der)
    _ = try TLSContext.client(roots: .file(path))
    let form = #expect(throws: TLSError.self) { try TLSContext.checkPEMRoots(path) }
    #expect(form?.message.contains("openssl x509 -inform DER -in \(path)") == true)
  }
}
