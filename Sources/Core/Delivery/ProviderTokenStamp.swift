// SPDX-License-Identifier: Apache-2.0

/// Which provider token of a credential: tokens of one credential are ordered by it, and only ever go forward.
package struct ProviderTokenStamp: Sendable, Equatable, Comparable {
  /// Seconds after `iat` after which senders stop using a token; APNs refuses it at 60 minutes.
  package static let usableAge: Int64 = 55 * 60

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

  @inlinable package static func < (left: Self, right: Self) -> Bool {
    left.issuedAt != right.issuedAt
      ? left.issuedAt < right.issuedAt : left.generation < right.generation
  }
}
