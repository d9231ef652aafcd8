// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import EventLoop
import Settings

/// A private key for ES256: P-256, as Apple hands it out in a `.p8` file. Any thread may sign.
public final class SigningKey: Sendable {
  nonisolated(unsafe) let raw: OpaquePointer

  /// Takes over a reference to the key.
  init(owning raw: OpaquePointer) { self.raw = raw }

  deinit { EVP_PKEY_free(raw) }

  /// Reads a `.p8` file: a key on P-256, not encrypted (`PEMFile`).
  ///
  /// - Throws: when others can read the file (`FileExposure`), it cannot be read, or holds
  ///   anything else; the text says what to do.
  public static func load(_ path: String) throws(SigningError) -> SigningKey {
    try SecretFile.load(path, limit: 64 << 10) { (bytes) throws(SigningError) in
      try SigningKey(pem: bytes, path: path)
    }
  }

  /// - Parameters:
  ///   - pem: A file (`PEMFile`) with one private key, on P-256.
  ///   - path: The file's name in commands that convert it.
  public convenience init(pem: [UInt8], path: String = "FILE") throws(SigningError) {
    let der: [UInt8]
    do throws(PEMProblem) { der = try PEMFile(pem, path: path).privateKey() } catch {
      throw SigningError(error.description)
    }
    let key = der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_AutoPrivateKey(nil, &position, bytes.count)
    }
    guard let key else { throw .openSSL("reading the private key") }
    guard Curve.isP256(key) else {
      EVP_PKEY_free(key)
      throw SigningError("the key is not an elliptic-curve key on P-256, which ES256 needs")
    }
    self.init(owning: key)
  }

  public static func generate() throws(SigningError) -> SigningKey {
    try generate(EVP_PKEY_EC) {
      EVP_PKEY_CTX_set_ec_paramgen_curve_nid($0, NID_X9_62_prime256v1) == 1
    }
  }

  /// A new random RSA key of 2,048 bits, for certificates such as Apple issues: it does not sign provider tokens.
  static func generateRSA() throws(SigningError) -> SigningKey {
    try generate(EVP_PKEY_RSA) { EVP_PKEY_CTX_set_rsa_keygen_bits($0, 2_048) == 1 }
  }

  private static func generate(
    _ kind: Int32, _ configure: (OpaquePointer) -> Bool
  ) throws(SigningError) -> SigningKey {
    guard let context = EVP_PKEY_CTX_new_id(kind, nil) else { throw .openSSL("making a key") }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, configure(context),
      EVP_PKEY_keygen(context, &key) == 1, let key
    else { throw .openSSL("making a key") }
    return SigningKey(owning: key)
  }

  /// The key as the content of a `.p8` file. A secret.
  public func pem() throws(SigningError) -> [UInt8] {
    let bytes = PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, raw, nil, nil, 0, nil, nil) }
    guard let bytes else { throw .openSSL("writing the private key") }
    return bytes
  }

  /// The half of the key that may be shown.
  public var publicKey: PublicKey {
    EVP_PKEY_up_ref(raw)
    return PublicKey(owning: raw)
  }

  /// The ES256 signature in the form of RFC 7518 §3.4: R and S, 32 bytes each, big-endian.
  public func signES256(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
    let der = try signDER(message)
    let parsed = der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &position, bytes.count)
    }
    guard let signature = parsed else { throw .openSSL("reading a signature") }
    defer { ECDSA_SIG_free(signature) }
    var raw = [UInt8](repeating: 0, count: 64)
    let isPadded = raw.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return false }
      return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
        && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
    }
    guard isPadded else { throw .openSSL("unpacking a signature") }
    return raw
  }

  /// The ES256 signature as the ASN.1 sequence of R and S.
  public func signDER(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 80)
    var count = signature.count
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, raw) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1
    else { throw .openSSL("signing") }
    return Array(signature[..<count])
  }
}

enum Curve {
  static func isP256(_ key: OpaquePointer) -> Bool {
    guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return false }
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return false }
    return String(decoding: name[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
      == "prime256v1"
  }
}

enum SecretFile {
  /// What `read` makes of the content of a file that holds a secret: nobody else may read or change it.
  static func load<Value>(
    _ path: String, limit: Int, _ read: ([UInt8]) throws(SigningError) -> Value
  ) throws(SigningError) -> Value {
    let bytes: [UInt8]
    let problem: String?
    do throws(SystemError) {
      problem = try File.exposure(of: path)
      bytes = try File.read(path, limit: limit)
    } catch {
      throw SigningError("\(error)")
    }
    if let problem { throw SigningError(problem) }
    do throws(SigningError) {
      return try read(bytes)
    } catch {
      throw SigningError("\(path): \(error)")
    }
  }
}
