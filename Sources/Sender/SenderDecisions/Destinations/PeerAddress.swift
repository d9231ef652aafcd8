// SPDX-License-Identifier: Apache-2.0

/// An address of a gateway, as bits that compare and copy without memory of their own.
public struct PeerAddress: Hashable, Sendable {
  /// The address's bytes in network order; IPv4 stands in the last four.
  public let high: UInt64
  public let low: UInt64
  public let port: UInt16
  public let isIPv6: Bool

  /// Four bytes make an IPv4 address, sixteen an IPv6 address; anything else is refused.
  public init?(bytes: [UInt8], port: UInt16) {
    guard bytes.count == 4 || bytes.count == 16 else { return nil }
    isIPv6 = bytes.count == 16
    self.port = port
    var parts: (UInt64, UInt64) = (0, 0)
    for byte in bytes {
      parts = (parts.0 << 8 | parts.1 >> 56, parts.1 << 8 | UInt64(byte))
    }
    (high, low) = parts
  }

  /// The 4 or 16 bytes in network order.
  public var bytes: [UInt8] {
    let all = [high, low].flatMap { part in
      (0..<8).map { UInt8(truncatingIfNeeded: part >> UInt64(56 - 8 * $0)) }
    }
    return isIPv6 ? all : Array(all[12...])
  }
}
