// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// SHA-1 digests for UUIDv5 (RFC 9562 §5.5), where it is a name's hash and guards nothing.
///
/// Owns its algorithm and context, so a digest costs neither a look-up nor an allocation: one for
/// each thread.
public struct SHA1: ~Copyable {
  private let algorithm: OpaquePointer?
  private let context: OpaquePointer?

  public init() {
    algorithm = EVP_MD_fetch(nil, "SHA1", nil)
    context = EVP_MD_CTX_new()
    precondition(
      algorithm != nil && context != nil && EVP_DigestInit_ex2(context, algorithm, nil) == 1,
      "OpenSSL has no SHA-1")
  }

  deinit {
    EVP_MD_CTX_free(context)
    EVP_MD_free(algorithm)
  }

  public func digest(_ bytes: UnsafeRawBufferPointer) -> InlineArray<20, UInt8> {
    var output = InlineArray<20, UInt8>(repeating: 0)
    var span = output.mutableSpan
    span.withUnsafeMutableBufferPointer { buffer in
      var count: UInt32 = 0
      let isDone =
        EVP_DigestInit_ex2(context, nil, nil) == 1
        && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
        && EVP_DigestFinal_ex(context, buffer.baseAddress, &count) == 1
      precondition(isDone && count == 20, "OpenSSL's SHA-1 failed")
    }
    return output
  }

  /// For cold paths.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    let hash = SHA1()
    let output = bytes.withUnsafeBytes { hash.digest($0) }
    return output.indices.map { output[$0] }
  }
}
