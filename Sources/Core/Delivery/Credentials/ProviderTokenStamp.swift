// SPDX-License-Identifier: Apache-2.0

/// Which provider token of a credential: tokens of one credential are ordered by it, and only ever go forward.
package struct ProviderTokenStamp: Sendable, Equatable, Comparable {
  /// Seconds after `iat` after which senders stop using a token; APNs refuses it at 60 minutes.
  package static let usableAge: Int64 = 55 * 60
  /// Seconds by which `iat` may lie ahead of the clock that looks at it. A token further ahead was minted by a clock
  /// that is wrong, or is looked at by one.
  package static let futureTolerance: Int64 = 60
  /// Of a credential that has no token: older than every token, and never usable.
  package static let none = ProviderTokenStamp(issuedAt: 0, generation: 0)

  /// `iat`, in seconds since the epoch.
  package let issuedAt: Int64
  /// Grows by one with each token; decides between two of the same second.
  package let generation: UInt64

  @inlinable package init(issuedAt: Int64, generation: UInt64) {
    self.issuedAt = issuedAt
    self.generation = generation
  }

  /// Whether the token may be sent at `now`, in milliseconds since the epoch.
  @inlinable package func isUsable(now: Int64) -> Bool {
    now < (issuedAt + Self.usableAge) * 1_000
  }

  /// Whether `iat` lies so far ahead of `now` (milliseconds since the epoch) that one of two clocks is wrong.
  @inlinable package func isFromFuture(now: Int64) -> Bool {
    issuedAt * 1_000 > now + Self.futureTolerance * 1_000
  }

  @inlinable package static func < (left: Self, right: Self) -> Bool {
    left.issuedAt != right.issuedAt
      ? left.issuedAt < right.issuedAt : left.generation < right.generation
  }
}
