// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing

/// Delays as the engine hands them out.
@Suite struct LatencyProfileTests {
  private func delays(
    _ profile: LatencyProfile, count: Int = 1, time: UInt64 = 0, age: UInt64 = 0
  ) -> [UInt64] {
    var engine = FaultEngine(seed: 42)
    engine.add([FaultRule(.addedLatency, .delay(profile))], at: 0)
    return (0..<count).map { _ in
      engine.decide(FaultEvent(.request, time: time, age: age, request: FaultRequest()))[0].value
    }
  }

  @Test func `a constant latency is the same for every request`() {
    #expect(Set(delays(.constant(30), count: 10)) == [30])
  }

  @Test func `log normal has its median and its percentile`() {
    let sorted = delays(.logNormal(median: 1_000, p99: 10_000), count: 20_000).sorted()
    #expect((950...1_050).contains(sorted[10_000]), "median \(sorted[10_000])")
    #expect((9_000...11_500).contains(sorted[19_800]), "p99 \(sorted[19_800])")
  }

  @Test func `a normal without spread is constant`() {
    let values = Set(delays(.logNormal(median: 50, p99: 50), count: 100))
    #expect(values.isSubset(of: [49, 50]))
  }

  @Test func `bimodal is slow for its share`() {
    let values = delays(.bimodal(fast: 5, slow: 2_000, share: 0.25), count: 10_000)
    #expect(Set(values) == [5, 2_000])
    let slow = values.count { $0 == 2_000 }
    #expect((2_300...2_700).contains(slow), "\(slow) of 10000")
  }

  @Test func `a stall ends for everybody at the same moment`() {
    let profile = LatencyProfile.stall(period: 1_000, duration: 300)
    #expect(
      [0, 100, 299, 300, 999, 1_100].map { delays(profile, time: $0)[0] } == [
        300, 200, 1, 0, 0, 200,
      ])
  }

  @Test func `slow start fades with the connections age`() {
    let profile = LatencyProfile.slowStart(initial: 400, duration: 2_000)
    #expect(
      [0, 500, 1_000, 2_000, 9_000].map { delays(profile, age: $0)[0] } == [400, 300, 200, 0, 0])
  }

  @Test func `every fault has a name a title and stages`() {
    #expect(Fault.all.count == 28)
    #expect(Fault.anyAnswer.number == "F01")
    #expect(Fault.streamIDsExhausted.number == "F28")
    for fault in Fault.all {
      #expect(Fault(fault.name) == fault)
      #expect(!fault.title.isEmpty)
      #expect(!fault.stages.isEmpty)
    }
    #expect(Set(Fault.all.map(\.name)).count == 28)
    #expect(Fault("F29") == nil)
    #expect(Fault("f01") == nil)
    for stage in FaultStage.allCases { #expect(FaultStage("\(stage)") == stage) }
  }

  @Test func `an answer's body is written with its timestamp`() {
    func text(_ answer: FaultAnswer) -> String {
      String(decoding: answer.bytes(now: 1_000_000), as: UTF8.self)
    }
    let body = FaultAnswer.Body.reason("Unregistered", more: "")
    #expect(text(FaultAnswer(status: 410, body: body)) == #"{"reason":"Unregistered"}"#)
    #expect(
      text(FaultAnswer(status: 410, body: body, timestamp: .relative(-1_000)))
        == #"{"reason":"Unregistered","timestamp":999000}"#)
    #expect(
      text(FaultAnswer(status: 410, body: body, timestamp: .absolute(5)))
        == #"{"reason":"Unregistered","timestamp":5}"#)
    #expect(text(FaultAnswer(status: 500, body: .none)) == "")
    #expect(text(FaultAnswer(status: 500, body: .bytes([0x7B]))) == "{")
    #expect(
      text(FaultAnswer(status: 400, body: .reason("X", more: ",\"a\":[1]")))
        == #"{"reason":"X","a":[1]}"#)
  }
}
