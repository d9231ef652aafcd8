// SPDX-License-Identifier: Apache-2.0
import CLinux

/// Asks the processor for memory that is needed soon, and does not wait for it.
///
/// Thousands of pushes in flight are more than a core's own caches hold. Whoever goes through many of them asks for the
/// next ones first, so that the misses pass side by side and not one after the other.
public enum Prefetch {
  private static let line = 64

  /// The cache lines of `count` bytes at an address.
  @inline(__always)
  public static func bytes(_ start: UnsafeRawPointer, _ count: Int) {
    var offset = 0
    while offset < count {
      martlet_prefetch(start + offset)
      offset &+= line
    }
  }
}
