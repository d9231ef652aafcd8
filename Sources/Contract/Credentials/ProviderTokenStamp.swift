// SPDX-License-Identifier: Apache-2.0

/// Which provider token of a credential: tokens of one credential are ordered by it, and only ever go forward.
public struct ProviderTokenStamp: Sendable, Equatable, Comparable {
  /// Seconds after `iat` after which senders stop using a token; APNs refuses it at 60 minutes.
  public static let usableAge: Int64 = 55 * 60
  /// Seconds by which `iat` may lie ahead of the clock that looks at it. A token further ahead was minted by a clock
  /// that is wrong, or is looked at by one.
  public static let futureTolerance: Int64 = 60
  /// Of a credential that has no token: older than every token, and never usable.
  public static let none = ProviderTokenStamp(issuedAt: 0, generation: 0)

  /// `iat`, in seconds since the epoch.
  public let issuedAt: Int64
  /// Grows by one with each token; decides between two of the same second.
  public let generation: UInt64

  public init(issuedAt: Int64, generation: UInt64) {
    self.issuedAt = issuedAt
    self.generation = generation
  }

  /// True if the token may be sent at `now`, in milliseconds since the epoch.
  public func isUsable(now: Int64) -> Bool {
    now < (issuedAt + Self.usableAge) * 1_000
  }

  /// True if `iat` lies so far ahead of `now` (milliseconds since the epoch) that one of two clocks is wrong.
  public func isFromFuture(now: Int64) -> Bool {
    issuedAt * 1_000 > now + Self.futureTolerance * 1_000
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.issuedAt != right.issuedAt
      ? left.issuedAt < right.issuedAt : left.generation < right.generation
  }
}
