// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Settings
import Testing

/// Keys and certificates in the forms in which people have them, with `PEMBlocks` and `DERShape`.
@Suite struct PEMFileTests {
  private static let key = (try? SigningKey.generate()).flatMap { try? $0.pem() } ?? []
  private static let text = String(decoding: key, as: UTF8.self)

  /// What pasting, editors and configuration files do to a key.
  private static let pasted: [(name: String, text: String)] = [
    ("as it is", text),
    ("CRLF", text.replacing("\n", with: "\r\n")),
    ("CR", text.replacing("\n", with: "\r")),
    ("literal \\n", text.replacing("\n", with: "\\n")),
    ("literal \\r\\n", text.replacing("\n", with: "\\r\\n")),
    ("literal \\\\n", text.replacing("\n", with: "\\\\n")),
    ("quoted", "\"" + text.replacing("\n", with: "\\n") + "\"\n"),
    ("one line, blanks", text.replacing("\n", with: " ")),
    ("one line, nothing", text.replacing("\n", with: "")),
    ("indented", text.replacing("\n", with: "\n    ")),
    ("indented first", "\t" + text.replacing("\n", with: "\n\t")),
    ("blank lines", text.replacing("\n", with: "\n\n")),
    ("byte order mark", "\u{FEFF}" + text),
    (
      "text around it",
      "Bag Attributes\n  friendlyName: x\nKey Attributes: <No Attributes>\n" + text
    ),
    ("twice the same", text + text),
    ("no last line end", String(text.dropLast())),
  ]

  @Test(arguments: pasted.map(\.name))
  func `a key that was pasted is the same key`(_ name: String) throws {
    let text = try #require(Self.pasted.first { $0.name == name }?.text)
    let expected = try SigningKey(pem: Self.key).publicKey.pem()
    #expect(try SigningKey(pem: Array(text.utf8)).publicKey.pem() == expected)
  }

  private func made(_ arguments: String, from input: [UInt8] = []) throws -> [UInt8] {
    var made: [UInt8] = []
    try withFolder { folder in
      try File.write("\(folder)/key.pem", input)
      let answer = openssl(
        arguments.replacing("@", with: "\(folder)/key.pem") + " -out \(folder)/root.pem")
      #expect(answer.status == 0, "\(arguments): \(answer.output)")
      made = try File.read("\(folder)/root.pem")
    }
    return made
  }

  @Test(arguments: [
    "ec -in @", "ec -in @ -outform DER", "pkcs8 -topk8 -nocrypt -in @ -outform DER", "pkey -in @",
  ])
  func `a key in another form is the same key`(command: String) throws {
    let other = try made(command, from: Self.key)
    let expected = try SigningKey(pem: Self.key).publicKey.pem()
    #expect(try SigningKey(pem: other).publicKey.pem() == expected)
  }

  @Test func `the parameters that openssl ecparam writes before a key do no harm`() throws {
    let both = openssl("ecparam -name prime256v1 -genkey").output
    #expect(both.contains("EC PARAMETERS"))
    #expect(try SigningKey(pem: Array(both.utf8)).signES256([1]).count == 64)
  }

  private func refusal(_ bytes: [UInt8]) -> String {
    do throws(SigningError) {
      _ = try SigningKey(pem: bytes, path: "/etc/k.p8")
      return "none"
    } catch {
      return error.description
    }
  }

  @Test(arguments: [
    "pkcs8 -topk8 -in @ -v2 aes256 -passout pass:x",
    "pkcs8 -topk8 -in @ -v2 aes256 -passout pass:x -outform DER",
    "ec -in @ -aes256 -passout pass:x",
  ])
  func `an encrypted key is refused with the command, and nobody is asked`(command: String) throws {
    let words = refusal(try made(command, from: Self.key))
    #expect(
      words.contains("is encrypted; write it without a pass phrase: openssl pkey -in /etc/k.p8"),
      "\(words)")
  }

  @Test func `what is no key says what it is and what converts it`() throws {
    let other = String(decoding: try SigningKey.generate().pem(), as: UTF8.self)
    let encoded = Array(openssl("base64 -A << 'X'\n\(Self.text)X\n").output.utf8)
    let bare = Self.text.split(separator: "\n").filter { !$0.contains("-----") }.joined()
    var utf16: [UInt8] = [0xFF, 0xFE]
    for unit in Self.text.utf16 { utf16 += [UInt8(unit & 255), UInt8(unit >> 8)] }
    let issued = try CertificateAuthority().issueServer()
    let archive = try made(
      "pkcs12 -export -in @ -passout pass:x", from: issued.certificatePEM + issued.keyPEM)
    let table: [(bytes: [UInt8], words: String)] = [
      (Array((Self.text + other).utf8), "holds 2 private keys"),
      (encoded, "base64 -d /etc/k.p8"), (Array(bare.utf8), "base64 -d /etc/k.p8"),
      (utf16, "iconv -f UTF-16 -t UTF-8 /etc/k.p8"), (archive, "openssl pkcs12 -legacy -nodes -in"),
      (issued.certificatePEM, "but a certificate"),
      (try SigningKey(pem: Self.key).publicKey.pem(), "but a public one"), ([], "is empty"),
      (Array(Self.text.dropLast(30).utf8), "no END line"),
      (Array(Self.text.dropFirst(1).utf8), "damaged BEGIN or END"),
      (Array(Self.text.replacing("MIG", with: "M?G").utf8), "not base64"),
      (Array("{\"a\": 1}".utf8), "no private key"),
    ]
    for (bytes, words) in table {
      let said = refusal(bytes)
      #expect(said.contains(words), "\(said)")
      #expect(!said.contains("MIG"))
    }
  }
}
