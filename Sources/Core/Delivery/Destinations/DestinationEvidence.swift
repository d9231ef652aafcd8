// SPDX-License-Identifier: Apache-2.0

package import APNS
package import Pipeline

/// What `DestinationHealth` is told and what it answers with.
extension DestinationHealth {
  /// The connection that an answer came on.
  package struct Place: Sendable {
    /// Whether it had accepted a push.
    package var hasAccepted: Bool
    /// Since when it is there.
    package var startedAt: UInt64
    /// Whether it carries the newest provider token.
    package var hasNewestToken: Bool

    package init(hasAccepted: Bool, startedAt: UInt64, hasNewestToken: Bool) {
      self.hasAccepted = hasAccepted
      self.startedAt = startedAt
      self.hasNewestToken = hasNewestToken
    }
  }

  /// What an answer other than 200 leads to.
  package struct Reaction: Sendable, Equatable {
    /// What to do with the connection.
    package var connection: ConnectionAction
    /// Something is refused that was not before: somebody should know.
    package var isNewRefusal = false
    /// It is about the push alone: the destination works.
    package var isServed = false
  }

  /// The end of a connection.
  package struct ConnectionEnd: Sendable {
    package var address: PeerAddress
    /// Whether TLS was ever up.
    package var wasMade: Bool
    /// Whether it had accepted a push.
    package var hasAccepted: Bool
    /// How long it was there, in milliseconds.
    package var lived: UInt64
    /// It failed, and its address was put aside for that.
    package var wasTroubled: Bool

    package init(
      address: PeerAddress, wasMade: Bool, hasAccepted: Bool, lived: UInt64, wasTroubled: Bool
    ) {
      self.address = address
      self.wasMade = wasMade
      self.hasAccepted = hasAccepted
      self.lived = lived
      self.wasTroubled = wasTroubled
    }
  }

  /// A push that got no final answer.
  package struct FailedPush: Sendable {
    package var life: PushLife
    package var cause: RetryPolicy.Cause
    /// The retry topic that it came from; nil from a lane.
    package var cameFrom: RetryTier?
    /// When it first failed, in milliseconds since the epoch.
    package var failingSince: Int64
    /// When it is of no more use, in milliseconds since the epoch; `.max` for never.
    package var expiresAt: Int64
    /// Milliseconds that the answer asked to wait, 0 if it did not.
    package var retryAfter: Int64
    /// A server's fault was answered before in this stay.
    package var hasMetFault: Bool
    /// Its connection has ended.
    package var isLost: Bool

    package init(
      _ life: PushLife, _ cause: RetryPolicy.Cause, cameFrom: RetryTier?, failingSince: Int64,
      expiresAt: Int64, retryAfter: Int64, hasMetFault: Bool, isLost: Bool
    ) {
      self.life = life
      self.cause = cause
      self.cameFrom = cameFrom
      self.failingSince = failingSince
      self.expiresAt = expiresAt
      self.retryAfter = retryAfter
      self.hasMetFault = hasMetFault
      self.isLost = isLost
    }
  }

  /// What becomes of it.
  package struct Retry: Sendable, Equatable {
    package var decision: RetryPolicy.Decision
    /// It would have gone out again at once if the retry budget were not used up.
    package var isOverBudget = false
  }

  /// What a GOAWAY leads to.
  package struct Farewell: Sendable, Equatable {
    /// The credential is refused that was not before: somebody should know.
    package var isNewRefusal = false
    /// A newer provider token is to be asked for.
    package var asksForToken = false
    /// The address turned us away or is stopping: it is put aside.
    package var isTrouble = false
  }

  /// What keeps pushes back, for people who look: the widest trouble first.
  package enum Trouble: String, Sendable, CaseIterable {
    /// The gateway as a whole fails: it answers nothing, or 5xx.
    case gateway
    /// APNs refuses the credential.
    case credential
    /// The last connects failed, or no connection can be made at all.
    case connects
    /// APNs refuses some apps with this credential.
    case app
  }
}
