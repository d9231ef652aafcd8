// SPDX-License-Identifier: Apache-2.0
import Access
import ServiceKit
import Synchronization
import Telemetry

/// The series that have one value per API key. The loop writes them, the status server's thread reads.
final class KeyFigures: MetricSource {
  private struct Values {
    var requests: [String: Int] = [:]
    /// Seconds since the epoch.
    var ends: [String: Int] = [:]
  }

  private let values = Mutex(Values())

  /// So many requests of a key were acknowledged.
  func count(_ requests: Int, of key: APIKey) {
    guard requests > 0 else { return }
    values.withLock { $0.requests[key.name, default: 0] += requests }
  }

  /// The keys as they are now: series of others end.
  func show(_ table: APIKeyTable) {
    values.withLock { values in
      let names = Set(table.keys.map(\.name))
      values.requests = values.requests.filter { names.contains($0.key) }
      values.ends = [:]
      for key in table.keys { values.ends[key.name] = key.expires.map { Int($0 / 1_000) } }
    }
  }

  var samples: [MetricSample] {
    values.withLock { values in
      values.requests.sorted { $0.key < $1.key }.map {
        MetricSample(APIMetrics.keyRequests, [$0.key], $0.value)
      }
        + values.ends.sorted { $0.key < $1.key }.map {
          MetricSample(APIMetrics.keyEnd, [$0.key], $0.value)
        }
    }
  }
}
