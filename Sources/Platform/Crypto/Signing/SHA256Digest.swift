// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// SHA-256 (FIPS 180-4) of some bytes, for cold paths.
public enum SHA256Digest {
  public static func of(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      let isDone = EVP_Q_digest(
        nil, "SHA256", nil, bytes.baseAddress, bytes.count, output.baseAddress, &count)
      precondition(isDone == 1 && count == 32, "OpenSSL has no SHA-256")
    }
  }

  public static func of(_ text: String) -> [UInt8] {
    var text = text
    return text.withUTF8 { of(UnsafeRawBufferPointer($0)) }
  }
}
