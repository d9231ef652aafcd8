// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// A notification's time at a low rate as a sum of named terms, in milliseconds.
public struct LatencyPrediction: Sendable, Equatable {
  public struct Term: Sendable, Equatable {
    public let name: String
    public let p50: Double
    /// The longest that is usual. The sum of these is above the sum's 99th percentile.
    public let p99: Double
  }

  public let terms: [Term]
  public var p50: Double { terms.reduce(0) { $0 + $1.p50 } }
  public var p99: Double { terms.reduce(0) { $0 + $1.p99 } }

  /// The kind of cluster that keeps the records.
  public enum Kafka: Sendable, Equatable {
    /// It answers a fetch only when its wait is over, unless there was a record before.
    case local
    case cluster(KafkaCluster)
  }

  /// From when a request is due until APNs' answer: load, ingest, sender. A load that does not linger; a record of
  /// ingest's that is alone does not either.
  public static func request(_ kafka: Kafka) -> LatencyPrediction {
    LatencyPrediction(
      terms: [
        Term(name: "the load's timetable", p50: 0.3, p99: 0.6),
        hop("requests", kafka), turn("ingest"), hop("notifications", kafka),
        turn("the sender"), exchange(0),
      ])
  }

  /// From a notification's record until APNs' answer.
  ///
  /// - Parameter answer: how long APNs takes.
  public static func notification(answer: Double, _ kafka: Kafka) -> LatencyPrediction {
    LatencyPrediction(
      terms: [
        linger(kafka), hop("notifications", kafka), turn("the sender"), exchange(answer),
      ])
  }

  /// From an HTTP request until Kafka's acknowledgement.
  public static func api(_ kafka: Kafka) -> LatencyPrediction {
    LatencyPrediction(terms: [acknowledgement(kafka), turn("the API")])
  }

  /// The load's; librdkafka's threads wait in whole milliseconds.
  private static func linger(_ kafka: Kafka) -> Term {
    let linger = kafka == .local ? MeasuredRun.linger : KafkaDefaults.linger
    return Term(name: "the load's `linger.ms`", p50: linger, p99: linger + 1)
  }

  /// A record is read when it is acknowledged: the answer to a fetch that waits takes as long as the acknowledgement. At
  /// worst the fetch had just been answered, and the next one is a round trip away.
  private static func hop(_ topic: String, _ kafka: Kafka) -> Term {
    let name = "\(topic): written, and read by a fetch that waits"
    let wait = MeasuredRun.fetchWait
    let time = KafkaCluster.here.produceTime
    return switch kafka {
    case .local: Term(name: name, p50: time + wait / 2, p99: time + wait)
    case .cluster(let cluster):
      Term(name: name, p50: cluster.produceTime, p99: cluster.produceTime + cluster.fetchTime)
    }
  }

  private static func acknowledgement(_ kafka: Kafka) -> Term {
    let cluster = if case .cluster(let cluster) = kafka { cluster } else { KafkaCluster.here }
    return Term(name: "acknowledged", p50: cluster.produceTime, p99: cluster.produceTime)
  }

  /// Threads that wake up: two tenths of a millisecond, or one where the core is taken. An assumption.
  private static func turn(_ whose: String) -> Term {
    Term(name: "a turn of \(whose)", p50: 0.2, p99: 1)
  }

  private static func exchange(_ answer: Double) -> Term {
    Term(name: "to the gateway and back", p50: answer + 0.5, p99: answer + 1)
  }
}
