// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import TestSupport
import Testing

@Suite struct TokenKeysTests {
  private let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
  private let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
  private let plain = Array("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJUIn0.c2ln".utf8)
  private let context = Array("TEAM000001/KEY0000001/any\n7".utf8)

  private func keys(_ text: String) throws(SigningError) -> TokenKeys {
    try TokenKeys(text: Array(text.utf8))
  }

  @Test func `a token that was sealed opens again, and no two seals are alike`() throws {
    let keys = try keys(hex)
    let first = try keys.seal(plain, context: context)
    let second = try keys.seal(plain, context: context)
    #expect(first != second)
    #expect(try keys.open(first, context: context) == plain)
    #expect(try keys.open(second, context: context) == plain)
    #expect(try keys.open(try keys.seal([], context: []), context: []) == [])
    #expect(TokenKeys.keyID(of: first) == keys.ids[0])
  }

  /// NIST's test case 16 of AES-256-GCM (McGrew and Viega, "The Galois/Counter Mode of Operation").
  @Test func `a text that another implementation sealed opens`() throws {
    let keys = try keys("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    let sealed =
      "cafebabefacedbaddecaf888"
      + "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
      + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
      + "76fc6ece0f4e1768cddf8853bb2d551b"
    let text = "v1.\(keys.ids[0]).\(Base64URL.encode(bytes(sealed)))"
    let opened = try keys.open(text, context: bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
    #expect(
      opened
        == bytes(
          "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"))
  }

  @Test func `a seal of which any bit is changed does not open`() throws {
    let keys = try keys(hex)
    let sealed = try keys.seal(plain, context: context)
    let head = "v1.\(keys.ids[0])."
    let packed = try #require(Base64URL.decode(sealed.utf8.dropFirst(head.utf8.count)))
    for bit in 0..<packed.count * 8 {
      var changed = packed
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: SigningError.self) {
        try keys.open(head + Base64URL.encode(changed), context: context)
      }
    }
    for length in 0..<packed.count {
      #expect(throws: SigningError.self) {
        try keys.open(head + Base64URL.encode(Array(packed[..<length])), context: context)
      }
    }
    #expect(throws: SigningError.self) { try keys.open(sealed, context: context + [0x30]) }
    for odd in ["", "v1", "v2" + sealed.dropFirst(2), sealed + ".", head, head + "!"] {
      #expect(throws: SigningError.self) { try keys.open(String(odd), context: context) }
    }
  }

  @Test func `hex and base64 name the same key, the first of several seals, all open`() throws {
    let old = try keys(hex)
    #expect(try keys(base64).ids == old.ids)
    #expect(try keys(" \(base64.dropLast())\r\n\n").ids == old.ids)
    let new = String(repeating: "Ab", count: 32)
    let both = try keys("\(new)\n\(hex)\n")
    #expect(both.ids.count == 2)
    #expect(try both.open(try old.seal(plain, context: context), context: context) == plain)
    let sealed = try both.seal(plain, context: context)
    #expect(TokenKeys.keyID(of: sealed) == both.ids[0])
    let problem = problem { () throws(SigningError) in try old.open(sealed, context: context) }
    #expect(problem.contains(both.ids[0]) && problem.contains(old.ids[0]), "\(problem)")
  }

  @Test(arguments: [
    "", "\n", "00", "zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
    "+10102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "AAECAwQF",
  ])
  func `a file that is no key is refused without showing it`(text: String) throws {
    let problem = problem { () throws(SigningError) in try keys(text) }
    #expect(!problem.isEmpty)
    #expect(text.count < 3 || !problem.contains(text))
  }

  @Test func `a file that others can read is refused`() throws {
    let folder = TemporaryFolder()
    for (mode, isFine) in [(UInt32(0o600), true), (0o400, true), (0o640, true), (0o604, false)] {
      let path = folder.file("key-\(mode)")
      try File.write(path, Array(hex.utf8), mode: mode)
      let problem = problem { () throws(SigningError) in try TokenKeys.load(path) }
      #expect(problem.isEmpty == isFine, "\(problem)")
      #expect(isFine || problem.contains("chmod 600"))
    }
    #expect(!problem { () throws(SigningError) in try TokenKeys.load(folder.file("no")) }.isEmpty)
  }

  private func problem<R>(_ body: () throws(SigningError) -> R) -> String {
    do throws(SigningError) {
      _ = try body()
      return ""
    } catch {
      return error.description
    }
  }

  private func bytes(_ hex: String) -> [UInt8] {
    let digits = Array(hex.utf8)
    return stride(from: 0, to: digits.count, by: 2).map {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
    }
  }
}
