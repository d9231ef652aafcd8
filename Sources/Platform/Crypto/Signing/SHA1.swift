// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// SHA-1 digests for UUIDv5 (RFC 9562 §5.5), where it is a name's hash and guards nothing.
public enum SHA1 {
  public static func digest(_ bytes: UnsafeRawBufferPointer) -> InlineArray<20, UInt8> {
    var output = InlineArray<20, UInt8>(repeating: 0)
    var span = output.mutableSpan
    span.withUnsafeMutableBufferPointer { buffer in
      let isDone = martlet_sha1(bytes.baseAddress, bytes.count, buffer.baseAddress) == 1
      precondition(isDone, "OpenSSL's SHA-1 failed")
    }
    return output
  }

  /// The same of an array, for cold paths.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    let output = bytes.withUnsafeBytes { digest($0) }
    return output.indices.map { output[$0] }
  }
}
