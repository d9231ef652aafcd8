// SPDX-License-Identifier: Apache-2.0
import Planning
import Testing

/// What is predicted for a real broker.
@Suite struct RealBrokerTests {
  private let costs = MeasuredCosts(
    sender: 4, request: 100, batch: 10, ingest: 3, feedback: 10, h2load: 2, senderMiB: 50,
    ingestMiB: 30, source: "a test")

  @Test func `the local broker's requests are those of the planner`() {
    // 200 answers per second for 20,000 notifications, and 10 batches in 5.5 ms.
    let part = SenderPrediction.measuredPart(rate: 20_000, partitions: 10, senders: 1, costs)
    #expect(abs(part - (200 * 100 + 10 / 0.0055 * 10) / 20_000) < 1e-9)
    let four = SenderPrediction.measuredPart(rate: 80_000, partitions: 40, senders: 4, costs)
    #expect(abs(four - part) < 1e-9)
  }

  @Test func `on a cluster every answer to a fetch costs a request, every batch a batch`() {
    let load = KafkaLoad.sender("a test", rate: 1_000, partitions: 12)
    let sender = load.processes[1]
    // Each of 12 partitions has a record every 12 ms, and a linger time of 5.
    let batches = 12 / 0.017
    for cluster in [KafkaCluster.here, .threeAway] {
      let part = SenderPrediction.part(load, costs, cluster)
      #expect(abs(part - (sender.groupFetches(cluster) * 100 + batches * 10) / 1_000) < 1e-9)
    }
  }

  @Test func `a latency is the sum of its terms`() {
    let local = LatencyPrediction.notification(answer: 50, .local)
    // 5 of linger, half of the fetch's 10 and an acknowledgement, a turn, the gateway.
    #expect(abs(local.p50 - (5 + 5.5 + 0.2 + 50.5)) < 1e-9)
    let real = LatencyPrediction.request(.cluster(.here))
    #expect(real.terms.count == 6)
    #expect(abs(real.p50 - 2.2) < 1e-9)
    #expect(real.p99 > real.p50)
    #expect(LatencyPrediction.api(.cluster(.threeAway)).p50 == 2 + 0.2)
  }

  @Test func `a backlog's partition is left out once it holds its share`() {
    // 36 partitions: 444 records, 233,016 bytes.
    let large = BacklogBound(partitions: 12, recordBytes: 462, .here)
    #expect(large.answer == 504)
    #expect(large.cycle == 504)
    #expect(abs(large.rate - 12 * 504 / 0.0205) < 1)
    // 140 partitions: 250 records, 65,536 bytes; two answers.
    let small = BacklogBound(partitions: 64, recordBytes: 462, .here)
    #expect(small.answer == 141)
    #expect(small.cycle == 282)
  }

  @Test func `the demo is slower the more a request costs the broker`() {
    let demo = MeasuredRun("demo", "demo", rate: 100_000, fanOut: 2.5)
    let machine = SharedMachine(demo, senders: 2, cores: 2, broker: 2, costs)
    #expect(machine.product > 0 && machine.product < 18)
    let rates = [0.0, 20, 100].map { machine.rate(request: $0) }
    #expect(rates[0] > rates[1] && rates[1] > rates[2])
    #expect(abs(machine.request(rate: rates[1]) - 20) < 0.01)
  }

  @Test func `rows are found by name or by how it begins`() {
    let rows = [
      MeasuredRun("a", "sender, 12 partitions, 100 apps"),
      MeasuredRun("a", "sender, 12 partitions"),
    ]
    #expect(rows.find("a", "sender, 12 partitions") == rows[1])
    #expect(rows.find("a", "sender, 12") == rows[0])
    #expect(rows.find("b", "sender") == nil)
  }

  @Test func `figures that were not measured are left out`() {
    let none = KafkaRuns([], costs)
    #expect(none.senders.isEmpty)
    #expect(none.demo == nil)
    #expect(none.loads.map(\.name) == ["idle"])
  }
}
