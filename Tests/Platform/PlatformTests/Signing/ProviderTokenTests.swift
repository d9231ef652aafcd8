// SPDX-License-Identifier: Apache-2.0
import Crypto
import Testing

@Suite struct ProviderTokenTests {
  @Test func `a token has the form and length that APNs documents`() throws {
    let key = try SigningKey.generate()
    let minter = try ProviderTokenMinter(key: key, teamID: "DEF123GHIJ", keyID: "ABC123DEFG")
    let token = try minter.mint(issuedAt: 1_795_000_000)
    let parts = token.split(separator: ".").map(String.init)
    #expect(parts.count == 3)
    #expect(token.utf8.count == 184)
    let header = try #require(Base64URL.decode(parts[0].utf8))
    #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
    let claims = try #require(Base64URL.decode(parts[1].utf8))
    #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"DEF123GHIJ","iat":1795000000}"#)
    let signature = try #require(Base64URL.decode(parts[2].utf8))
    let signed = Array("\(parts[0]).\(parts[1])".utf8)
    #expect(key.publicKey.verifies(signed, rawSignature: signature))
  }

  @Test(arguments: ["", "SHORT", "ABC123DEFGH", "ABC123DEF\"", "ÄBC123DEFG"])
  func `an id that is not ten letters and digits is refused`(id: String) throws {
    let key = try SigningKey.generate()
    #expect(throws: SigningError.self) {
      try ProviderTokenMinter(key: key, teamID: id, keyID: "ABC123DEFG")
    }
    #expect(throws: SigningError.self) {
      try ProviderTokenMinter(key: key, teamID: "DEF123GHIJ", keyID: id)
    }
  }
}

@Suite struct Base64URLTests {
  @Test(arguments: [
    ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
    ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of RFC 4648 hold without padding`(plain: String, encoded: String) {
    #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
    #expect(Base64URL.decode(encoded.utf8) == Array(plain.utf8))
  }

  @Test func `every byte survives`() {
    let bytes = (UInt8.min...UInt8.max).map { $0 }
    let encoded = Base64URL.encode(bytes)
    #expect(!encoded.contains("+") && !encoded.contains("/") && !encoded.contains("="))
    #expect(Base64URL.decode(encoded.utf8) == bytes)
  }

  @Test(arguments: ["Z", "Zm9vY", "Zh", "Zg==", "Zg=", "Zm 8", "Zm+v", "é"])
  func `base64url that is not canonical is refused`(text: String) {
    #expect(Base64URL.decode(text.utf8) == nil)
  }

  @Test func `the lenient form also takes standard base64`() {
    #expect(Base64URL.decode("Zg==".utf8, isLenient: true) == [0x66])
    #expect(Base64URL.decode("+/8=".utf8, isLenient: true) == [0xfb, 0xff])
    #expect(Base64URL.decode("-_8".utf8, isLenient: true) == [0xfb, 0xff])
    #expect(Base64URL.decode("=Zg".utf8, isLenient: true) == nil)
  }
}

@Suite struct SHA1Tests {
  @Test func `the vectors of RFC 3174 hold, one text after another`() {
    func hex(_ text: String) -> String {
      SHA1.digest(Array(text.utf8)).map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
      }.joined()
    }
    for _ in 0..<2 {
      #expect(hex("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d")
      #expect(hex("") == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    }
  }
}
