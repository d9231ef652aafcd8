// SPDX-License-Identifier: Apache-2.0

/// What the topics say of one device: its newest registration or removal (`push.devices`) and whether it is
/// marked dead (`push.invalid-tokens`). A database row is this value; it follows from the topics alone, so every
/// process ends in the same one.
///
/// Times are milliseconds since the epoch.
package struct DeviceState: Equatable, Sendable {
  /// The newest fact of `push.devices`.
  package enum Presence: Equatable, Sendable {
    case registered(at: Int64)
    case removed(at: Int64)

    /// When it happened.
    package var time: Int64 {
      switch self {
      case .registered(let time), .removed(let time): time
      }
    }
  }

  /// A record of `push.invalid-tokens`.
  package struct Mark: Equatable, Sendable {
    /// Dead since, by APNs' clock.
    package var since: Int64
    /// The earliest registration that proves the token alive.
    package var aliveFrom: Int64
    /// APNs' reason.
    package var reason: String
    /// When APNs said so.
    package var recordedAt: Int64

    package init(since: Int64, aliveFrom: Int64, reason: String, recordedAt: Int64) {
      self.since = since
      self.aliveFrom = aliveFrom
      self.reason = reason
      self.recordedAt = recordedAt
    }
  }

  /// nil: nothing is known, or the topic's record was deleted.
  package private(set) var presence: Presence?
  /// nil: not marked, or the mark was taken back.
  package private(set) var mark: Mark?

  package init(presence: Presence? = nil, mark: Mark? = nil) {
    self.presence = presence
    self.mark = mark
  }

  /// The newest registration, unless a removal came after it.
  package var registeredAt: Int64? {
    if case .registered(let time) = presence { time } else { nil }
  }

  /// Whether the token is dead: marked, and not registered since.
  package var isDead: Bool { mark != nil && !isMarkObsolete }

  /// Whether `push.invalid-tokens` has a mark that the newest registration refutes: the mark is to be taken back.
  package var isMarkObsolete: Bool {
    guard let mark, let registeredAt else { return false }
    return registeredAt >= mark.aliveFrom
  }

  /// Whether nothing is known.
  package var isEmpty: Bool { presence == nil && mark == nil }

  /// A record of `push.devices`. The newest by its own time counts; of two at the same time, the later record. nil:
  /// a tombstone, the registration is forgotten.
  package mutating func apply(_ fact: Presence?) {
    guard let fact, let known = presence else {
      presence = fact
      return
    }
    if fact.time >= known.time { presence = fact }
  }

  /// A record of `push.invalid-tokens`: the last one counts. nil: a tombstone.
  package mutating func apply(_ mark: Mark?) { self.mark = mark }

  /// Whether this mark has to be published: the topic has none, or one that an earlier registration refutes.
  package func needs(_ new: Mark) -> Bool {
    guard let mark else { return true }
    return (mark.aliveFrom, mark.since) < (new.aliveFrom, new.since)
  }
}
