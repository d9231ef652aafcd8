// SPDX-License-Identifier: Apache-2.0
import Random
import Testing

/// Sequences of hostile records, without a fuzzer.
@Suite struct HandlerTests {
  private static let names = [
    "signer-records", "sender-records", "feedback-records", "webhook-records", "operator-records",
    "foreign-requests",
  ]

  @Test(arguments: names)
  func `no number in a record stops what works on it`(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    for seed in 0..<150 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let bytes = (0..<160).map { _ in UInt8(random.below(256)) }
      let found = bytes.withUnsafeBytes { target.violation($0) }
      #expect(found == nil, "\(name), seed \(seed): \(found ?? "")")
    }
  }
}
