// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// PEM text of OpenSSL's objects, through memory.
enum PEM {
  /// The bytes that `body` writes; nil when it says that it failed (anything but 1).
  static func writing(_ body: (OpaquePointer?) -> Int32) -> [UInt8]? {
    let sink = BIO_new(BIO_s_mem())
    defer { BIO_free(sink) }
    guard body(sink) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(sink))
    let count = BIO_read(sink, &bytes, Int32(bytes.count))
    return count == bytes.count ? bytes : nil
  }
}
