// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The events that `DestinationHealth` handles, and its results.
extension DestinationHealth {
  /// The connection that an answer came on.
  public struct AnsweringConnection: Sendable {
    /// The address of the peer.
    public var address: PeerAddress
    /// The push was refused before, and was to find out here.
    public var isAgain: Bool
    /// True if the connection had accepted a push.
    public var hasAccepted: Bool
    /// When its first push went out.
    public var firstPushAt: UInt64
    /// True if the connection carries the newest provider token.
    public var hasNewestToken: Bool

    public init(
      at address: PeerAddress, isAgain: Bool = false, hasAccepted: Bool, firstPushAt: UInt64,
      hasNewestToken: Bool
    ) {
      self.address = address
      self.isAgain = isAgain
      self.hasAccepted = hasAccepted
      self.firstPushAt = firstPushAt
      self.hasNewestToken = hasNewestToken
    }
  }

  /// An answer other than APNs' 200.
  public struct Answer: Sendable {
    public var response: GatewayResponse
    /// The hash of its push's bundle id.
    public var app: UInt64
    /// When that was sent, in monotonic milliseconds.
    public var sentAt: UInt64
    /// Milliseconds that it asked to wait, 0 if it did not.
    public var retryAfter: UInt64
    /// The connection that it came on.
    public var place: AnsweringConnection

    public init(
      _ response: GatewayResponse, app: UInt64, sentAt: UInt64, retryAfter: UInt64 = 0,
      on place: AnsweringConnection
    ) {
      self.response = response
      self.app = app
      self.sentAt = sentAt
      self.retryAfter = retryAfter
      self.place = place
    }
  }

  /// The consequence of an answer other than APNs' 200.
  public struct Reaction: Sendable, Equatable {
    /// The action for the connection.
    public var connection: ConnectionAction
    /// Something is refused that was not before: somebody should know.
    public var isNewRefusal = false
    /// It is about the push alone: the destination works.
    public var isServed = false
    /// The credential is refused here, and another address may accept it: the push goes there at once.
    public var isOfAddress = false
  }

  /// The end of a connection that was made.
  public struct ConnectionEnd: Sendable {
    /// True if the connection had accepted a push.
    public var hasAccepted: Bool
    /// The connection's lifetime, in milliseconds.
    public var lived: UInt64
    /// It failed, and its address was put aside for that.
    public var isAddressAside: Bool
    /// Pushes that it had accepted.
    public var accepted: UInt64 = 0
    /// The gateway ended it with GOAWAY, and not because of an error.
    public var isInOrder = false
    /// It was there for a while, and nothing was sent on it.
    public var isUnused = false

    public init(hasAccepted: Bool, lived: UInt64, isAddressAside: Bool) {
      self.hasAccepted = hasAccepted
      self.lived = lived
      self.isAddressAside = isAddressAside
    }
  }

  /// The consequence of a GOAWAY.
  public struct GoAwayVerdict: Sendable, Equatable {
    /// The credential is refused that was not before: somebody should know.
    public var isNewRefusal = false
    /// A newer provider token is to be asked for.
    public var asksForToken = false
    /// The address turned us away or is stopping: it is put aside.
    public var isTrouble = false
  }

  /// The reason why pushes wait, for people who look: the widest trouble first.
  public enum Trouble: String, Sendable, CaseIterable {
    /// The gateway as a whole fails: it answers nothing, or 5xx, or allows no streams.
    case gateway
    /// APNs refuses the credential.
    case credential
    /// The last connects failed, or no connection can be made at all, and nothing was served since.
    case connects
    /// APNs refuses some apps with this credential.
    case app
  }
}
