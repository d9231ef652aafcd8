// SPDX-License-Identifier: Apache-2.0

/// A table of metrics: an enum with a row for each of its cases. The compiler refuses a case without a row, and all else
/// follows from the two: the cell that a counter counts in, which the case's raw value addresses, its place on the counters
/// line, its series on `/metrics`, and its line of `docs/reference/metrics.md`.
public protocol MetricTable: DeclaredMetric, CaseIterable, RawRepresentable
where RawValue == Int {
  /// Built on each call: for `/metrics` and the counters line, not to count with.
  var row: MetricRow { get }
}

extension MetricTable {
  public static var all: [Metric] {
    var known: Set<Metric> = []
    return allCases.compactMap(\.row.metric).filter { known.insert($0).inserted }
  }

  public var metric: Metric {
    guard let metric = row.metric else { preconditionFailure("\(self) is no metric") }
    return metric
  }
}

public struct MetricRow: Sendable {
  /// nil for a number of the counters line that `/metrics` has in another form.
  public let metric: Metric?
  /// The kind of the case's number on the counters line; nil for a metric whose values are collected when somebody asks
  /// (`MetricSource`).
  public let kind: CounterKind?
  private let labels: [String]
  private let isMilliseconds: Bool

  private init(
    _ metric: Metric?, _ kind: CounterKind?, labels: [String] = [], isMilliseconds: Bool = false
  ) {
    self.metric = metric
    self.kind = kind
    self.labels = labels
    self.isMilliseconds = isMilliseconds
  }

  /// A counter of one series, which is the case's number.
  ///
  /// - Parameter isMilliseconds: the number is in milliseconds, and the metric in seconds.
  public static func counter(
    _ name: String, isMilliseconds: Bool = false, event: (any LogTable)? = nil, _ help: String
  ) -> MetricRow {
    MetricRow(Metric(name, .counter, event: event, help), .total, isMilliseconds: isMilliseconds)
  }

  /// A gauge of one series, which is the case's number.
  public static func gauge(
    _ name: String, isMilliseconds: Bool = false, merge: MetricMerge = .sum,
    event: (any LogTable)? = nil, _ help: String
  ) -> MetricRow {
    let metric = Metric(name, .gauge, merge: merge, event: event, help)
    return MetricRow(metric, metric.counterKind, isMilliseconds: isMilliseconds)
  }

  /// A series of a metric that several cases share.
  ///
  /// - Parameter labels: the values of the metric's labels.
  public static func counted(_ metric: Metric, _ labels: String...) -> MetricRow {
    MetricRow(metric, metric.counterKind, labels: labels)
  }

  /// A metric whose values are collected when somebody asks.
  public static func sampled(
    _ name: String, _ kind: MetricKind, labels: [String] = [], bound: String? = nil,
    merge: MetricMerge = .sum, event: (any LogTable)? = nil, _ help: String
  ) -> MetricRow {
    MetricRow(
      Metric(name, kind, labels: labels, bound: bound, merge: merge, event: event, help), nil)
  }

  /// A number of the counters line alone.
  public static func line(_ kind: CounterKind) -> MetricRow { MetricRow(nil, kind) }

  /// The series of a case with this number; nil if it has none.
  public func sample(_ number: Int) -> MetricSample? {
    guard let metric, kind != nil else { return nil }
    return MetricSample(metric, labels, isMilliseconds ? .thousandths(number) : .integer(number))
  }
}

extension Metric {
  fileprivate var counterKind: CounterKind {
    kind == .counter ? .total : merge == .highest ? .peak : .gauge
  }
}
