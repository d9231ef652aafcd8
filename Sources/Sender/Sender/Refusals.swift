// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// The apps that APNs refuses with one credential, and the credential itself if APNs refuses that, with Apple's reasons.
///
/// The breakers of `DestinationHealth` decide; this remembers the names and times for those who look.
struct Refusals: Sendable {
  struct Refusal: Sendable, Equatable {
    /// nil: the credential, with all its apps.
    let app: String?
    /// Apple's reason; `Other` for one that Apple does not document.
    var reason: String
    /// The first refusal, in monotonic milliseconds.
    let since: UInt64
    /// The newest one that its breaker let through.
    var last: UInt64
  }

  /// Apps at most, as of the breakers.
  private static let most = RefusedApps.most + 1
  /// A refusal that is older, in milliseconds, is of an app that nobody sends to any more: its breaker lets a push
  /// through every quarter of an hour.
  static let memory: UInt64 = 1_800_000

  private(set) var all: [Refusal] = []

  /// APNs refused an app, or the credential.
  ///
  /// - Parameter now: monotonic milliseconds.
  mutating func note(_ app: String?, _ reason: String, now: UInt64) {
    if let place = all.firstIndex(where: { $0.app == app }) {
      all[place].reason = reason
      all[place].last = now
      return
    }
    if all.count == Self.most, let oldest = all.indices.min(by: { all[$0].last < all[$1].last }) {
      all.remove(at: oldest)
    }
    all.append(Refusal(app: app, reason: reason, since: now, last: now))
  }

  /// Drops what APNs accepts again.
  mutating func prune(_ health: DestinationHealth, now: UInt64) {
    all.removeAll { refusal in
      guard let app = refusal.app else { return !health.refusesCredential }
      return now >= refusal.last + Self.memory || !health.apps.contains(AppHash.of(app.utf8.span))
    }
  }
}
