// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

/// The notifications per second that were delivered, and failed, over the last hour: for a chart that starts before the
/// page is opened.
struct StatusHistory: Equatable {
  /// The length of one step in seconds.
  static let step = 10
  /// The number of steps in an hour.
  static let most = 360
  private static let failures = [Outcome.rejected, .expired, .deadLettered].map { "\($0)" }

  private struct Point: Equatable {
    /// The step's number since the epoch.
    let place: Int
    var delivered: Double
    var failed: Double
    /// The number of readings in the mean.
    var count = 1.0
  }

  /// The points in order of time.
  private var points: [Point] = []

  mutating func note(_ status: PipelineStatus) {
    func rate(_ names: [String]) -> Double {
      status.outcomesPerSecond.reduce(0) { names.contains($1.name) ? $0 + $1.value : $0 }
    }
    note(at: status.wall, delivered: rate(["delivered"]), failed: rate(Self.failures))
  }

  /// - Parameter time: Seconds since the epoch.
  mutating func note(at time: Double, delivered: Double, failed: Double) {
    guard time.isFinite, time.magnitude < 1e12, delivered.isFinite, failed.isFinite else { return }
    let place = Int(time) / Self.step
    // If the clock was set back, earlier points are later than this one.
    points.removeAll { $0.place > place || $0.place <= place - Self.most }
    guard let last = points.indices.last, points[last].place == place else {
      points.append(Point(place: place, delivered: delivered, failed: failed))
      return
    }
    points[last].count += 1
    points[last].delivered += (delivered - points[last].delivered) / points[last].count
    points[last].failed += (failed - points[last].failed) / points[last].count
  }

  /// The rates of each step up to the newest, oldest first; null where nothing was read.
  var json: JSONValue {
    guard let first = points.first?.place, let last = points.last?.place else {
      return ["step_seconds": .integer(Int64(Self.step)), "delivered": [], "failed": []]
    }
    var delivered = [JSONValue](repeating: .null, count: last - first + 1)
    var failed = delivered
    for point in points {
      delivered[point.place - first] = StatusText.rounded(point.delivered)
      failed[point.place - first] = StatusText.rounded(point.failed)
    }
    return [
      "step_seconds": .integer(Int64(Self.step)), "delivered": .array(delivered),
      "failed": .array(failed),
    ]
  }
}
