// SPDX-License-Identifier: Apache-2.0

package import Delivery

/// What a pool's pushes authenticate with.
package enum PoolCredential: Sendable, Equatable {
  /// A credential of the `ProviderTokenBook`, by its index there.
  case token(Int)
  /// A certificate of the `CertificateBook`.
  case certificate(Int)
}

/// The connections of one loop that carry the pushes of one credential to one gateway, and the pushes that wait
/// for them.
///
/// APNs ties a connection to the team and key of its first push or to its client certificate, so that is what
/// connections are pooled by.
package struct Pool: Sendable {
  package let kind: GatewayKind
  package internal(set) var credential: PoolCredential
  /// Pushes that wait for a stream, and what is known of how the gateway takes them.
  package internal(set) var queue: SendQueue
  /// Pushes that failed where all free connections lead, until there is another one.
  package internal(set) var apart = SlotQueue()
  /// Its connections, by number.
  package internal(set) var connections: [Int32] = []
  /// Look-ups of names for connections to come.
  var lookups = 0
  var policy: ConnectionPoolPolicy
  /// Where connections go, and which addresses have failed.
  var addresses = AddressBook<PeerAddress>()
  /// The newest provider token; nil while there is none that may be sent.
  package internal(set) var token: ProviderTokenStamp?
  /// The token itself: a secret.
  package internal(set) var tokenBytes: [UInt8] = []
  /// Counts the tokens that it had.
  var tokenNumber: UInt32 = 0
  /// Monotonic milliseconds of the last answer on any of its connections.
  var lastAnswer: UInt64 = 0
  /// Monotonic milliseconds of the next look if it is calm until then.
  var lookAt: UInt64 = 0
  /// Something goes on: it is looked at in each upkeep, not once a second only.
  var isActive = false
  /// Something has changed since pushes were last dispatched.
  var isTouched = false
  /// Its credential is gone: what waits here belongs elsewhere, and its connections drain.
  package internal(set) var isRetired = false
  /// It was retired and is empty.
  package internal(set) var isRemoved = false

  init(_ credential: PoolCredential, _ kind: GatewayKind, _ settings: DispatchSettings) {
    self.credential = credential
    self.kind = kind
    policy = ConnectionPoolPolicy(limits: settings.pool)
    queue = SendQueue(
      shares: LaneShares(reserved: settings.reservedPercent),
      budget: RetryBudget(percent: settings.retryBudgetPercent))
  }

  package var authentication: ConnectionStateMachine.Authentication {
    if case .certificate = credential { .certificate } else { .providerToken }
  }

  /// Whether there is something to authenticate with.
  package var isAuthorized: Bool { token != nil || authentication == .certificate }

  /// Nothing can be sent at all now: no valid token, or the destination is out.
  var isHeld: Bool { !isAuthorized || !queue.health.isUndisturbed }

  /// Nothing waits to be sent.
  var isIdle: Bool { queue.isEmpty && apart.isEmpty }

  /// How long a push of the app has to wait, in milliseconds; 0 when it is to be sent now. Mutating, as the next one, also
  /// so that nothing is copied.
  mutating func wait(app: UInt64, now: UInt64) -> UInt64 {
    queue.health.hasRefusedApps ? queue.health.wait(app: app, now: now) : 0
  }

  /// APNs accepted a push of the app that was sent at this time (milliseconds since the epoch).
  mutating func served(app: UInt64, sentAt: Int64) {
    queue.health.served(sentAt: sentAt)
    if queue.health.hasRefusedApps { queue.health.served(app: app) }
  }

  /// Asks its policy about one connection.
  mutating func decide(
    _ load: ConnectionPoolPolicy.Load, now: UInt64
  ) -> ConnectionPoolPolicy.Action {
    queue.decide(&policy, load, now: now)
  }

  /// The destination as `Fairness` knows it.
  static func destination(_ pool: Int32) -> Int32 { pool + 1 }
}
