// SPDX-License-Identifier: Apache-2.0

public import Delivery

/// What bounds one loop of a sender: the defaults of its settings, and what the gateway announces.
public struct LoopLimits: Sendable, Equatable {
  /// Notifications that it holds at most (`--max-in-flight`).
  public var maxInFlight: Int
  /// Percent of streams and slots that only transactional first sends use (`--reserved-streams`).
  public var reservedPercent: Int
  /// When it opens connections (`--max-connections`).
  public var pool: ConnectionPoolPolicy.Limits
  /// MAX_CONCURRENT_STREAMS of a connection, as APNs announces it.
  public var streams: Int

  public init(
    maxInFlight: Int = 10_000, reservedPercent: Int = 20,
    pool: ConnectionPoolPolicy.Limits = .init(minimum: 1, maximum: 4), streams: Int = 1_000
  ) {
    self.maxInFlight = maxInFlight
    self.reservedPercent = reservedPercent
    self.pool = pool
    self.streams = streams
  }

  /// Requests of one credential that a loop can have open: what it holds beyond that waits for a stream.
  public var open: Int { min(maxInFlight, pool.maximum * streams) }
}
