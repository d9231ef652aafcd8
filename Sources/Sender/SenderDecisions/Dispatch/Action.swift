// SPDX-License-Identifier: Apache-2.0

public import Contract

/// An action that the `Dispatcher` wants performed. Slots and pools are named by their numbers.
///
/// The owner does all that is named before it tells the next event: until then a slot that has ended is not reused,
/// and what is known of its push can be asked for.
public enum Action: Sendable, Equatable {
  // Pushes.

  /// Send the push on a connection that has a stream for it; `notSent` if it has none after all.
  case send(slot: UInt32, ConnectionID)
  /// Give the push's stream up. That it has ended is an event as for any other stream.
  case reset(slot: UInt32, ConnectionID)
  /// APNs accepted the push: write its receipt. Nearly every push ends so.
  case delivered(slot: UInt32, PushEnding)
  /// The push ended otherwise: write its receipt, with the answer if it was another than APNs' 200.
  case receipt(slot: UInt32, Outcome, ReceiptCause?, GatewayResponse?, PushEnding)
  /// The push was rejected for its device token: write a feedback record, then its receipt.
  case feedback(slot: UInt32, GatewayResponse)
  /// Write the push to a retry topic.
  case park(slot: UInt32, RetryTier, ParkReason)
  /// Write the push, whose retry is due, to its lane. The retry topic is given if nothing else of the record tells the
  /// new one from those before, because it has no key.
  case returnToLane(slot: UInt32, from: RetryTier?)
  /// The bytes of two pushes change places.
  case exchange(slot: UInt32, with: UInt32)
  /// Write the push to the dead letters, then its receipt.
  case deadLetter(slot: UInt32, DeadLetterReason, ReceiptCause, GatewayResponse?)
  /// Drop the push unsent: its partition's next owner sends it.
  case handBack(slot: UInt32)

  // Connections.

  /// Look the pool's gateway up; `seed` shuffles the addresses.
  case lookUp(pool: Int32, seed: UInt32)
  /// Open this connection of the pool to its address.
  case open(ConnectionID)
  /// From its next request on the connection carries the newest provider token of its pool.
  case changeToken(ConnectionID)
  case ping(ConnectionID)
  /// Say GOAWAY and close. What is open on it ends without an answer.
  case close(ConnectionID)
  /// It was not ready in time: give it up.
  case abandon(ConnectionID)

  // Pools.

  /// There is a new pool.
  case openPool(Int32)
  /// The pool has another provider token, or none any more.
  case authorize(pool: Int32)
  /// The pool's credential is gone: its connections drain.
  case retirePool(Int32)
  /// Nothing is left of a pool that was retired.
  case removePool(Int32)
  /// A newer provider token of the pool's credential is needed: an answer, or the reason of a GOAWAY, says so.
  case requestToken(pool: Int32, GatewayResponse)
  /// A provider token is needed for the push's app.
  case requestAppToken(slot: UInt32)

  // What somebody should know.

  /// APNs refuses the credential, with an answer or the reason of a GOAWAY: everything, or the app of this push.
  case reportRefusal(pool: Int32, app: UInt32?, GatewayResponse)
  /// The connection does not answer.
  case reportSilence(ConnectionID)
  /// An address refuses what another address of the pool's gateway accepts.
  case reportRefusingAddress(pool: Int32, PeerAddress)
  /// The answer to the push is not of APNs.
  case reportForeignAnswer(slot: UInt32, ConnectionID, GatewayResponse)
}

/// What a receipt says of its push, whatever it ended in.
public struct PushEnding: Sendable, Equatable {
  public let origin: Origin
  /// Sends, earlier ones included.
  public let attempts: Int
  /// Hash of the app's bundle id (`AppHash`).
  public let app: UInt64
}

/// Why a push goes to a retry topic, as the record's last reason.
public enum ParkReason: Sendable, Equatable {
  /// The answer; nil for none.
  case failure(GatewayResponse?)
  /// Its destination holds more than its share of the loop.
  case share
  /// Nobody has a provider token for it.
  case credential
  /// APNs throttles its device.
  case device
  /// APNs refuses its app, and serves others with the same credential.
  case app
  /// Too many pushes of its device wait for their turn.
  case order
  /// An operator has paused its app.
  case paused
  /// It would be faster than the pace of its app or group.
  case pace
  /// Its device's pace has given it a later time (`PushState.reservedAt`).
  case devicePace

  /// The reason in the record; nil where the answer says it.
  public var text: StaticString? {
    switch self {
    case .failure: nil
    case .share: "over share"
    case .credential: "no credential"
    case .device: "TooManyRequests"
    case .app: "app refused"
    case .order: "device busy"
    case .paused: "paused"
    case .pace: "over pace"
    case .devicePace: "over device pace"
    }
  }
}
