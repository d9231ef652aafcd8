// SPDX-License-Identifier: Apache-2.0
import Gateways
import Planning
import Telemetry
import Testing

@Suite struct LoopSimulationTests {
  private func run(
    transactional: Double, bulk: Double = 0, _ answers: AnswerTimes, cost: Double = 5,
    limits: LoopLimits = LoopLimits(), seed: UInt64 = 1
  ) -> LoopSimulation.Report {
    var simulation = LoopSimulation(
      .init(
        transactional: transactional, bulk: bulk, answers: answers, cost: cost, limits: limits),
      seed: seed)
    return simulation.run(milliseconds: 9_000, warmUp: 5_000)
  }

  @Test func `the same seed gives the same run, another one another`() {
    let answers = AnswerTimes(median: 20, p99: 200)
    let first = run(transactional: 1_000, answers)
    #expect(first.transactional == run(transactional: 1_000, answers).transactional)
    #expect(first.transactional != run(transactional: 1_000, answers, seed: 2).transactional)
  }

  @Test func `an idle loop adds a turn to the gateway's time`() {
    let report = run(transactional: 100, AnswerTimes(median: 50, p99: 50))
    #expect((50_000...52_100).contains(report.transactional.percentile(0.5)))
    #expect(report.connections == 1)
    #expect(report.waiting == 0)
  }

  @Test func `requests that are open follow Little's law`() {
    let report = run(transactional: 10_000, AnswerTimes(median: 50, p99: 50))
    #expect((480...700).contains(report.inFlight))
    #expect(abs(report.rate / 10_000 - 1) < 0.05)
  }

  @Test func `what a loop may hold bounds its rate`() {
    var limits = LoopLimits()
    limits.maxInFlight = 1_000
    let report = run(transactional: 10_000, AnswerTimes(median: 200, p99: 200), limits: limits)
    // 1,000 in 200 ms, and a turn.
    #expect(abs(report.rate / 4_975 - 1) < 0.03)
    #expect(report.waiting > 20_000)
  }

  @Test func `CPU bounds the rate`() {
    let report = run(transactional: 20_000, AnswerTimes(median: 1, p99: 1), cost: 100)
    #expect(abs(report.rate / 10_000 - 1) < 0.02)
  }

  @Test func `short stream credit opens connections, up to the limit`() {
    var limits = LoopLimits()
    limits.pool = .init(minimum: 1, maximum: 3)
    limits.streams = 100
    let report = run(transactional: 5_000, AnswerTimes(median: 200, p99: 200), limits: limits)
    #expect(report.connections == 3)
    #expect(report.inFlight == 300)
  }

  @Test func `a bulk backlog leaves transactional times as they are`() {
    let answers = AnswerTimes(median: 50, p99: 50)
    let alone = run(transactional: 500, answers)
    let beside = run(transactional: 500, bulk: 100_000, answers)
    let most = alone.transactional.percentile(0.99) + 3_000
    #expect(beside.waiting > 50_000)
    #expect(beside.transactional.percentile(0.99) <= most)
    #expect(beside.bulk.percentile(0.5) > 200_000)
  }
}
