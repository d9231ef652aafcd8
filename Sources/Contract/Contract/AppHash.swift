// SPDX-License-Identifier: Apache-2.0

/// The hash by which tables identify an app or a group.
public enum AppHash {
  /// FNV-1a with a final mix, for bundle ids of about 20 bytes.
  public static func of(_ app: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<app.count { hash = (hash ^ UInt64(app[index])) &* 0x0000_0100_0000_01B3 }
    return hash ^ (hash >> 29)
  }
}
