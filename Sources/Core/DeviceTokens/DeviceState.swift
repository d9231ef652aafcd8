// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The state of one device according to the topics: its newest registration or removal (`push.devices`) and whether it
/// is marked invalid (`push.invalid-tokens`). A database row is this value; it follows from the topics alone, so every
/// process ends in the same one. Only the history depends on more: which of the facts that compaction removes since a
/// process has read.
///
/// Times are milliseconds since the epoch.
public struct DeviceState: Equatable, Sendable {
  /// The newest fact of `push.devices`.
  public enum Presence: Equatable, Sendable {
    case registered(at: Int64)
    case removed(at: Int64)

    /// When it happened.
    public var time: Int64 {
      switch self {
      case .registered(let time), .removed(let time): time
      }
    }
  }

  /// A record of `push.invalid-tokens`.
  public struct Mark: Equatable, Sendable {
    /// Invalid since, by APNs' clock.
    public var since: Int64
    /// The earliest registration that proves the token valid.
    public var aliveFrom: Int64
    /// APNs' reason.
    public var reason: String
    /// When APNs said so.
    public var recordedAt: Int64

    public init(since: Int64, aliveFrom: Int64, reason: String, recordedAt: Int64) {
      self.since = since
      self.aliveFrom = aliveFrom
      self.reason = reason
      self.recordedAt = recordedAt
    }

    /// The mark without times that lie after the moment at which it was heard of: one of a far future would hold for
    /// ever.
    public func bounded(by received: Int64) -> Mark {
      Mark(
        since: OutsideTime.bounded(since, received: received),
        aliveFrom: OutsideTime.bounded(aliveFrom, received: received), reason: reason,
        recordedAt: OutsideTime.bounded(recordedAt, received: received))
    }
  }

  /// nil: nothing is known, or the topic's record was deleted.
  public private(set) var presence: Presence?
  /// nil: not marked, or the mark was taken back.
  public private(set) var mark: Mark?
  /// Of the newest registration.
  public private(set) var details: DeviceDetails
  /// Since the row is there; it has always what is in `presence` and `mark`.
  public private(set) var history = DeviceHistory()

  /// - Parameter history: earlier facts.
  public init(
    presence: Presence? = nil, mark: Mark? = nil, details: DeviceDetails = .none,
    history: DeviceHistory = DeviceHistory()
  ) {
    self.presence = presence
    self.mark = mark
    self.details = details
    self.history = history
    if let presence { self.history.note(presence) }
    if let mark { self.history.note(mark) }
  }

  /// The state of a device, in one word.
  public enum Word: String, CaseIterable, Sendable {
    case registered, removed, invalid
  }

  /// nil: nothing is known.
  public var word: Word? {
    if isInvalid { return .invalid }
    if isEmpty { return nil }
    return registeredAt == nil ? .removed : .registered
  }

  /// The newest registration, unless a removal came after it.
  public var registeredAt: Int64? {
    if case .registered(let time) = presence { time } else { nil }
  }

  /// True if the token is invalid: marked, and not registered since.
  public var isInvalid: Bool { mark != nil && !isMarkObsolete }

  /// True if `push.invalid-tokens` has a mark that the newest registration refutes: the mark is to be taken back.
  public var isMarkObsolete: Bool {
    guard let mark, let registeredAt else { return false }
    return registeredAt >= mark.aliveFrom
  }

  /// True if nothing is known.
  public var isEmpty: Bool { presence == nil && mark == nil }

  /// A record of `push.devices`. The newest by its own time counts; of two at the same time, the later record. nil:
  /// a tombstone, the registration is forgotten.
  ///
  /// - Parameter details: what a registration says besides.
  public mutating func apply(_ fact: Presence?, _ details: DeviceDetails = .none) {
    guard let fact else {
      presence = nil
      self.details = .none
      return forgetIfEmpty()
    }
    history.note(fact)
    if let known = presence, fact.time < known.time { return }
    presence = fact
    self.details = if case .registered = fact { details } else { .none }
  }

  /// A record of `push.invalid-tokens`: the last one counts. nil: a tombstone.
  public mutating func apply(_ mark: Mark?) {
    self.mark = mark
    if let mark { history.note(mark) } else { forgetIfEmpty() }
  }

  /// With the row goes its history.
  private mutating func forgetIfEmpty() {
    if isEmpty { history = DeviceHistory() }
  }

  /// True if this mark has to be published: the topic has none, or one that an earlier registration refutes.
  public func needs(_ new: Mark) -> Bool {
    guard let mark else { return true }
    return (mark.aliveFrom, mark.since) < (new.aliveFrom, new.since)
  }
}
