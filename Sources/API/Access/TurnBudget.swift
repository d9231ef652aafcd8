// SPDX-License-Identifier: Apache-2.0

/// The work that one turn of the API's loop may do for request bodies, so that no client holds the only thread: each body
/// has a share, a small part of which is its own whatever the others do. What is left over comes in the next turn.
///
/// Work is counted in bytes, unpacked; a request costs as much as 1 KiB beside its own bytes.
public struct TurnBudget: Sendable, Equatable {
  /// The cost of a request beside its bytes.
  public static let perRequest = 1_024
  /// A body's own part.
  static let guaranteed = 64 << 10
  /// The most of one body, while there is something left of `total`.
  static let share = 1 << 20
  /// Some 30 ms.
  static let total = 16 << 20

  private var left = Self.total

  public init() {}

  /// True if a body on which `used` was spent in this turn goes on.
  public func allows(_ used: Int) -> Bool {
    used < Self.guaranteed || (used < Self.share && left > 0)
  }

  public mutating func spend(_ cost: Int) { left -= cost }
}
