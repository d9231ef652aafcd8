// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An open segment file. It stays open while a reference to it exists, even after the segment is deleted.
final class SegmentFile {
  let descriptor: Int32
  var size: Int

  /// Takes ownership of the descriptor.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    size = Int(lseek(descriptor, 0, SEEK_END))
  }

  deinit { close(descriptor) }
}
