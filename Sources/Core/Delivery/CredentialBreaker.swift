// SPDX-License-Identifier: Apache-2.0

/// Stops a pool from hammering APNs with a credential that it refuses.
///
/// A refused certificate or key shows as a GOAWAY or a 403 on each new connection, so reconnecting would go on
/// for ever. The breaker opens at the first refusal; when its time is over one connection may try, and the
/// time doubles if that is refused, too.
package struct CredentialBreaker: Sendable, Equatable {
  package enum State: Sendable, Equatable {
    /// Connections may be opened.
    case closed
    /// None may be opened before this time (milliseconds of a monotonic clock).
    case open(until: UInt64)
    /// One connection may be tried.
    case halfOpen
  }

  private(set) package var state = State.closed
  private var backoff: Backoff
  /// Refusals since the breaker was made.
  package private(set) var refusals: UInt64 = 0

  /// - Parameters: the shortest and the longest time the breaker stays open, in milliseconds.
  package init(shortest: UInt64 = 60_000, longest: UInt64 = 900_000) {
    backoff = Backoff(base: shortest, cap: longest)
  }

  /// APNs refused the credential. Further refusals while the breaker is open count but do not prolong it: they
  /// come from streams that were already under way.
  package mutating func refused(now: UInt64, random: UInt64) {
    refusals += 1
    if case .open(let until) = state, now < until { return }
    state = .open(until: now + backoff.failed(random: random))
  }

  /// APNs accepted a push with the credential.
  package mutating func accepted() {
    state = .closed
    backoff.succeeded()
  }

  /// The credential was replaced: the next connection may try at once.
  package mutating func credentialChanged() {
    if state != .closed { state = .halfOpen }
    backoff.succeeded()
  }

  /// How many connections may be open or opening now, at most; nil for no limit.
  package mutating func allowance(now: UInt64) -> Int? {
    if case .open(let until) = state, now >= until { state = .halfOpen }
    switch state {
    case .closed: return nil
    case .open: return 0
    case .halfOpen: return 1
    }
  }
}
