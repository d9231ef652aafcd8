// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTP2
import TestSupport
import Testing

@Suite struct LatencyTests {
  @Test func theTextFormsAreRead() {
    #expect(LatencyModel("0ms") == LatencyModel.none)
    #expect(LatencyModel("20ms") == .fixed(20))
    #expect(LatencyModel("2s") == .fixed(2_000))
    for text in ["", "fast", "lognormal:", "lognormal:20ms", "lognormal:20ms,10ms", "-1ms"] {
      #expect(LatencyModel(text) == nil)
    }
  }

  @Test func aLogNormalLatencyHasItsMedianAndItsTail() throws {
    let model = try #require(LatencyModel("lognormal:20ms,200ms"))
    var random = SeededGenerator(seed: 1)
    let times = (0..<100_000).map { _ in model.milliseconds(random.next()) }.sorted()
    #expect((19...21).contains(times[50_000]))
    #expect((185...215).contains(times[99_000]))
  }
}
