// SPDX-License-Identifier: Apache-2.0

/// `docs/sizing.md`: what three rates need, with the formulas.
public enum SizingPage {
  private static let answers = AnswerTimes(median: 50, p99: 400)

  public static func text(_ costs: MeasuredCosts) -> String {
    let plans = [10_000.0, 100_000, 1_000_000].map {
      PipelinePlan(PlanRequest(rate: $0, answers: answers), costs)
    }
    return [
      introduction, PlanText.table(plans), formulas(plans[0].request, costs), requests(costs),
      limits,
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
    | loops by CPU | R × \(PlanText.decimal(costs.sender)) µs / u |
    | loops by what one holds | R × m / (\(PlanText.number(Double(request.limits.open))) × u): `--max-in-flight`, or the streams of `--max-connections` if they are fewer |
    | partitions of each lane | 2 × loops, at least 12 |
    | requests to Kafka that bring a loop records per second, F | the lesser of its rate and 1 / `linger.ms` |
    | partitions of a loop, P | partitions of each lane / loops |
    | cores for senders | (R × \(PlanText.decimal(costs.sender)) µs + loops × F × (\(PlanText.decimal(costs.request)) µs + P × \(PlanText.decimal(costs.partition)) µs)) / u |
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

  private static func requests(_ costs: MeasuredCosts) -> String {
    let rows: [(String, Double)] = [
      ("idle", 0), ("20 per second (`benchmarks/run latency`)", 20),
      ("5,000 per second", 5_000),
      ("ingest at its most on one core (`benchmarks/run ingest`)", 1e6 / costs.ingest),
      ("a sender loop at its most on one core (`benchmarks/run sender`)", 1e6 / costs.sender),
    ]
    return """
      ## Kafka requests

      What one process with 12 partitions sends to a real cluster of three brokers, by the settings it ships with:
      `fetch.wait.max.ms` 100, `fetch.min.bytes` 1, `linger.ms` 5, and a round trip of 1 ms to a broker. A producer sends one
      request per broker and linger time, with a batch for each partition that has records. A consumer has one fetch open at
      each broker; it is answered when a batch comes, or after 100 ms. Compare these figures with the brokers' own
      (`kafka.network:type=RequestMetrics`) when you run `benchmarks/run … --kafka host:port`.

      | load | produce requests per second | batches per request | records per batch | fetch requests per second |
      | --- | ---: | ---: | ---: | ---: |

      """ + rows.map(row).joined() + """

        A prefetch holds at most 16,000 records and 32 MiB per process, divided by its partitions, so that memory stays the same
        with more of them. Below its share, a partition is asked for in every fetch; above it, librdkafka leaves it out for a
        second.

        """
  }

  private static func row(_ name: String, _ rate: Double) -> String {
    let produce = KafkaRequests.produce(
      rate: rate, partitions: 12, brokers: 3, linger: PipelinePlan.linger)
    let fetches = KafkaRequests.fetches(
      arrivals: produce.requests, brokers: 3, wait: PipelinePlan.fetchWait, roundTrip: 1)
    return "| \(name) | \(PlanText.number(produce.requests)) | \(PlanText.decimal(produce.batches))"
      + " | \(PlanText.decimal(produce.recordsPerBatch)) | \(PlanText.number(fetches)) |\n"
  }

  private static let limits = """
    ## What the plan does not know

    Retries (a gateway that answers 429 or 503 needs more slots), other credentials' connections (one at least for each
    credential, loop and gateway), the database of the feedback process, and how fast your brokers' disks are. Plan for the
    peak: what exceeds it waits in Kafka, and nothing is lost.

    """
}
