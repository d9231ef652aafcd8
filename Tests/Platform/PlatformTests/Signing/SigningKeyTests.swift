// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Testing

/// A fresh folder that is removed afterwards.
func withFolder(_ body: (String) throws -> Void) throws {
  var template = Array("/tmp/martlet-signing-XXXXXX".utf8CString)
  let made = mkdtemp(&template)
  let folder = try #require(made.map { String(cString: $0) })
  defer {
    for name in ["key.p8", "client.p12", "certificate.pem", "key.pem", "root.pem"] {
      unlink("\(folder)/\(name)")
    }
    rmdir(folder)
  }
  try body(folder)
}

/// What the openssl command, which is not ours, says to these arguments.
func openssl(_ arguments: String) -> (status: Int32, output: String) {
  guard let pipe = popen("openssl \(arguments) 2>&1", "r") else { return (-1, "") }
  var output: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = fread(&piece, 1, piece.count, pipe)
    if count == 0 { break }
    output += piece[..<count]
  }
  return (pclose(pipe), String(decoding: output, as: UTF8.self))
}

@Suite struct SigningKeyTests {
  private func refusal(_ body: () throws(SigningError) -> Void) -> String? {
    do throws(SigningError) {
      try body()
      return nil
    } catch {
      return error.description
    }
  }

  @Test func `a generated key survives its file`() throws {
    try withFolder { folder in
      let key = try SigningKey.generate()
      try File.write("\(folder)/key.p8", key.pem())
      let loaded = try SigningKey.load("\(folder)/key.p8")
      #expect(try loaded.publicKey.pem() == key.publicKey.pem())
      let message = Array("hello".utf8)
      let signature = try loaded.signES256(message)
      #expect(key.publicKey.verifies(message, rawSignature: signature))
    }
  }

  @Test func `openssl reads the key and verifies our signature`() throws {
    try withFolder { folder in
      let key = try SigningKey.generate()
      let text = openssl("ec -in /dev/null")
      #expect(text.status != 0)
      try File.write("\(folder)/key.p8", key.pem())
      try File.write("\(folder)/key.pem", key.publicKey.pem())
      let message = Array("signed by us, verified by them".utf8)
      try File.write("\(folder)/certificate.pem", message)
      try File.write("\(folder)/root.pem", key.signDER(message))
      let answer = openssl(
        "dgst -sha256 -verify \(folder)/key.pem -signature \(folder)/root.pem"
          + " \(folder)/certificate.pem")
      #expect(answer.status == 0, "\(answer.output)")
      #expect(openssl("pkey -in \(folder)/key.p8 -noout -text").output.contains("prime256v1"))
    }
  }

  @Test func `a key file that is missing, empty, a folder or too large is refused with the cure`()
    throws
  {
    try withFolder { folder in
      let path = "\(folder)/key.p8"
      func problem(_ path: String) -> String? {
        refusal { () throws(SigningError) in _ = try SigningKey.load(path) }
      }
      #expect(
        problem(path)?.hasSuffix("(errno 2); correct the path, or put the file there") == true)
      #expect(problem(folder)?.hasSuffix("(errno 21); name a file in it") == true)
      try File.write(path, [])
      #expect(problem(path) == "\(path): is empty; copy the key or certificate into it again")
      try File.write(path, [UInt8](repeating: 0x20, count: 65_537))
      #expect(
        problem(path)?.hasSuffix("(errno 27); at most 64 KiB are expected; name the right file")
          == true)
    }
  }

  @Test func `a key file that others can read is refused with the cure`() throws {
    try withFolder { folder in
      let path = "\(folder)/key.p8"
      for mode: UInt32 in [0o644, 0o604] {
        try File.write(path, try SigningKey.generate().pem(), mode: mode)
        let text = refusal { () throws(SigningError) in _ = try SigningKey.load(path) }
        #expect(text == "\(path) can be read by others: chmod 600 \(path)")
      }
    }
  }

  @Test func `a missing file is named`() {
    let text = refusal { () throws(SigningError) in _ = try SigningKey.load("/nonexistent/key.p8") }
    #expect(text?.contains("/nonexistent/key.p8") == true)
  }

  @Test(arguments: [
    ("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048", "P-256"),
    ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384", "P-256"),
    ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:secp256k1", "P-256"),
    ("genpkey -algorithm ED25519", "P-256"),
    ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -aes256 -pass pass:x", "encrypted"),
  ])
  func `every other kind of key is refused`(command: String, mentioned: String) {
    let made = openssl(command)
    #expect(made.status == 0)
    let text = refusal { () throws(SigningError) in
      _ = try SigningKey(pem: Array(made.output.utf8))
    }
    #expect(text?.contains(mentioned) == true)
  }

  @Test func `a key that openssl made on P-256 is accepted`() throws {
    let made = openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
    let key = try SigningKey(pem: Array(made.output.utf8))
    #expect(try key.signES256([1]).count == 64)
  }

  @Test func `garbage is refused and no error shows any of it`() {
    let text = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0c2VjcmV0\n-----END PRIVATE KEY-----\n"
    let said = refusal { () throws(SigningError) in _ = try SigningKey(pem: Array(text.utf8)) }
    #expect(said != nil)
    #expect(said?.contains("c2Vj") == false)
  }
}

@Suite struct SignatureTests {
  private let message = Array("header.claims".utf8)

  @Test func `a raw signature is 64 bytes and both forms verify`() throws {
    let key = try SigningKey.generate()
    // R or S begins with a zero byte in one of 128 signatures: the padding must show.
    for _ in 0..<300 {
      let raw = try key.signES256(message)
      #expect(raw.count == 64)
      #expect(key.publicKey.verifies(message, rawSignature: raw))
    }
    #expect(key.publicKey.verifies(message, derSignature: try key.signDER(message)))
  }

  @Test func `another message, another key or a changed bit does not verify`() throws {
    let (key, other) = (try SigningKey.generate(), try SigningKey.generate())
    var raw = try key.signES256(message)
    #expect(!key.publicKey.verifies(Array("x".utf8), rawSignature: raw))
    #expect(!other.publicKey.verifies(message, rawSignature: raw))
    raw[10] ^= 1
    #expect(!key.publicKey.verifies(message, rawSignature: raw))
    #expect(!key.publicKey.verifies(message, rawSignature: Array(raw.dropLast())))
    #expect(!key.publicKey.verifies(message, rawSignature: []))
    #expect(!key.publicKey.verifies(message, derSignature: raw))
    #expect(!key.publicKey.verifies(message, derSignature: []))
  }

  @Test func `a public key survives its PEM form`() throws {
    let key = try SigningKey.generate()
    let read = try PublicKey(pem: try key.publicKey.pem())
    #expect(read.verifies(message, rawSignature: try key.signES256(message)))
    #expect(throws: SigningError.self) { try PublicKey(pem: [1, 2, 3]) }
  }
}
