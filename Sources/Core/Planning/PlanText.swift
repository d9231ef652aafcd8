// SPDX-License-Identifier: Apache-2.0

internal import Telemetry

/// Plans as a table, one column each: plain text that is Markdown, too.
public enum PlanText {
  /// - Parameter plans: at least one.
  public static func table(_ plans: [PipelinePlan]) -> String {
    let head = ["per second"] + plans.map { number($0.request.rate) }
    let lines: [(String, (PipelinePlan) -> String)] = [
      ("requests open at a time", { number($0.streams) }),
      (
        "sender loops (by CPU, by what a loop holds)",
        {
          "\($0.loops) (\($0.loopsByCPU), \($0.loopsByInFlight))"
        }
      ),
      ("sender processes", { "\($0.senders)" }),
      ("cores for senders", { decimal($0.senderCores) }),
      ("cores for ingest", { decimal($0.ingestCores) }),
      ("copies of ingest", { "\($0.ingests)" }),
      ("connections to APNs", { number(Double($0.connections)) }),
      ("partitions of each lane", { "\($0.partitions)" }),
      ("memory of senders and ingest", { "\(number($0.memory)) MiB" }),
      ("written to Kafka, each record once", { "\(decimal($0.written / 1e6)) MB/s" }),
      ("brokers", { "\($0.brokers)" }),
      (
        "network to APNs, and back",
        {
          "\(decimal($0.up / 1e6)) and \(decimal($0.down / 1e6)) Mbit/s"
        }
      ),
      ("transactional p50, p99 in a sender", { times($0.loop.transactional) }),
      ("bulk p50, p99 in a sender", { times($0.loop.bulk) }),
    ]
    let rows = lines.map { line in [line.0] + plans.map(line.1) }
    let rule = ["---"] + plans.map { _ in "---:" }
    return ([head, rule] + rows).map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
  }

  /// One line for programs.
  public static func json(_ plan: PipelinePlan) -> String {
    let fields: [(String, Double)] = [
      ("rate", plan.request.rate), ("loops", Double(plan.loops)), ("senders", Double(plan.senders)),
      ("partitions", Double(plan.partitions)), ("connections", Double(plan.connections)),
      ("open_requests", plan.streams), ("sender_us", plan.senderCost),
      ("sender_cores", plan.senderCores), ("ingest_cores", plan.ingestCores),
      ("memory_mib", plan.memory), ("brokers", Double(plan.brokers)),
      ("answers_per_second", plan.loop.rate * Double(plan.loops)),
      ("p50_ms", Double(plan.loop.transactional.percentile(0.5)) / 1_000),
      ("p99_ms", Double(plan.loop.transactional.percentile(0.99)) / 1_000),
      ("bulk_p50_ms", Double(plan.loop.bulk.percentile(0.5)) / 1_000),
      ("bulk_p99_ms", Double(plan.loop.bulk.percentile(0.99)) / 1_000),
    ]
    return "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }

  private static func times(_ histogram: LatencyHistogram) -> String {
    guard histogram.count > 0 else { return "none" }
    let median = Double(histogram.percentile(0.5)) / 1_000
    let p99 = Double(histogram.percentile(0.99)) / 1_000
    return "\(number(median)), \(number(p99)) ms"
  }

  /// 1000000 as `1,000,000`.
  public static func number(_ value: Double) -> String {
    var digits = Array(String(Int(value.rounded())))
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: place)
      place -= 3
    }
    return String(digits)
  }

  /// One digit after the point.
  public static func decimal(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(number(Double(tenths / 10))).\(tenths % 10)"
  }

  /// Two digits after the point.
  public static func hundredths(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(number(Double(hundredths / 100))).\(rest < 10 ? "0" : "")\(rest)"
  }
}
