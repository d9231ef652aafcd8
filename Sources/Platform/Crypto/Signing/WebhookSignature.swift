// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// Signatures of webhooks as Standard Webhooks 1.0 has them: HMAC-SHA256 over `id.timestamp.body`.
public enum WebhookSignature {
  /// The prefix of a secret in files.
  public static let prefix = "whsec_"

  /// The value of `webhook-signature`: `v1,` and the base64 of each key's signature, separated by blanks.
  ///
  /// - Parameters:
  ///   - id: `webhook-id`; without a full stop.
  ///   - timestamp: `webhook-timestamp`, seconds since the epoch.
  ///   - keys: one; more while a secret is replaced.
  public static func header(
    id: String, timestamp: Int64, body: [UInt8], keys: [[UInt8]]
  ) -> String {
    let signed = Array("\(id).\(timestamp).".utf8) + body
    return keys.map { "v1," + base64(code(of: signed, key: $0)) }.joined(separator: " ")
  }

  /// The key that a secret stands for: 24 to 64 bytes in base64, with or without `whsec_`. nil for anything else.
  public static func key(_ secret: String) -> [UInt8]? {
    let text = secret.hasPrefix(prefix) ? secret.dropFirst(prefix.count) : secret[...]
    guard let key = Base64URL.decode(text.utf8, isLenient: true), (24...64).contains(key.count)
    else { return nil }
    return key
  }

  private static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { output, count in
      let result = EVP_Q_mac(
        nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, output.baseAddress,
        32, &count)
      precondition(result != nil && count == 32, "OpenSSL has no HMAC-SHA256")
    }
  }

  /// Base64 with padding.
  private static func base64(_ bytes: [UInt8]) -> String {
    let text = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
    return String(text) + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
  }
}
