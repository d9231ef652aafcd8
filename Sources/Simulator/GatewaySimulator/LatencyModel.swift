// SPDX-License-Identifier: Apache-2.0
import Glibc
import Settings

/// The gateway's response time, in ms.
public enum LatencyModel: Sendable, Equatable {
  case none
  case fixed(UInt64)
  /// A log-normal distribution as a table of equally likely times.
  case quantiles([UInt32])

  private static let tableSize = 4_096
  /// The number of standard deviations below which 99 % of a normal distribution lie.
  private static let deviationsToP99 = 2.326_348

  /// A year in milliseconds: sums with the delays of faults cannot overflow.
  private static let longest: Int64 = 31_557_600_000

  /// Reads `20ms`, `0ms` or `lognormal:20ms,200ms` (median and 99th percentile).
  public init?(_ text: String) {
    let prefix = "lognormal:"
    guard text.hasPrefix(prefix) else {
      guard let time = DurationText.milliseconds(of: text), (0...Self.longest).contains(time)
      else { return nil }
      self = time == 0 ? .none : .fixed(UInt64(time))
      return
    }
    let parts = text.dropFirst(prefix.count).split(separator: ",")
    guard parts.count == 2, let p50 = DurationText.milliseconds(of: String(parts[0])),
      let p99 = DurationText.milliseconds(of: String(parts[1])), p50 > 0, p99 >= p50
    else { return nil }
    let sigma = log(Double(p99) / Double(p50)) / Self.deviationsToP99
    self = .quantiles(
      (0..<Self.tableSize).map { place in
        let share = (Double(place) + 0.5) / Double(Self.tableSize)
        return UInt32(min(Double(p50) * exp(sigma * Self.deviations(share)), 3.6e6))
      })
  }

  /// The model in the form that `init` reads; a distribution by its median and 99th percentile.
  public var text: String {
    switch self {
    case .none: "0ms"
    case .fixed(let time): "\(time)ms"
    case .quantiles(let table):
      "lognormal:\(table[table.count / 2])ms,\(table[table.count * 99 / 100])ms"
    }
  }

  /// Returns the time that a random number selects.
  public func milliseconds(_ random: UInt64) -> UInt64 {
    switch self {
    case .none: 0
    case .fixed(let time): time
    case .quantiles(let table): UInt64(table[Int(random % UInt64(table.count))])
    }
  }

  /// The inverse of the normal distribution, by bisection of its error function; used only at the start.
  private static func deviations(_ share: Double) -> Double {
    var low = -8.0
    var high = 8.0
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if 0.5 * erfc(-middle / 2.0.squareRoot()) < share { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }
}
