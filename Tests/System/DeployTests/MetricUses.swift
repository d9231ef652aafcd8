// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Telemetry

/// Which alerts ask for a metric.
struct MetricUses {
  private let rules: [(alert: String, text: String)]

  init() throws {
    let text = try DeployedFiles.text("prometheus/rules.yaml")
    let starts = text.matches(of: #/- alert: ([A-Za-z]+)/#)
    rules = starts.indices.map { index in
      let end = index + 1 < starts.count ? starts[index + 1].range.lowerBound : text.endIndex
      return (String(starts[index].1), String(text[starts[index].range.upperBound..<end]))
    }
  }

  func alerts(_ metric: Metric) -> [String] {
    rules.filter { Self.names($0.text, metric) }.map(\.alert)
  }

  private static func names(_ text: String, _ metric: Metric) -> Bool {
    let stems = metric.kind == .histogram ? ["_bucket", "_sum", "_count"] : [""]
    let own = Set(stems.map { metric.name + $0 })
    return text.matches(of: #/\b(?:martlet|process)_[a-z_]+/#).contains {
      own.contains(String($0.output))
    }
  }
}
