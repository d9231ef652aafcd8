// SPDX-License-Identifier: Apache-2.0

public import ConsumerGroup
public import Contract

/// The settings of one loop of the sender: an operator's settings, and numbers that none changes. All times are
/// milliseconds.
public struct DispatchSettings: Sendable {
  /// Most notifications of a loop, from being taken to their outcome.
  public var maxInFlight = 10_000
  /// How the lanes share streams and slots, and when their notifications are too old.
  public var lanes = Lanes.standard
  /// Prompt retries for 100 first sends to one destination.
  public var retryBudgetPercent = 20
  /// Sends of one notification, the first included.
  public var maxAttempts = 8
  /// From sending a request to giving up on its answer.
  public var requestTimeout: UInt64 = 30_000
  /// TCP, TLS and the gateway's SETTINGS together.
  public var connectTimeout: UInt64 = 10_000
  /// Silence with open streams until a PING, without them (APNs asks for at most one per hour or so), and how long
  /// its answer may take.
  public var pingAfter: UInt64 = 10_000
  public var idlePing: UInt64 = 2_700_000
  public var pingTimeout: UInt64 = 10_000
  /// A connection is replaced at a random age between half of this and all of it.
  public var connectionAge: UInt64 = 86_400_000
  /// Requests after which a connection is replaced: HTTP/2 has numbers for 1,073,741,824.
  public var connectionRequests: UInt64 = 1_000_000_000
  /// When a pool opens and closes connections.
  public var pool = ConnectionPoolPolicy.Limits(minimum: 1, maximum: 4)
  /// The limits of all pools together.
  public var budget = ConnectionBudget.Limits()
  /// The time that a notification waits for a provider token of its app.
  public var credentialWait: UInt64 = 60_000
  /// `apns-id`s that one partition remembers.
  public var dedupWindow = 20_000
  /// Milliseconds after which what waits with a collapse id is one of a pile.
  public var collapseAfter: Int64 = 5_000
  /// The limits of one partition's unfinished work.
  public var partitionBounds = PartitionBounds()
  /// One notification in flight per device.
  public var isOrdered = false
  /// Broadcasts have gateways of their own.
  public var ownBroadcasts = (production: false, sandbox: false)
  /// Between two commits of offsets.
  public var commitInterval: UInt64 = 200

  public init() {}

  /// Which gateway a push to an environment and target goes to.
  // Inlined, for the settings would be copied as a whole.
  @inline(__always)
  public func gatewayKind(_ environment: Environment, _ target: PushTarget) -> GatewayKind {
    if target.isDevice { return GatewayKind(environment, ownForBroadcasts: false) }
    let own = environment == .production ? ownBroadcasts.production : ownBroadcasts.sandbox
    return GatewayKind(environment, ownForBroadcasts: own)
  }

  /// Outcomes that may wait for Kafka's acknowledgement before nothing more is taken.
  public var unacknowledgedAtMost: Int { max(20_000, 4 * maxInFlight) }
}

extension DestinationHealth {
  /// That of a destination of which nothing is known yet.
  init(_ settings: DispatchSettings) {
    self.init(
      pool: settings.pool, retries: RetryPolicy(maximumAttempts: settings.maxAttempts),
      budget: RetryBudget(percent: settings.retryBudgetPercent))
  }
}
