// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct PaceRateTests {
  @Test(arguments: [
    ("137/s", 0.137), ("60/m", 0.001), ("3600/h", 0.001), ("1/d", 1 / 86_400_000.0),
  ])
  func `a rate is read from its text, and written as that`(text: String, perMillisecond: Double) {
    let rate = PaceRate(text)
    #expect(rate?.perMillisecond == perMillisecond)
    #expect(rate?.description == text)
  }

  @Test(arguments: [
    "", "/", "/s", "5", "5/", "0/s", "-1/s", "+1/s", "1.5/s", "1/w", "1/ss", "1 /s", "1/S", "1//s",
    "100000001/s", "99999999999999999999/s", "1/s ", "١/s",
  ])
  func `other text is no rate`(text: String) { #expect(PaceRate(text) == nil) }

  @Test func `the bounds are 1 and a hundred million`() {
    #expect(PaceRate("1/d") != nil && PaceRate("100000000/s") != nil)
    #expect(PaceRate(0, per: .second) == nil)
  }
}
