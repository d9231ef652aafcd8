// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An open file of a segment. Who sends a part of it keeps it open by keeping this, also when the segment is gone.
final class SegmentFile {
  let descriptor: Int32
  var size: Int

  /// Takes over the descriptor.
  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    size = Int(lseek(descriptor, 0, SEEK_END))
  }

  deinit { close(descriptor) }
}
