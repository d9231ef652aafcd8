// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// `docs/sizing.md`: what three rates need, with the formulas.
public enum SizingPage {
  private static let answers = AnswerTimes(median: 50, p99: 400)

  /// - Parameter runs: what was measured with `martlet broker`.
  public static func text(_ costs: MeasuredCosts, _ runs: [MeasuredRun]) -> String {
    let plans = [10_000.0, 100_000, 1_000_000].map {
      PipelinePlan(PlanRequest(rate: $0, answers: answers), costs)
    }
    let kafka = KafkaRuns(runs, costs)
    return [
      introduction, PlanText.table(plans), formulas(plans[0].request, costs),
      KafkaSection.text(kafka), PredictionSection.text(kafka, runs, costs), limits,
    ].joined(separator: "\n")
  }

  private static let introduction = """
    # Sizing

    `martlet plan --rate 1M --latency lognormal:50ms,400ms` prints what a deployment needs: from costs that
    `benchmarks/run` has measured, by the formulas below, and from a simulation of one sender loop with the decisions that
    the sender ships with. `benchmarks/run plan` compares five predictions with measured runs on your machine. A test
    generates this page from the same code (`MARTLET_WRITE_DOCS=1`).

    With a gateway whose answers take 50 ms (median) and 400 ms (99th percentile), half of the notifications on the bulk
    lane, and payloads of 262 bytes:

    """

  private static func formulas(_ request: PlanRequest, _ costs: MeasuredCosts) -> String {
    """
    ## Formulas

    R is the rate per second, u = \(request.used) % the share of a core and of every limit that is used at the peak. The
    rest is for retries, rebalances and the loss of a host.

    | what | formula |
    | --- | --- |
    | mean time of an answer, m | median × e^(σ²/2), σ = ln(p99 / median) / 2.326 |
    | requests open at a time | R × m (Little's law) |
    | loops by CPU | R × \(PlanText.decimal(costs.sender)) µs / (u − F × \(PlanText.decimal(costs.request)) µs − B × \(PlanText.decimal(costs.batch)) µs), with F and B (below) of a full loop that has two partitions |
    | loops by what one holds | R × m / (\(PlanText.number(Double(request.limits.open))) × u): `--max-in-flight`, or the streams of `--max-connections` if they are fewer |
    | partitions of each lane | 2 × loops, at least 12 |
    | requests to Kafka that bring a loop records per second, F | the lesser of its rate and 1 / `linger.ms`, which is \(PlanText.number(MeasuredRun.linger)) ms at `martlet broker` |
    | partitions of a loop, P | partitions of each lane / loops |
    | batches of a loop per second, B | P / (`linger.ms` + P / its rate) |
    | cores for senders | (R × \(PlanText.decimal(costs.sender)) µs + loops × (F × \(PlanText.decimal(costs.request)) µs + B × \(PlanText.decimal(costs.batch)) µs)) / u |
    | cores for ingest | R × \(PlanText.decimal(costs.ingest)) µs / u |
    | memory | loops × \(PlanText.number(costs.senderMiB)) MiB + copies of ingest × \(PlanText.number(costs.ingestMiB)) MiB |
    | written to Kafka | R × (payload + 210 of a request, payload + 200 of a notification, 330 of a receipt), before compression |
    | brokers | written × 3 copies / 60 MB/s, at least 3; the 60 MB/s of one broker are an assumption |
    | network | R × (payload + 300) bytes up, R × 60 bytes down |

    Measured on: \(costs.source). h2load takes \(PlanText.decimal(costs.h2load)) µs of CPU per request there.
    `martlet plan --h2load MICROSECONDS` scales them to a machine where it takes another time; `benchmarks/run sender`
    prints it. Connections and times come from the simulation: per loop, 4 s after connections had 5 s to open.

    """
  }

  private static let limits = """
    ## What the plan does not know

    Retries (a gateway that answers 429 or 503 needs more slots), other credentials' connections (one at least for each
    credential, loop and gateway), the database of the feedback process, and how fast your brokers' disks are. Plan for the
    peak: what exceeds it waits in Kafka, and nothing is lost.

    """
}
