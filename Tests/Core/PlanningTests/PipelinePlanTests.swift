// SPDX-License-Identifier: Apache-2.0
import Planning
import Telemetry
import Testing

@Suite struct PipelinePlanTests {
  private let costs = MeasuredCosts(
    sender: 4, request: 50, batch: 10, ingest: 3, feedback: 10, h2load: 2, senderMiB: 50,
    ingestMiB: 30,
    source: "a test")

  @Test func `a record that comes alone costs a request and a batch, many share them`() {
    // Of 1,000 records 995 open a batch.
    #expect(abs(costs.sender(rate: 1, partitions: 1, linger: 5) - (4 + 50 + 10 / 1.005)) < 1e-9)
    // 200 requests, and 12 batches in 5.6 ms.
    let many = (200 * 50 + 12 / 0.0056 * 10) / 20_000
    #expect(abs(costs.sender(rate: 20_000, partitions: 12, linger: 5) - (4 + many)) < 1e-9)
    // Records that go to more partitions come in more batches.
    let more = (200 * 50 + 64 / 0.0082 * 10) / 20_000
    #expect(abs(costs.sender(rate: 20_000, partitions: 64, linger: 5) - (4 + more)) < 1e-9)
  }

  @Test func `another machine's costs follow from h2load's`() {
    let scaled = costs.scaled(h2load: 4)
    #expect(scaled.sender == 8)
    #expect(scaled.batch == 20)
    #expect(scaled.request == 100)
    #expect(scaled.senderMiB == 50)
  }

  @Test func `slow answers ask for loops, fast ones for CPU`() {
    let slow = PipelinePlan(
      PlanRequest(rate: 10_000, answers: AnswerTimes(median: 1_000, p99: 1_000)), costs)
    #expect(slow.loopsByInFlight == 4)
    #expect(slow.loops == 4)
    #expect(slow.streams.rounded() == 10_000)
    let fast = PipelinePlan(
      PlanRequest(rate: 200_000, answers: AnswerTimes(median: 1, p99: 1)), costs)
    #expect(fast.loopsByCPU == 2)
    #expect(fast.loopsByInFlight == 1)
  }

  @Test func `the peak that is planned for does not fill a loop`() {
    let plan = PipelinePlan(
      PlanRequest(rate: 10_000, answers: AnswerTimes(median: 50, p99: 400)), costs)
    #expect(plan.loop.waiting < 50)
    #expect(abs(plan.loop.rate * Double(plan.loops) / 10_000 - 1) < 0.05)
    let median = plan.loop.transactional.percentile(0.5)
    #expect((48_000...56_000).contains(median))
  }

  @Test func `given loops and partitions are kept, and bound the rate`() {
    var request = PlanRequest(rate: 50_000, answers: AnswerTimes(median: 200, p99: 200))
    request.loops = 1
    request.partitions = 64
    let plan = PipelinePlan(request, costs)
    #expect(plan.loops == 1)
    #expect(plan.partitions == 64)
    // 4,000 in 200 ms.
    #expect(abs(plan.loop.rate / 19_900 - 1) < 0.03)
  }

  @Test func `the table has a column for each plan`() {
    let plan = PipelinePlan(
      PlanRequest(rate: 1_000, answers: AnswerTimes(median: 20, p99: 20)), costs)
    let lines = PlanText.table([plan, plan]).split(separator: "\n")
    #expect(lines.allSatisfy { $0.count { $0 == "|" } == 4 })
    #expect(lines.contains("| brokers | 3 | 3 |"))
  }
}
