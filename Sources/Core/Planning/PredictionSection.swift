// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// "Predictions for a real broker" of `docs/sizing.md`: CPU, latency, backlog and demo.
enum PredictionSection {
  private static let partitionCounts = [12, 64]
  /// The factors by which records are smaller in Kafka than they are: if nothing repeats, and as the benchmarks' do.
  static let compressions = [1.0, 4]
  /// CPU microseconds of a broker for a request.
  private static let requestCosts = [0.0, 20, 50, 100]
  static let recordBytes =
    PlanRequest(rate: 1, answers: AnswerTimes(median: 1, p99: 1)).notificationBytes

  static func text(_ runs: KafkaRuns, _ measured: [MeasuredRun], _ costs: MeasuredCosts) -> String {
    [
      "## Predictions for a real broker\n", senders(runs, costs), latencies(measured), backlog(),
      demo(runs), SeenSection.text(runs, measured, costs),
    ].joined(separator: "\n")
  }

  // MARK: CPU

  private static func senders(_ runs: KafkaRuns, _ costs: MeasuredCosts) -> String {
    """
    **CPU of senders,** µs per notification at the measured rate. The local broker's requests are taken out and the
    cluster's put in, by the formula for senders above: an answer to a fetch costs \(PlanText.decimal(costs.request)) µs, a batch \(PlanText.decimal(costs.batch)) µs. These
    costs were measured at 200 answers per second and include what small batches cost the loop. Where more answers come,
    each brings fewer records, and a turn of the loop takes several: so the truth lies between the measured figure and the
    predicted one.

    | run | per second | local, measured | one broker here, at most | three brokers, at most |
    | --- | ---: | ---: | ---: | ---: |

    """ + runs.senders.map { senderRow($0, costs) }.joined()
  }

  private static func senderRow(_ run: KafkaRuns.Senders, _ costs: MeasuredCosts) -> String {
    let senders = run.load.processes.last?.copies ?? 1
    let local = SenderPrediction.measuredPart(
      rate: run.load.rate, partitions: run.partitions, senders: senders, costs)
    let predicted = [KafkaCluster.here, .threeAway].map {
      let part = SenderPrediction.part(run.load, costs, $0)
      return PlanText.decimal(max(0, run.measured - local) + part)
    }
    return line(
      [run.load.name, PlanText.number(run.load.rate), PlanText.decimal(run.measured)] + predicted)
  }

  // MARK: Latency

  private static func latencies(_ measured: [MeasuredRun]) -> String {
    """
    **Latency** at a low rate, p50 and p99 in ms, as sums of terms. The sum of what each takes at most is more than the
    99th percentile of the sum.

    | from … until | local, measured | local, predicted | one broker here | three brokers |
    | --- | ---: | ---: | ---: | ---: |
    \(latencyRows(measured))
    | a request's terms, one broker here | p50 | p99 |
    | --- | ---: | ---: |
    \(terms(LatencyPrediction.request(.cluster(.here))))
    The times of a turn, the gateway's exchange and the timetable are assumptions, as is the \(PlanText.decimal(KafkaCluster.here.fetchTime)) ms of the broker.

    """
  }

  private static func latencyRows(_ measured: [MeasuredRun]) -> String {
    let rows: [(String, MeasuredRun?, (LatencyPrediction.Kafka) -> LatencyPrediction)] = [
      (
        "request due … answered, 20 per second", measured.find("latency", "20 per second"),
        { .request($0) }
      ),
      (
        "notification written … answered, gateway of 50 ms (`lanes`)",
        measured.find("lanes", "transactional, idle"), { .notification(answer: 50, $0) }
      ),
      (
        "HTTP request … answered, one after the other (`api`)", measured.find("api", "api, one"),
        { .api($0) }
      ),
    ]
    let kinds: [LatencyPrediction.Kafka] = [.local, .cluster(.here), .cluster(.threeAway)]
    return rows.map { name, run, predict in
      let found = run.map { pair($0.p50, $0.p99) } ?? "not measured"
      return line([name, found] + kinds.map(predict).map { pair($0.p50, $0.p99) })
    }.joined()
  }

  private static func pair(_ p50: Double, _ p99: Double) -> String {
    "\(PlanText.decimal(p50)) and \(PlanText.decimal(p99))"
  }

  private static func terms(_ prediction: LatencyPrediction) -> String {
    (prediction.terms.map { ($0.name, $0.p50, $0.p99) } + [("sum", prediction.p50, prediction.p99)])
      .map { line([$0.0, PlanText.decimal($0.1), PlanText.decimal($0.2)]) }.joined()
  }

  // MARK: Backlog

  private static func backlog() -> String {
    """
    **A backlog** that a sender finds is bounded by its CPU, and by what one round of fetches brings. An answer brings as
    much of each partition as `fetch.message.max.bytes` allows; a partition that then holds its share of the prefetch is
    left out of the next fetch. When all with records are left out, that fetch waits for the partitions without any,
    `fetch.wait.max.ms`, and librdkafka looks at the others again when it is answered. (A broker that leads no partition
    without records is asked again at once:
    [the reader wakes librdkafka](decisions/011-waking-librdkafka.md).) Records are of \(PlanText.number(recordBytes))
    bytes; those of the benchmarks repeat one letter, and are taken to be a quarter of that in Kafka. Three brokers have
    about the same bound.

    | partitions, compression | share of the prefetch | `fetch.message.max.bytes` | records of a partition in an answer, in a round | records per second, at most |
    | --- | ---: | ---: | ---: | ---: |

    """ + partitionCounts.flatMap { count in compressions.map { backlogRow(count, $0) } }.joined()
  }

  private static func backlogRow(_ partitions: Int, _ compression: Double) -> String {
    let bound = BacklogBound(
      partitions: partitions, recordBytes: recordBytes / compression, .here)
    return line([
      "\(partitions), \(PlanText.number(compression)) ×", "\(bound.limits.records)",
      PlanText.number(Double(bound.limits.answerBytes)),
      "\(PlanText.number(Double(bound.answer))), \(PlanText.number(Double(bound.cycle)))",
      PlanText.number(bound.rate),
    ])
  }

  // MARK: Demo

  private static func demo(_ runs: KafkaRuns) -> String {
    """
    **The demo** on two cores that the broker shares: notifications per second = cores / (CPU of all processes per
    notification + requests per notification × the broker's CPU per request). The processes' CPU is what the demo leaves
    of two cores with `martlet broker`, with the senders' part for requests replaced as above. Your broker's CPU per
    request is its CPU per second divided by its requests per second. At lower rates batches are smaller.

    | broker's µs per request | notifications per second | requests per notification | broker's share of the cores |
    | ---: | ---: | ---: | ---: |

    """ + (runs.demo.map(demoRows) ?? "")
  }

  private static func demoRows(_ demo: SharedMachine) -> String {
    requestCosts.map { cost in
      let rate = demo.rate(request: cost)
      let requests = demo.load(rate).requests(.here)
      let share = 100 * requests * cost / (demo.cores * 1e6)
      return line([
        PlanText.number(cost), PlanText.number(rate), PlanText.hundredths(requests / rate),
        "\(PlanText.number(share)) %",
      ])
    }.joined()
  }

  static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |\n" }
}
