// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// PEM texts as OpenSSL reads them.
enum PEMText {
  /// Runs `body` with a source that reads `bytes`, which stay where they are meanwhile: OpenSSL refers to them
  /// until the source is freed, so an array as an argument of the call alone would be gone too early.
  static func read<Result>(_ bytes: [UInt8], _ body: (OpaquePointer?) -> Result) -> Result {
    bytes.withUnsafeBytes { buffer in
      let source = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
      defer { BIO_free(source) }
      return body(source)
    }
  }
}
