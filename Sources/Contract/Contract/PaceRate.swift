// SPDX-License-Identifier: Apache-2.0

/// A pace: a number of notifications per unit of time, such as `200/s` or `2/h`.
public struct PaceRate: Sendable, Hashable, CustomStringConvertible {
  /// The most pushes in a unit of time that the pace of a device may allow.
  @inlinable public static var mostOfDevice: Int { 8 }

  /// A unit of time; the raw value is its abbreviation.
  public enum Unit: Character, Sendable, CaseIterable {
    case second = "s"
    case minute = "m"
    case hour = "h"
    case day = "d"

    /// The unit's length in milliseconds.
    public var milliseconds: Int64 {
      switch self {
      case .second: 1_000
      case .minute: 60_000
      case .hour: 3_600_000
      case .day: 86_400_000
      }
    }
  }

  /// The most notifications per unit of time: more than any cluster sends.
  public static let most = 100_000_000

  /// 1 … `most`: a pace of zero would be a pause.
  public let count: Int
  public let unit: Unit

  /// - Returns: nil for a count out of range.
  public init?(_ count: Int, per unit: Unit) {
    guard (1...Self.most).contains(count) else { return nil }
    self.count = count
    self.unit = unit
  }

  /// Reads `137/s`, or `m`, `h`, `d` for a minute, an hour or a day; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].count == 1, let unit = Unit(rawValue: parts[1].first!),
      !parts[0].isEmpty, parts[0].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
      let count = Int(parts[0])
    else { return nil }
    self.init(count, per: unit)
  }

  public var perMillisecond: Double { Double(count) / Double(unit.milliseconds) }

  public var description: String { "\(count)/\(unit.rawValue)" }
}
