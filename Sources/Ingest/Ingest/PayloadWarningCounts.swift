// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Synchronization
import Telemetry

/// The mistakes in payloads by app and rule: of the first apps that make some, and of all others together. A correct
/// payload does not come here.
final class PayloadWarningCounts: MetricSource {
  /// Apps with series of their own.
  static let namedApps = 100
  static let other = "other"

  private struct Series: Hashable {
    let app: ExactText
    let rule: PayloadRule
  }

  private struct Counts {
    var apps: Set<ExactText> = []
    var series: [Series: Int] = [:]
  }

  private let counts = Mutex(Counts())

  /// Counts each rule that a payload of this app breaks, once.
  func add(_ warnings: PayloadWarnings, of app: UnsafeRawBufferPointer) {
    let rules = Set(warnings.all.map(\.rule))
    var app = String(decoding: app, as: UTF8.self).exact
    counts.withLock { counts in
      if !counts.apps.contains(app) {
        if counts.apps.count < Self.namedApps {
          counts.apps.insert(app)
        } else {
          app = Self.other.exact
        }
      }
      for rule in rules { counts.series[Series(app: app, rule: rule), default: 0] += 1 }
    }
  }

  var samples: [MetricSample] {
    counts.withLock { $0.series }
      .sorted { ($0.key.app, $0.key.rule.rawValue) < ($1.key.app, $1.key.rule.rawValue) }
      .map { series, count in
        MetricSample(IngestMetrics.payloadWarnings, [series.app.text, series.rule.name], count)
      }
  }
}
