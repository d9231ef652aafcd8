// SPDX-License-Identifier: Apache-2.0

/// Identifies and orders the provider tokens of one credential, which only move forward.
public struct ProviderTokenStamp: Sendable, Equatable, Comparable {
  /// The age since `iat`, in seconds, at which senders stop using a token; APNs refuses it at 60 minutes.
  public static let usableAge: Int64 = 55 * 60
  /// How far `iat` may be ahead of the local clock, in seconds. If a token is further ahead, either the minting clock
  /// or the local one is wrong.
  public static let futureTolerance: Int64 = 60
  /// The stamp of a credential without a token: older than every token, and never usable.
  public static let none = ProviderTokenStamp(issuedAt: 0, generation: 0)

  /// `iat`, in seconds since the epoch.
  public let issuedAt: Int64
  /// Increases by one with each token; decides between two of the same second.
  public let generation: UInt64

  public init(issuedAt: Int64, generation: UInt64) {
    self.issuedAt = issuedAt
    self.generation = generation
  }

  /// True if the token may be sent at `now`, in milliseconds since the epoch.
  public func isUsable(now: Int64) -> Bool { now < (issuedAt + Self.usableAge) * 1_000 }

  /// True if `iat` is so far ahead of `now` (milliseconds since the epoch) that one of the two clocks is wrong.
  public func isFromFuture(now: Int64) -> Bool {
    issuedAt * 1_000 > now + Self.futureTolerance * 1_000
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.issuedAt != right.issuedAt
      ? left.issuedAt < right.issuedAt : left.generation < right.generation
  }
}
