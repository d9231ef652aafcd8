// SPDX-License-Identifier: Apache-2.0

public import Contract

/// A campaign's pushes by outcome. What a receipt may say is a closed set: anything else that somebody has written is
/// counted together, so that the record, the metrics and the answers have a bound.
public struct CampaignCounts: Equatable, Sendable {
  /// The name under which outcomes that are none are counted.
  public static let other = "other"
  /// More are not counted: twelve of them can be added without overflow, and JSON numbers are exact up to here.
  public static let most = 1 << 53

  /// By the outcome's number; the last is of all others.
  private var values = [Int](repeating: 0, count: Outcome.allCases.count + 1)

  public init() {}

  /// The counts with these names, such as those of a record; negative ones are left out.
  public init(_ counts: some Sequence<(String, Int)>) {
    for (name, count) in counts where count > 0 {
      let place = Self.place(of: name)
      values[place] = min(Self.most, values[place] + min(Self.most, count))
    }
  }

  private static func place(of name: String) -> Int {
    Outcome(name.utf8.span).map { Int($0.rawValue) } ?? Outcome.allCases.count
  }

  /// One more with this outcome.
  public mutating func add(_ name: String) {
    let place = Self.place(of: name)
    values[place] = min(Self.most, values[place] + 1)
  }

  public subscript(_ outcome: Outcome) -> Int { values[Int(outcome.rawValue)] }

  public var isEmpty: Bool { values.allSatisfy { $0 == 0 } }

  /// Those that are there, by their names.
  public var named: [(name: String, count: Int)] {
    values.indices.filter { values[$0] > 0 }
      .map { place in
        (place < Outcome.allCases.count ? "\(Outcome.allCases[place])" : Self.other, values[place])
      }
      .sorted { $0.name < $1.name }
  }

  /// All.
  public var total: Int { values.reduce(0, +) }

  /// All without those of pushes that were repeated.
  public var ended: Int { total - self[.deduplicated] }
}
