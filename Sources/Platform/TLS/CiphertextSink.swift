// SPDX-License-Identifier: Apache-2.0
import Bytes
import COpenSSL

/// The sink of OpenSSL's encrypted bytes: a buffer from which the socket is written. OpenSSL's own memory BIO would
/// copy each record once more, and fill its room with zeros first.
enum CiphertextSink {
  /// A BIO that appends to `buffer`, which must stay in place until the BIO is freed; nil without memory.
  static func bio(appendingTo buffer: UnsafeMutablePointer<ByteBuffer>) -> OpaquePointer? {
    guard let method, let bio = BIO_new(method) else { return nil }
    BIO_set_data(bio, buffer)
    BIO_set_init(bio, 1)
    return bio
  }

  /// Never changed once it is made.
  nonisolated(unsafe) private static let method: OpaquePointer? = {
    guard let made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ciphertext") else {
      return nil
    }
    BIO_meth_set_write(made) { bio, bytes, count in
      guard let data = BIO_get_data(bio), let bytes, count > 0 else { return 0 }
      data.assumingMemoryBound(to: ByteBuffer.self).pointee.append(
        UnsafeRawBufferPointer(start: bytes, count: Int(count)))
      return count
    }
    // A flush has nothing to do, and nothing else is supported.
    BIO_meth_set_ctrl(made) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return made
  }()
}
