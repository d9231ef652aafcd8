// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto

/// Generates channel ids: 16 random bytes in base64.
enum ChannelID {
  static func text(_ id: NotificationID) -> String {
    let bytes = [id.high, id.low].flatMap { half in
      (0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(56 - $0 * 8)) }
    }
    let text = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(text) + "=="
  }
}
