// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import CLinux

/// The checksum of batches, using the processor's instruction if it has one.
enum Checksum {
  private static let isKnown = martlet_has_crc32c() != 0

  static func best(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    guard isKnown else { return CRC32C.checksum(bytes) }
    return bytes.withUnsafeBytes { martlet_crc32c($0.baseAddress, $0.count) }
  }
}
