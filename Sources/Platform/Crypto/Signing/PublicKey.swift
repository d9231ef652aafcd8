// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Settings

/// The public half of an ES256 key. Any thread may verify.
public final class PublicKey: Sendable {
  private nonisolated(unsafe) let raw: OpaquePointer

  init(owning raw: OpaquePointer) { self.raw = raw }

  deinit { EVP_PKEY_free(raw) }

  /// - Parameter pem: A file (`PEMFile`) with one public key, on P-256.
  public convenience init(pem: [UInt8]) throws(SigningError) {
    let der: [UInt8]
    do throws(PEMProblem) { der = try PEMFile(pem).publicKey() } catch {
      throw SigningError(error.description)
    }
    let key = der.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return d2i_PUBKEY(nil, &position, bytes.count)
    }
    guard let key else { throw .openSSL("reading the public key") }
    guard Curve.isP256(key) else {
      EVP_PKEY_free(key)
      throw SigningError("the public key is not an elliptic-curve key on P-256")
    }
    self.init(owning: key)
  }

  /// The key as a `PUBLIC KEY` block.
  public func pem() throws(SigningError) -> [UInt8] {
    let bytes = PEM.writing { PEM_write_bio_PUBKEY($0, raw) }
    guard let bytes else { throw .openSSL("writing the public key") }
    return bytes
  }

  /// True if 64 bytes R‖S are this key's signature of the message.
  public func verifies(_ message: [UInt8], rawSignature: [UInt8]) -> Bool {
    guard rawSignature.count == 64, let signature = ECDSA_SIG_new() else { return false }
    defer { ECDSA_SIG_free(signature) }
    let isSet = rawSignature.withUnsafeBufferPointer { bytes in
      let (r, s) = (
        BN_bin2bn(bytes.baseAddress, 32, nil), BN_bin2bn(bytes.baseAddress! + 32, 32, nil)
      )
      return ECDSA_SIG_set0(signature, r, s) == 1
    }
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(signature, &der)
    guard isSet, count > 0, let der else { return false }
    defer { CRYPTO_free(der, "", 0) }
    return verifies(
      message, derSignature: Array(UnsafeBufferPointer(start: der, count: Int(count))))
  }

  /// True if an ASN.1 sequence of R and S is this key's signature of the message. APNs takes this form too (Apple's own
  /// shell recipe sends it).
  public func verifies(_ message: [UInt8], derSignature: [UInt8]) -> Bool {
    let context = EVP_MD_CTX_new()
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, raw) == 1
      && EVP_DigestVerify(context, derSignature, derSignature.count, message, message.count) == 1
  }
}
