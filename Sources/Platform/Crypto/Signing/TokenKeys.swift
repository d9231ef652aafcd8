// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The keys by which a deployment keeps its provider tokens secret on their topic: AES-256-GCM
/// (NIST SP 800-38D) with a random nonce of 96 bits. The first key seals, each of them opens, so a new key
/// can be brought in before the old one goes.
///
/// A sealed text is `v1.<key id>.<nonce, ciphertext and tag in base64url>`. It is bound to a context that
/// has to be the same when it is opened.
public struct TokenKeys: Sendable {
  private struct Key {
    let id: String
    let bytes: [UInt8]
  }

  private static let version = "v1"
  private static let nonceCount = 12
  private static let tagCount = 16
  private static let most = 8

  private let keys: [Key]
  /// True if the file has a line `plain`: what is not sealed is read, too.
  public let acceptsPlain: Bool

  /// Names of the keys that may be shown: a digest of each, in the order of the file.
  public var ids: [String] { keys.map(\.id) }

  /// Reads a file with one key a line: 32 bytes in hex or base64. A line `plain` says that what is not sealed is to be
  /// read, too.
  ///
  /// - Throws: when others can read the file (`FileExposure`), it cannot be read, or holds anything
  ///   else; the text says what to do and nothing of the content.
  public static func load(_ path: String) throws(SigningError) -> TokenKeys {
    try SecretFile.load(path, limit: 4_096) { (bytes) throws(SigningError) in
      try TokenKeys(text: bytes)
    }
  }

  /// - Parameter text: One key a line, eight at most, and perhaps a line `plain`; empty lines do not count.
  public init(text: [UInt8]) throws(SigningError) {
    var keys: [Key] = []
    var acceptsPlain = false
    for (index, line) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    {
      let line = line.filter { $0 != 0x0D && $0 != 0x20 && $0 != 0x09 }
      if line.isEmpty { continue }
      if line.elementsEqual("plain".utf8) {
        acceptsPlain = true
        continue
      }
      let decoded =
        line.count == 64 ? Self.hex(line) : Base64URL.decode(line, isLenient: true)
      guard let bytes = decoded, bytes.count == 32 else {
        throw SigningError(
          "line \(index + 1) is not 32 bytes in hex or base64; openssl rand -hex 32 makes a key")
      }
      keys.append(Key(id: Self.id(of: bytes), bytes: bytes))
    }
    guard (1...Self.most).contains(keys.count) else {
      throw SigningError("holds \(keys.count) keys, not 1 to \(Self.most), one per line")
    }
    self.keys = keys
    self.acceptsPlain = acceptsPlain
  }

  /// The id of the key that sealed a text; nil when it is no sealed text of this version.
  public static func keyID(of sealed: String) -> String? {
    let parts = sealed.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 3 && parts[0] == version ? String(parts[1]) : nil
  }

  /// Seals a text with the first key.
  public func seal(_ plain: [UInt8], context: [UInt8]) throws(SigningError) -> String {
    let cipher = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(cipher) }
    var nonce = [UInt8](repeating: 0, count: Self.nonceCount)
    // Room for a last block that this mode never has.
    var output = [UInt8](repeating: 0, count: plain.count + 16)
    var tag = [UInt8](repeating: 0, count: Self.tagCount)
    var count: Int32 = 0
    guard RAND_bytes(&nonce, Int32(nonce.count)) == 1,
      EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nil, keys[0].bytes, nonce) == 1,
      EVP_EncryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1,
      EVP_EncryptUpdate(cipher, &output, &count, plain, Int32(plain.count)) == 1,
      EVP_EncryptFinal_ex(cipher, &tag, &count) == 1,
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
    else { throw .openSSL("sealing") }
    let packed = nonce + output[..<plain.count] + tag
    return "\(Self.version).\(keys[0].id).\(Base64URL.encode(packed))"
  }

  /// Opens a sealed text.
  ///
  /// - Throws: when another key sealed it, when it was changed, or when it was sealed for another context.
  public func open(_ sealed: String, context: [UInt8]) throws(SigningError) -> [UInt8] {
    guard let id = Self.keyID(of: sealed) else {
      throw SigningError("is not sealed in a form that this version knows")
    }
    guard let key = keys.first(where: { $0.id == id }) else {
      throw SigningError(
        "is sealed with key \(id), which is not in this file (\(ids.joined(separator: ", ")))")
    }
    let text = sealed.utf8.dropFirst(Self.version.utf8.count + id.utf8.count + 2)
    guard var packed = Base64URL.decode(text), packed.count >= Self.nonceCount + Self.tagCount
    else { throw SigningError("is cut or is not base64url") }
    var tag = Array(packed.suffix(Self.tagCount))
    packed.removeLast(Self.tagCount)
    let nonce = Array(packed.prefix(Self.nonceCount))
    packed.removeFirst(Self.nonceCount)
    let cipher = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(cipher) }
    var output = [UInt8](repeating: 0, count: packed.count + 16)
    var rest = [UInt8](repeating: 0, count: 16)
    var count: Int32 = 0
    guard EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key.bytes, nonce) == 1,
      EVP_DecryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1,
      EVP_DecryptUpdate(cipher, &output, &count, packed, Int32(packed.count)) == 1,
      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
    else { throw .openSSL("opening") }
    // What does not authenticate is never handed out.
    guard EVP_DecryptFinal_ex(cipher, &rest, &count) == 1 else {
      ERR_clear_error()
      throw SigningError("was changed after it was sealed, or belongs to another record")
    }
    return Array(output[..<packed.count])
  }

  /// Eight bytes of a digest of the key, in hex: they say nothing about it.
  private static func id(of key: [UInt8]) -> String {
    let input = Array("martlet token key ".utf8) + key
    let digest = input.withUnsafeBytes { SHA256Digest.of($0) }
    return digest[..<8].map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0\(digits)" : digits
    }.joined()
  }

  private static func hex(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: text.count, by: 2) {
      let pair = text[start..<start + 2]
      // UInt8 would take a sign too.
      guard pair.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
