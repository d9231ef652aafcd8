// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Access

@Suite struct JSONWeightTests {
  private func isBearable(_ part: String, _ count: Int) -> Bool {
    JSONWeight.isBearable(Array(String(repeating: part, count: count).utf8).span)
  }

  @Test func `a text of tiny values is refused, one of tokens is not`() {
    for tiny in ["0,", "[],", "{},", "{\"\":0},", "[", "\"a\","] {
      #expect(isBearable(tiny, JSONWeight.free / 3))
      #expect(!isBearable(tiny, 2 * JSONWeight.free), "\(tiny)")
    }
    #expect(isBearable("\"\(String(repeating: "ab", count: 32))\",", 200_000))
    #expect(isBearable("", 0))
  }

  @Test func `the bound is exact`() {
    let free = JSONWeight.free + JSONWeight.free / JSONWeight.bytesPerValue
    #expect(isBearable("[", free))
    #expect(!isBearable("[", free + JSONWeight.free))
  }
}
