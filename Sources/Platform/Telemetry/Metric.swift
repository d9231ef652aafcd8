// SPDX-License-Identifier: Apache-2.0

/// The type of a metric, in Prometheus' words.
public enum MetricKind: String, Sendable, CaseIterable {
  /// Only grows while the process runs.
  case counter
  /// Rises and falls.
  case gauge
  /// Counts of observations in buckets, with their sum.
  case histogram
}

/// The unit of a metric: base units only, as Prometheus recommends.
public enum MetricUnit: String, Sendable, CaseIterable {
  /// A number of things.
  case none
  case seconds
  case bytes
}

/// The rule that makes one value of those of several loops of one process.
public enum MetricMerge: Sendable {
  case sum
  case highest
  case lowest
}

/// One metric: what `/metrics` calls it, and what a person has to know about it. Each is declared once, in the
/// table of its program.
public struct Metric: Sendable, Hashable {
  /// As Prometheus names it: `martlet_sender_connects_total`.
  public let name: String
  public let kind: MetricKind
  public let unit: MetricUnit
  /// The names of its labels, in the order of their values.
  public let labels: [String]
  /// One sentence.
  public let help: String
  public let merge: MetricMerge
  /// Series that it has at most; nil for a single one.
  public let bound: String?
  /// The message of the log event that says the same; nil without one.
  public let event: String?

  public init(
    _ name: String, _ kind: MetricKind, unit: MetricUnit = .none, labels: [String] = [],
    bound: String? = nil, merge: MetricMerge = .sum, event: String? = nil,
    _ help: String
  ) {
    self.name = name
    self.kind = kind
    self.unit = unit
    self.labels = labels
    self.bound = bound
    self.merge = merge
    self.help = help
    self.event = event
  }
}

/// A metric's value.
public enum MetricValue: Sendable, Equatable {
  case integer(Int)
  /// Milliseconds of a metric in seconds.
  case thousandths(Int)
  case histogram(LatencyCounts)
}

/// The value of one series of a metric.
public struct MetricSample: Sendable, Equatable {
  public let metric: Metric
  /// As many as the metric has labels.
  public let labels: [String]
  public let value: MetricValue

  public init(_ metric: Metric, _ labels: [String], _ value: MetricValue) {
    precondition(labels.count == metric.labels.count, "\(metric.name): one value a label")
    self.metric = metric
    self.labels = labels
    self.value = value
  }

  public init(_ metric: Metric, _ labels: [String], _ value: Int) {
    self.init(metric, labels, .integer(value))
  }

  /// Of a metric without labels.
  public init(_ metric: Metric, _ value: Int) { self.init(metric, [], .integer(value)) }
}

/// The series that a number of the counters line is.
public struct MetricSeries: Sendable {
  public let metric: Metric
  public let labels: [String]
  /// The number is in milliseconds, and the metric in seconds.
  public let isMilliseconds: Bool

  public init(_ metric: Metric, _ labels: [String] = [], isMilliseconds: Bool = false) {
    self.metric = metric
    self.labels = labels
    self.isMilliseconds = isMilliseconds
  }

  public func sample(_ value: Int) -> MetricSample {
    MetricSample(metric, labels, isMilliseconds ? .thousandths(value) : .integer(value))
  }
}
