// SPDX-License-Identifier: Apache-2.0

/// A campaign's pushes by outcome. The outcomes are a closed set: anything else in a receipt is counted together, so
/// that records, metrics and answers are bounded.
public struct CampaignCounts: Equatable, Sendable {
  /// The name for all unknown outcomes.
  public static let other = "other"
  /// The upper bound of a count: twelve of them can be added without overflow, and JSON numbers are exact up to here.
  public static let most = 1 << 53

  /// Indexed by outcome; the last is for all others.
  private var values = [Int](repeating: 0, count: Outcome.allCases.count + 1)

  public init() {}

  /// The counts with these names, as in a record; negative ones are ignored.
  public init(_ counts: some Sequence<(String, Int)>) {
    for (name, count) in counts where count > 0 {
      let place = Self.place(of: name)
      values[place] = min(Self.most, values[place] + min(Self.most, count))
    }
  }

  private static func place(of name: String) -> Int {
    Outcome(name.utf8.span).map { Int($0.rawValue) } ?? Outcome.allCases.count
  }

  /// Counts one more push with this outcome.
  public mutating func add(_ name: String) {
    let place = Self.place(of: name)
    values[place] = min(Self.most, values[place] + 1)
  }

  public subscript(_ outcome: Outcome) -> Int { values[Int(outcome.rawValue)] }

  public var isEmpty: Bool { values.allSatisfy { $0 == 0 } }

  /// The non-zero counts by name.
  public var named: [(name: String, count: Int)] {
    values.indices.filter { values[$0] > 0 }
      .map { place in
        (place < Outcome.allCases.count ? "\(Outcome.allCases[place])" : Self.other, values[place])
      }
      .sorted { $0.name < $1.name }
  }

  /// The sum of all counts.
  public var total: Int { values.reduce(0, +) }

  /// The sum without deduplicated pushes.
  public var ended: Int { total - self[.deduplicated] }
}
