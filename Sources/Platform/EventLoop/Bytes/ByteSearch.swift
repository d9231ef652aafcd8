// SPDX-License-Identifier: Apache-2.0
internal import CLinux

extension UnsafeRawBufferPointer {
  /// True if the wanted bytes occur in these, at the speed of the C library's search. Nothing is in every text.
  public func holds(_ wanted: [UInt8]) -> Bool { offset(of: wanted) != nil }

  /// The place where the wanted bytes occur first in these; nil if they do not.
  public func offset(of wanted: [UInt8]) -> Int? {
    guard !wanted.isEmpty else { return 0 }
    guard let baseAddress else { return nil }
    return wanted.withUnsafeBytes {
      martlet_find(baseAddress, count, $0.baseAddress, $0.count).map {
        UnsafeRawPointer($0) - baseAddress
      }
    }
  }
}
