// SPDX-License-Identifier: Apache-2.0

/// The checksum of record batches (Castagnoli), byte by byte: most processors have an instruction for it, which the
/// broker uses in place of this.
public enum CRC32C {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
  }

  public static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in table[Int((sum ^ UInt32(byte)) & 255)] ^ sum >> 8 }
  }
}
