// SPDX-License-Identifier: Apache-2.0

/// The checksum of record batches (Castagnoli), eight bytes at a time.
public enum CRC32C {
  /// Eight tables of 256 entries: the contribution of a byte that is followed by 0 to 7 bytes.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var sum = UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
      tables[byte] = sum
    }
    for place in 256..<8 * 256 {
      let before = tables[place - 256]
      tables[place] = before >> 8 ^ tables[Int(before & 0xFF)]
    }
    return tables
  }()

  public static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    checksum(bytes.span, tables.span)
  }

  private static func checksum(_ bytes: Span<UInt8>, _ tables: Span<UInt32>) -> UInt32 {
    var sum = ~UInt32(0)
    var place = 0
    while place + 8 <= bytes.count {
      let low =
        sum ^ UInt32(bytes[place]) ^ UInt32(bytes[place + 1]) << 8 ^ UInt32(bytes[place + 2]) << 16
        ^ UInt32(bytes[place + 3]) << 24
      sum =
        tables[7 * 256 + Int(low & 0xFF)] ^ tables[6 * 256 + Int(low >> 8 & 0xFF)]
        ^ tables[5 * 256 + Int(low >> 16 & 0xFF)] ^ tables[4 * 256 + Int(low >> 24)]
      sum ^=
        tables[3 * 256 + Int(bytes[place + 4])] ^ tables[2 * 256 + Int(bytes[place + 5])]
        ^ tables[256 + Int(bytes[place + 6])] ^ tables[Int(bytes[place + 7])]
      place += 8
    }
    while place < bytes.count {
      sum = sum >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: sum) ^ bytes[place])]
      place += 1
    }
    return ~sum
  }
}
