// SPDX-License-Identifier: Apache-2.0

/// The runs of `benchmarks/run` that go through Kafka, each with what it asks of Kafka at the rate that was measured.
public struct KafkaRuns: Sendable {
  /// Senders whose CPU was measured.
  public struct Senders: Sendable {
    public let load: KafkaLoad
    /// CPU microseconds per notification on `martlet broker`.
    public let measured: Double
    /// Partitions of the lane that they read.
    public let partitions: Int
  }

  private let runs: [MeasuredRun]
  private let costs: MeasuredCosts

  public init(_ runs: [MeasuredRun], _ costs: MeasuredCosts) {
    self.runs = runs
    self.costs = costs
  }

  /// A run that was not measured is left out.
  public var senders: [Senders] {
    [
      sender("sender", "sender, 12 partitions", 12),
      sender("sender-partitions", "sender, 64 partitions", 64),
      sender("sender-partitions-paced", "sender, 12 partitions", 12),
      sender("sender-partitions-paced", "sender, 64 partitions", 64),
      sender("sender-apps", "sender, 12 partitions, 100 apps", 12),
      sender("sender-credentials", "sender, 12 partitions, 1000 credentials", 12),
      pipeline(1), pipeline(2), pipeline(4),
    ].compactMap { $0 }
  }

  /// Also those whose senders were not measured by themselves.
  public var loads: [KafkaLoad] {
    [KafkaLoad.idle("idle")]
      + [
        runs.find("latency", "20 per second").map { .pipeline("latency", rate: $0.rate) },
        runs.find("ingest", "ingest").map { .pipeline("ingest", rate: $0.rate) },
        runs.find("feedback", "feedback").map { .feedback("feedback", rate: $0.rate) },
      ].compactMap { $0 } + senders.map(\.load)
      + [demo.flatMap { demo in demoRate.map { demo.load($0) } }].compactMap { $0 }
  }

  private static let demoSenders = 2

  /// Notifications per second of the demo with `martlet broker`.
  private var demoRate: Double? { runs.find("demo", "demo, \(Self.demoSenders) senders")?.rate }

  public var demo: SharedMachine? {
    guard let demo = runs.find("demo", "demo, \(Self.demoSenders) senders"),
      let broker = runs.find("pipeline", "pipeline, \(Self.demoSenders) senders: broker")
    else { return nil }
    return SharedMachine(demo, senders: Self.demoSenders, cores: 2, broker: broker.cpu, costs)
  }

  private func sender(_ file: String, _ name: String, _ partitions: Int) -> Senders? {
    guard let run = runs.find(file, name) else { return nil }
    return Senders(
      load: .sender(name, rate: run.rate, partitions: partitions), measured: run.cpu,
      partitions: partitions)
  }

  private func pipeline(_ senders: Int) -> Senders? {
    guard let run = runs.find("pipeline", "pipeline, \(senders) senders: senders") else {
      return nil
    }
    let name = "pipeline, \(senders) sender\(senders > 1 ? "s" : "")"
    return Senders(
      load: .pipeline(name, rate: run.rate, senders: senders), measured: run.cpu, partitions: 12)
  }
}
