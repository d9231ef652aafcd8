// SPDX-License-Identifier: Apache-2.0

/// The work that one turn of the API's loop may do for request bodies, so that no client holds the only thread: each
/// body has a share, a small part of which is guaranteed whatever the others do. The rest is done in the next turn.
///
/// Work is counted in unpacked bytes; a request costs 1 KiB besides its own bytes.
public struct TurnBudget: Sendable, Equatable {
  /// The cost of a request besides its bytes.
  public static let perRequest = 1_024
  /// The guaranteed part of a body.
  static let guaranteed = 64 << 10
  /// The most for one body, while `total` is not used up.
  static let share = 1 << 20
  /// The work of a turn, about 30 ms.
  static let total = 16 << 20

  private var left = Self.total

  public init() {}

  /// True if a body for which `used` was spent in this turn may continue.
  public func allows(_ used: Int) -> Bool {
    used < Self.guaranteed || (used < Self.share && left > 0)
  }

  public mutating func spend(_ cost: Int) { left -= cost }
}
