// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import EventLoop

/// The two ends of OpenSSL's encrypted bytes: a buffer that it writes to, from which the socket is written, and one that
/// it reads from, into which the socket is read. OpenSSL's own memory BIO would copy each written record once more, fill
/// its room with zeros first, and keep the largest room that it ever had.
enum CiphertextPipe {
  /// A BIO that appends to `buffer` what is written, and takes from its front what is read. The buffer must stay in place
  /// until the BIO is freed; nil without memory.
  static func bio(on buffer: UnsafeMutablePointer<ByteBuffer>) -> OpaquePointer? {
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
    BIO_meth_set_read(made) { bio, room, capacity in
      BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
      guard let data = BIO_get_data(bio), let room, capacity > 0 else { return 0 }
      let buffer = data.assumingMemoryBound(to: ByteBuffer.self)
      let count = min(Int(capacity), buffer.pointee.count)
      guard count > 0, let bytes = buffer.pointee.bytes.baseAddress else {
        // "Wait", not "the end".
        BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return -1
      }
      UnsafeMutableRawPointer(room).copyMemory(from: bytes, byteCount: count)
      buffer.pointee.removeFirst(count)
      return Int32(count)
    }
    // A flush has nothing to do, and nothing else is supported.
    BIO_meth_set_ctrl(made) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    return made
  }()
}
