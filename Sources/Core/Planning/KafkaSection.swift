// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// "Kafka requests" of `docs/sizing.md`: what each measured run asks of a real cluster.
enum KafkaSection {
  static func text(_ runs: KafkaRuns) -> String {
    """
    ## Kafka requests

    Every figure of [performance.md](performance.md) was measured on `martlet broker`. This section says what the same
    runs ask of a real one, by arithmetic from the settings that ship, so that you can compare a run with
    `--kafka host:port` and the brokers' own counts (`kafka.network:type=RequestMetrics`).

    | setting | real brokers | `martlet broker` |
    | --- | --- | --- |
    | `fetch.wait.max.ms`, `fetch.min.bytes` | \(whole(KafkaDefaults.fetchWait)) (tables: \(whole(KafkaDefaults.tableFetchWait))), 1 | \(whole(MeasuredRun.fetchWait)), 1 |
    | `linger.ms` of ingest, API, sender, under load | \(whole(KafkaDefaults.lingerOfIngest)), \(whole(KafkaDefaults.lingerOfAPI)), \(whole(KafkaDefaults.lingerOfSenders)) | \(whole(MeasuredRun.linger)) |
    | `linger.ms` of the others, the benchmarks' load too | \(whole(KafkaDefaults.linger)) | \(whole(MeasuredRun.linger)) |
    | an answer to a fetch | all that is there, up to `fetch.message.max.bytes` of each partition | one batch of each partition |

    * **Produce:** librdkafka 2.0.2 puts one batch of one partition into a request. A partition's first record opens a
      batch, which leaves `linger.ms` later: partitions / (`linger.ms` + partitions / rate) requests per second, and at
      most \(whole(KafkaDefaults.openRequests)) of them open at a broker. Ingest, API and sender send a record at once when everything before it is
      acknowledged. Records without a key go to one partition at a time (the demo's requests), a sender's receipts to
      a partition of their own each.
    * **Fetch:** a consumer has one request open at each broker. It names every partition of that broker that is below its
      share of the prefetch, and is answered with the first batch, or after `fetch.wait.max.ms`. The prefetch of a process
      is at most 16,000 records (ingest: 48,000) and 32 MiB, divided by its partitions.
    * **One broker here:** on the same machine, \(PlanText.decimal(KafkaCluster.here.fetchTime)) ms for a fetch that finds a record and for an acknowledgement. **Three
      brokers:** \(whole(KafkaCluster.threeAway.fetchTime)) ms for the fetch, \(whole(KafkaCluster.threeAway.produceTime)) ms until all three copies have a record. These times are assumptions.
    * Each member of a group also sends a heartbeat every 300 ms, and commits up to five times per second.
    * `lanes` without its backlog asks for little more than `latency`. `backlog` asks for some fifty rounds of fetches per
      second (below) and one produce request for 500 outcomes.
    * Without work, a member of a group asks `martlet broker` twice as often as it asks each broker of a cluster, and a
      reader of tables ten times as often.

    Requests per second of all processes of a kind, at the rate that was measured with `martlet broker`; records are
    those of a batch. A receipts' record holds up to 500 outcomes. MB per second are before compression:


    """ + table(runs)
  }

  private static func table(_ runs: KafkaRuns) -> String {
    let head = """
      | run, per second | processes | one broker here: fetches, produces, records | three brokers: fetches, produces, records | MB/s in, out |
      | --- | --- | ---: | ---: | ---: |

      """
    return head + runs.loads.flatMap { load in load.processes.map { row(load, $0) } }.joined()
  }

  private static func row(_ load: KafkaLoad, _ process: KafkaProcess) -> String {
    let clusters = [KafkaCluster.here, .threeAway].map { cluster in
      [
        PlanText.number(process.fetches(cluster)), PlanText.number(process.produces(cluster)),
        PlanText.decimal(process.recordsPerBatch(cluster)),
      ].joined(separator: ", ")
    }
    let bytes = [process.bytesIn, process.bytesOut].map { PlanText.decimal($0 / 1e6) }
    let name = load.rate > 0 ? "\(load.name), \(PlanText.number(load.rate))" : load.name
    let cells =
      [name, "\(process.copies) × \(process.name)"] + clusters + [bytes.joined(separator: ", ")]
    return "| " + cells.joined(separator: " | ") + " |\n"
  }

  private static func whole(_ value: Double) -> String { PlanText.number(value) }
}
