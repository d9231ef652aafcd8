// SPDX-License-Identifier: Apache-2.0

public enum MetricKind: String, Sendable, CaseIterable {
  /// Only grows while the process runs.
  case counter
  /// Rises and falls.
  case gauge
  /// Counts of observations in buckets, with their sum.
  case histogram
}

/// The rule that makes one value of those of several loops of one process.
public enum MetricMerge: Sendable {
  case sum
  case highest
  case lowest
}

/// A metric, or the case of a table whose row declares one (`MetricTable`).
public protocol DeclaredMetric: Sendable {
  var metric: Metric { get }
}

/// One metric: what `/metrics` calls it, and what a person has to know about it. Each is declared once, in a row of its
/// program's table.
public struct Metric: Sendable, Hashable, DeclaredMetric {
  /// As Prometheus names it, in base units: `martlet_sender_connects_total`, `martlet_sender_delivery_seconds`.
  public let name: String
  public let kind: MetricKind
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
    _ name: String, _ kind: MetricKind, labels: [String] = [],
    bound: String? = nil, merge: MetricMerge = .sum, event: (any LogTable)? = nil,
    _ help: String
  ) {
    self.name = name
    self.kind = kind
    self.labels = labels
    self.bound = bound
    self.merge = merge
    self.help = help
    self.event = event?.rawValue
  }

  public var metric: Metric { self }
}

public enum MetricValue: Sendable, Equatable {
  case integer(Int)
  /// Milliseconds of a metric in seconds.
  case thousandths(Int)
  case histogram(LatencyCounts)
}

public struct MetricSample: Sendable, Equatable {
  public let metric: Metric
  /// As many as the metric has labels.
  public let labels: [String]
  public let value: MetricValue

  public init(_ declared: some DeclaredMetric, _ labels: [String], _ value: MetricValue) {
    metric = declared.metric
    precondition(labels.count == metric.labels.count, "\(metric.name): one value a label")
    self.labels = labels
    self.value = value
  }

  public init(_ declared: some DeclaredMetric, _ labels: [String], _ value: Int) {
    self.init(declared, labels, .integer(value))
  }

  /// Of a metric without labels.
  public init(_ declared: some DeclaredMetric, _ value: Int) {
    self.init(declared, [], .integer(value))
  }
}
