// SPDX-License-Identifier: Apache-2.0

public import Contract
public import Gateways

/// The limits of one loop of a sender: the defaults of its settings, and what the gateway announces.
public struct LoopLimits: Sendable, Equatable {
  /// Notifications that it holds at most (`--max-in-flight`).
  public var maxInFlight: Int
  /// How lanes share streams and slots (`--lanes`).
  public var lanes: Lanes
  /// When it opens connections (`--max-connections`).
  public var pool: ConnectionPoolPolicy.Limits
  /// MAX_CONCURRENT_STREAMS of a connection, as APNs announces it.
  public var streams: Int

  /// A sender's defaults, at a gateway that announces 1,000 streams.
  public init() {
    let standard = DispatchSettings()
    maxInFlight = standard.maxInFlight
    lanes = standard.lanes
    pool = standard.pool
    streams = 1_000
  }

  /// Requests of one credential that a loop can have open: what it holds beyond that waits for a stream.
  public var open: Int { min(maxInFlight, pool.maximum * streams) }
}
