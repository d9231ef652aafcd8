// SPDX-License-Identifier: Apache-2.0
import Crypto
import Testing

/// Signatures of webhooks, against Standard Webhooks' own example and another implementation.
@Suite struct WebhookSignatureTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

  private func sign(_ keys: [[UInt8]]) -> String {
    WebhookSignature.header(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
      body: Array(#"{"test": 2432232314}"#.utf8), keys: keys)
  }

  @Test func `the signature is that of the published example`() throws {
    #expect(sign([try #require(WebhookSignature.key(Self.secret))]) == Self.signature)
  }

  @Test func `with two secrets there are two signatures, and the first stays the same`() throws {
    let key = try #require(WebhookSignature.key(Self.secret))
    let words = sign([key, Array(repeating: 1, count: 32)]).split(separator: " ")
    #expect(words.count == 2 && words[0] == Self.signature && words[1].hasPrefix("v1,"))
    #expect(words[1].utf8.count == words[0].utf8.count && words[0] != words[1])
  }

  @Test func `a secret is 24 to 64 bytes in base64, its prefix may be missing`() throws {
    let text = String(repeating: "A", count: 32)
    #expect(WebhookSignature.key(text) == Array(repeating: 0, count: 24))
    #expect(WebhookSignature.key("whsec_" + text) == WebhookSignature.key(text))
    for secret in [
      "", "whsec_", String(repeating: "A", count: 31), String(repeating: "A", count: 90),
      "whsec_\(text)!", "whpk_\(text)",
    ] { #expect(WebhookSignature.key(secret) == nil, "\(secret)") }
  }
}
