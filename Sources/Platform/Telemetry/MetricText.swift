// SPDX-License-Identifier: Apache-2.0

/// The page that Prometheus reads: its text format, version 0.0.4.
public enum MetricText {
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// - Parameter samples: in any order; those of one series, from several loops, become one.
  public static func page(_ samples: [MetricSample]) -> String {
    var families = Families()
    for sample in samples { families.add(sample) }
    return families.text
  }

  fileprivate static func escaped(_ text: String, quotes: Bool) -> String {
    // Most have none of these bytes, and the page has some hundreds.
    guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || (quotes && $0 == 0x22) }) else {
      return text
    }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Milliseconds as seconds: `1.5`.
  static func seconds(_ milliseconds: Int) -> String {
    let sign = milliseconds < 0 ? "-" : ""
    let (whole, part) = milliseconds.magnitude.quotientAndRemainder(dividingBy: 1_000)
    guard part > 0 else { return "\(sign)\(whole)" }
    var digits = String(1_000 + part).dropFirst()
    while digits.last == "0" { digits.removeLast() }
    return "\(sign)\(whole).\(digits)"
  }
}

/// The series by metric, in the order in which metrics and series first came.
private struct Families {
  private struct Series {
    let labels: [String]
    var value: MetricValue
  }

  private struct Family {
    let metric: Metric
    var series: [Series] = []
    var places: [[String]: Int] = [:]
  }

  private var families: [Family] = []
  private var places: [String: Int] = [:]

  mutating func add(_ sample: MetricSample) {
    let place = place(of: sample.metric)
    if let index = families[place].places[sample.labels] {
      let old = families[place].series[index].value
      families[place].series[index].value = Self.merged(old, sample.value, sample.metric.merge)
    } else {
      families[place].places[sample.labels] = families[place].series.count
      families[place].series.append(Series(labels: sample.labels, value: sample.value))
    }
  }

  private mutating func place(of metric: Metric) -> Int {
    if let place = places[metric.name] { return place }
    places[metric.name] = families.count
    families.append(Family(metric: metric))
    return families.count - 1
  }

  private static func merged(
    _ a: MetricValue, _ b: MetricValue, _ merge: MetricMerge
  ) -> MetricValue {
    switch (a, b) {
    case (.integer(let a), .integer(let b)): .integer(merge.of(a, b))
    case (.thousandths(let a), .thousandths(let b)): .thousandths(merge.of(a, b))
    case (.histogram(let a), .histogram(let b)): .histogram(a.merged(with: b))
    default: preconditionFailure("a metric has values of one kind")
    }
  }

  var text: String {
    var lines = ""
    for family in families {
      let metric = family.metric
      lines += "# HELP \(metric.name) \(MetricText.escaped(metric.help, quotes: false))\n"
      lines += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
      for series in family.series { lines += Self.text(metric, series) }
    }
    return lines
  }

  private static func text(_ metric: Metric, _ series: Series) -> String {
    let pairs = zip(metric.labels, series.labels).map {
      "\($0)=\"\(MetricText.escaped($1, quotes: true))\""
    }
    switch series.value {
    case .integer(let value): return "\(metric.name)\(braces(pairs)) \(value)\n"
    case .thousandths(let value):
      return "\(metric.name)\(braces(pairs)) \(MetricText.seconds(value))\n"
    case .histogram(let counts): return histogram(metric.name, pairs, counts)
    }
  }

  /// Buckets are cumulative.
  private static func histogram(
    _ name: String, _ pairs: [String], _ counts: LatencyCounts
  ) -> String {
    var lines = ""
    var sum = 0
    for (index, bound) in LatencyCounts.bounds.enumerated() {
      sum += counts.counts[index]
      let end = "le=\"\(MetricText.seconds(Int(bound)))\""
      lines += "\(name)_bucket\(braces(pairs + [end])) \(sum)\n"
    }
    lines += "\(name)_bucket\(braces(pairs + ["le=\"+Inf\""])) \(counts.count)\n"
    lines += "\(name)_sum\(braces(pairs)) \(MetricText.seconds(counts.sum))\n"
    return lines + "\(name)_count\(braces(pairs)) \(counts.count)\n"
  }

  private static func braces(_ pairs: [String]) -> String {
    pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
  }
}

extension MetricMerge {
  fileprivate func of(_ a: Int, _ b: Int) -> Int {
    switch self {
    case .sum: a + b
    case .highest: max(a, b)
    case .lowest: min(a, b)
    }
  }
}
