// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTP2
import Testing
import Waiting

@Suite struct LatencyTests {
  @Test func `the text forms are read`() {
    #expect(LatencyModel("0ms") == LatencyModel.none)
    #expect(LatencyModel("20ms") == .fixed(20))
    #expect(LatencyModel("2s") == .fixed(2_000))
    for text in [
      "", "fast", "lognormal:", "lognormal:20ms", "lognormal:20ms,10ms", "-1ms",
      "9223372036854775807ms",
    ] {
      #expect(LatencyModel(text) == nil)
    }
  }

  @Test func `a log normal latency has its median and its tail`() throws {
    let model = try #require(LatencyModel("lognormal:20ms,200ms"))
    var random = SeededGenerator(seed: 1)
    let times = (0..<100_000).map { _ in model.milliseconds(random.next()) }.sorted()
    #expect((19...21).contains(times[50_000]))
    #expect((185...215).contains(times[99_000]))
  }

  @Test func `requests come due at their time however long it is`() {
    let pool = ServerRequestPool()
    var wheel = AnswerWheel(now: 1_000)
    for due: UInt64 in [1_000, 1_001, 1_001, 1_500, 5_096, 20_000, 900] {
      let request = pool.take()
      request.pointee.due = due
      wheel.add(request)
    }
    func take(by time: UInt64) -> [UInt64] {
      var due: [UInt64] = []
      var next = wheel.due(by: time)
      while let request = next {
        due.append(request.pointee.due)
        next = request.pointee.link
      }
      return due.sorted()
    }
    let first = take(by: 1_000)
    #expect(first == [900, 1_000])
    let wait = wheel.wait(from: 1_000)
    #expect(wait == 1)
    let second = take(by: 1_499)
    #expect(second == [1_001, 1_001])
    let third = take(by: 1_500)
    #expect(third == [1_500])
    let none = take(by: 5_000)
    #expect(none.isEmpty)
    let count = wheel.count
    #expect(count == 2)
    // A pause longer than the wheel.
    let last = take(by: 100_000)
    #expect(last == [5_096, 20_000])
    let nothing = wheel.wait(from: 100_000)
    #expect(nothing == nil)
  }
}
