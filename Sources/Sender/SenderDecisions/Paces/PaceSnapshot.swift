// SPDX-License-Identifier: Apache-2.0

public import Contract

/// A pace as one loop keeps it, for status pages.
public struct PaceSnapshot: Sendable {
  /// As `Paces.names` has it; empty for a lane.
  public let name: String
  public let lane: Lane?
  /// Pushes a second that the loop may send.
  public let perSecond: Double
  /// Pushes that wait for it in slots.
  public let waiting: Int
}
