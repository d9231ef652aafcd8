// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import ServiceKit
import Synchronization
import Telemetry

/// The per-key metrics. The loop writes them; the status server's thread reads them.
final class KeyFigures: MetricSource {
  /// Changes of devices by one key.
  struct Changes {
    var registered = 0
    var removed = 0
    var client = ""
  }

  private struct Values {
    var requests: [ExactText: Int] = [:]
    var changes: [ExactText: Changes] = [:]
    /// The changes not logged yet.
    var untold: [ExactText: Changes] = [:]
    /// When keys expire, in seconds since the epoch.
    var ends: [ExactText: Int] = [:]
  }

  private let values = Mutex(Values())

  func count(_ requests: Int, of key: APIKey) {
    guard requests > 0 else { return }
    values.withLock { $0.requests[key.name, default: 0] += requests }
  }

  func countChange(isRemoval: Bool, of key: APIKey, from client: String) {
    let part = isRemoval ? \Changes.removed : \Changes.registered
    values.withLock { values in
      values.changes[key.name, default: Changes()][keyPath: part] += 1
      values.untold[key.name, default: Changes()][keyPath: part] += 1
      values.untold[key.name]?.client = client
    }
  }

  /// The changes since the last call, by key name.
  func drainUntold() -> [(name: String, changes: Changes)] {
    values.withLock { values in
      defer { values.untold = [:] }
      return values.untold.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
    }
  }

  /// Shows the current keys: the series of others end.
  func show(_ table: APIKeyTable) {
    values.withLock { values in
      let names = Set(table.keys.map(\.name))
      values.requests = values.requests.filter { names.contains($0.key) }
      values.changes = values.changes.filter { names.contains($0.key) }
      values.ends = [:]
      for key in table.keys { values.ends[key.name] = key.expires.map { Int($0 / 1_000) } }
    }
  }

  var samples: [MetricSample] {
    values.withLock { values in
      values.requests.sorted { $0.key < $1.key }.map {
        MetricSample(APIMetrics.keyRequests, [$0.key.text], $0.value)
      }
        + values.ends.sorted { $0.key < $1.key }.map {
          MetricSample(APIMetrics.keyEnd, [$0.key.text], $0.value)
        }
        + values.changes.sorted { $0.key < $1.key }.flatMap { name, changes in
          [
            MetricSample(APIMetrics.keyChanges, [name.text, "registered"], changes.registered),
            MetricSample(APIMetrics.keyChanges, [name.text, "removed"], changes.removed),
          ]
        }
    }
  }
}
