// SPDX-License-Identifier: Apache-2.0

/// The outcome of a notification: the `outcome` of its receipt.
public enum Outcome: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  /// APNs answered 200.
  case delivered
  /// APNs gave a final answer that is not 200.
  case rejected
  /// Past its expiration, or older than its lane allows, before it was sent.
  case expired
  /// The device token is known to be invalid: not sent.
  case suppressed
  /// The same `apns-id` was already used within the window: not sent again.
  case deduplicated
  /// Unparsable, invalid, without a credential, or out of retries.
  case deadLettered
  /// A newer push with the same key was accepted: not sent, or not sent again.
  case superseded
  /// Its campaign was cancelled or has stopped itself: not sent, or not sent again.
  case cancelled
  /// A request to users: their devices are known, and each has its own outcome.
  case addressed

  /// The outcomes that a push can have.
  public static let ofPushes = allCases.filter { $0 != .addressed }

  /// The spelling in receipts.
  public var name: StaticString {
    switch self {
    case .delivered: "delivered"
    case .rejected: "rejected"
    case .expired: "expired"
    case .suppressed: "suppressed"
    case .deduplicated: "deduplicated"
    case .deadLettered: "dead_lettered"
    case .superseded: "superseded"
    case .cancelled: "cancelled"
    case .addressed: "addressed"
    }
  }

  public var description: String { name.description }

  /// The outcome with this name, or `nil`.
  public init?(_ name: Span<UInt8>) {
    for outcome in Self.allCases where name.spells(outcome.description) {
      self = outcome
      return
    }
    return nil
  }
}
