// SPDX-License-Identifier: Apache-2.0
internal import CLinux

extension UnsafeRawBufferPointer {
  /// True if the wanted bytes occur in these, at the speed of the C library's search. Nothing is in every text.
  public func holds(_ wanted: [UInt8]) -> Bool {
    guard !wanted.isEmpty else { return true }
    guard let baseAddress else { return false }
    return wanted.withUnsafeBytes {
      martlet_find(baseAddress, count, $0.baseAddress, $0.count) != nil
    }
  }
}
