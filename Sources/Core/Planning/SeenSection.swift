// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// Figures that were seen on a real broker elsewhere, beside what is predicted for it.
enum SeenSection {
  /// Notifications per second of the demo and of a backlog, and the sender's CPU microseconds for each of the latter.
  private static let demo = 16_000.0...37_000
  private static let backlog = 50_000.0...57_000
  private static let backlogCPU = 10.7
  /// `fetch.wait.max.ms` of the sender at that time.
  private static let wait = 100.0

  static func text(_ runs: KafkaRuns, _ measured: [MeasuredRun], _ costs: MeasuredCosts) -> String {
    let latency = LatencyPrediction.request(.cluster(.here))
    let bounds = PredictionSection.compressions.map {
      BacklogBound(
        partitions: 12, recordBytes: PredictionSection.recordBytes / $0, wait: wait, .here
      ).rate
    }
    let run = measured.find("backlog", "backlog")
    let lines = [
      row("backlog of one credential, per second, not compressed", backlog, bounds.first),
      row("the same, compressed to a quarter", backlog, bounds.last),
      row("its CPU of the sender, µs per push", backlogCPU...backlogCPU, run?.cpu),
      row("its resident memory, MiB", 60...60, costs.senderMiB),
      row("request to answer at 20 per second, nobody lingers, p50, ms", 1.3...1.3, latency.p50),
      row("the same, p99, ms", 3.1...3.1, latency.p99),
      row("the same with ingest's 2 ms of linger, p50, ms", 3.4...3.4, latency.p50 + 2),
      row("with the load's 5 ms, too, p50, ms", 8.4...8.4, latency.p50 + 7),
    ]
    return """
      **Seen on Apache Kafka 4.0** (2 cores shared with the broker), not reproducible here. Percentages are from the
      nearest figure that was seen. No constant was chosen to fit. `fetch.wait.max.ms` was \(PlanText.number(wait)) then.

      | what | seen | predicted | off |
      | --- | ---: | ---: | ---: |
      \(lines.joined())
      \(notes(runs.demo, run?.cpu ?? 0, costs))
      """
  }

  private static func row(
    _ name: String, _ seen: ClosedRange<Double>, _ predicted: Double?
  ) -> String {
    guard let predicted else { return "" }
    let ends =
      seen.lowerBound == seen.upperBound ? [seen.lowerBound] : [seen.lowerBound, seen.upperBound]
    return PredictionSection.line([
      name, ends.map(shown).joined(separator: " … "), shown(predicted), off(predicted, seen),
    ])
  }

  private static func shown(_ value: Double) -> String {
    value < 50 ? PlanText.decimal(value) : PlanText.number(value)
  }

  private static func off(_ predicted: Double, _ seen: ClosedRange<Double>) -> String {
    if seen.contains(predicted) { return "within" }
    return predicted > seen.upperBound
      ? "\(PlanText.number(100 * (predicted / seen.upperBound - 1))) % more"
      : "\(PlanText.number(100 * (1 - predicted / seen.lowerBound))) % less"
  }

  private static func notes(
    _ demo: SharedMachine?, _ measured: Double, _ costs: MeasuredCosts
  ) -> String {
    let middle = (backlog.lowerBound + backlog.upperBound) / 2
    let answers = (backlogCPU - measured) * middle / (costs.request + costs.batch)
    return """
      * **Backlog:** the bound for records that are not compressed is near what was seen. It is why `fetch.wait.max.ms` is
        \(PlanText.number(KafkaDefaults.fetchWait)) now. On `martlet broker`, too, a backlog drains faster with it: compare
        `MARTLET_KAFKA_CONSUMER_FETCH_WAIT_MAX_MS=100 benchmarks/run backlog --partitions 12 --count 84000` with `=20`.
        If its records were compressed, neither the rounds of fetches nor the sender's CPU
        (\(PlanText.decimal(backlogCPU * middle / 1e6)) of a core) held the rate back; how the batches lay in Kafka is not known, `kafka-dump-log.sh` shows it.
      * **CPU:** the likeliest term is the machine, as no h2load was measured beside the figure. Requests to Kafka explain it
        only if there were some \(PlanText.number(answers)) answers to fetches per second instead of \(PlanText.number(1_000 / wait)) rounds: the broker's count tells.
      * **Latency:** each linger time on the way adds itself. Ingest and senders linger under load only; a producer of
        yours that lingers adds its own. Turns and exchanges took less than is assumed.
      \(demo.map(demoNote) ?? "")
      """
  }

  private static func demoNote(_ machine: SharedMachine) -> String {
    let costs = [demo.upperBound, demo.lowerBound].map {
      "\(PlanText.number(machine.request(rate: $0))) µs (at \(PlanText.number($0)) per second)"
    }
    return """
      * **Demo:** \(PlanText.number(demo.lowerBound)) … \(PlanText.number(demo.upperBound)) notifications per second were seen, for 200,000 requests. They follow if a request
        costs the broker \(costs[0]) to \(costs[1]). That cost was not measured.

      """
  }
}
