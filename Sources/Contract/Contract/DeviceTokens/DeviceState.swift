// SPDX-License-Identifier: Apache-2.0

/// The state of one device according to the topics: its newest registration or removal (`push.devices`) and whether it
/// is marked invalid (`push.invalid-tokens`). A database row is this value; it follows from the topics alone, so all
/// processes agree. Only the history depends on more: which facts, since compacted away, a process has read.
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
    /// The time since when it is invalid, by APNs' clock.
    public var since: Int64
    /// The earliest registration that proves the token valid.
    public var aliveFrom: Int64
    /// APNs' reason.
    public private(set) var reason: String
    /// When APNs reported it.
    public var recordedAt: Int64

    /// The most bytes of a reason: APNs has none that is longer, and anyone may have written one that no record holds.
    static let longestReason = 64

    public init(since: Int64, aliveFrom: Int64, reason: String, recordedAt: Int64) {
      self.since = since
      self.aliveFrom = aliveFrom
      self.reason = reason.beginning(bytes: Self.longestReason)
      self.recordedAt = recordedAt
    }

    /// The mark of a device that the application has removed.
    ///
    /// - Parameter time: milliseconds since the epoch.
    public init(removedAt time: Int64) {
      self.init(since: time, aliveFrom: time, reason: DeviceRelease.removedReason, recordedAt: time)
    }

    /// True if the application removed the device; APNs reported nothing.
    public var isRemoval: Bool { reason.utf8.elementsEqual(DeviceRelease.removedReason.utf8) }

    /// The mark with times limited to the moment of its receipt: one in the far future would hold for ever.
    public func bounded(by received: Int64) -> Mark {
      Mark(
        since: OutsideTime.bounded(since, received: received),
        aliveFrom: OutsideTime.bounded(aliveFrom, received: received), reason: reason,
        recordedAt: OutsideTime.bounded(recordedAt, received: received))
    }
  }

  /// nil: unknown, or the topic's record was deleted.
  public private(set) var presence: Presence?
  /// nil: not marked, or the mark was removed.
  public private(set) var mark: Mark?
  /// nil for most devices; a state is copied often.
  private var described: Described?
  /// nil if there is no more than `presence` and `mark`.
  private var earlier: DeviceHistory?

  /// A device about which nothing is known.
  public init() {}

  /// - Parameter history: earlier facts; nil for none.
  public init(
    presence: Presence? = nil, mark: Mark? = nil, details: DeviceDetails = .none,
    history: DeviceHistory? = nil
  ) {
    self.presence = presence
    self.mark = mark
    self.details = details
    guard var history else { return }
    if let presence { history.note(presence) }
    if let mark, !mark.isRemoval { history.note(mark) }
    earlier = history
  }

  private final class Described: Sendable {
    let details: DeviceDetails

    init(_ details: DeviceDetails) { self.details = details }
  }

  /// The details of the newest registration.
  public private(set) var details: DeviceDetails {
    get { described?.details ?? .none }
    set { described = newValue == .none ? nil : Described(newValue) }
  }

  /// The history since the row was created; it always includes `presence` and `mark`.
  public private(set) var history: DeviceHistory {
    get {
      if let earlier { return earlier }
      var history = DeviceHistory()
      if let presence { history.note(presence) }
      if let mark, !mark.isRemoval { history.note(mark) }
      return history
    }
    set { earlier = newValue }
  }

  /// The history; nil if it has no more than `presence` and `mark`.
  public var earlierHistory: DeviceHistory? {
    let isMarked = mark.map { !$0.isRemoval } ?? false
    guard let earlier, earlier.facts.count != (presence == nil ? 0 : 1) + (isMarked ? 1 : 0)
    else { return nil }
    return earlier
  }

  /// True if only the mark differs from `other`, and neither has a history to keep.
  public func differsInMark(from other: DeviceState) -> Bool {
    mark != nil && presence == other.presence && earlierHistory == nil
      && other.earlierHistory == nil && isDescribed(as: other)
  }

  private func isDescribed(as other: DeviceState) -> Bool {
    described === other.described || details == other.details
  }

  public static func == (one: DeviceState, other: DeviceState) -> Bool {
    one.presence == other.presence && one.mark == other.mark && one.isDescribed(as: other)
      && ((one.earlier == nil && other.earlier == nil) || one.history == other.history)
  }

  /// The device's state as one word.
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

  /// True if APNs reported the token invalid and it has not been registered since.
  public var isInvalid: Bool { mark != nil && !isMarkObsolete && mark?.isRemoval == false }

  /// True if `push.invalid-tokens` has a mark that the newest registration refutes and that must be removed.
  public var isMarkObsolete: Bool {
    guard let mark, let registeredAt else { return false }
    return registeredAt >= mark.aliveFrom
  }

  /// True if nothing is known.
  public var isEmpty: Bool { presence == nil && mark == nil }

  /// Applies a record of `push.devices`: the newest by its own time counts; of two with the same time, the later
  /// record. nil: a tombstone, which deletes the registration.
  ///
  /// - Parameter details: further details of a registration.
  public mutating func apply(_ fact: Presence?, _ details: DeviceDetails = .none) {
    guard let fact else {
      if presence != nil { earlier = history }
      presence = nil
      self.details = .none
      return forgetIfEmpty()
    }
    let releases = releases(fact, details)
    // The first one is in `presence`.
    if presence != nil || earlier != nil { history.note(fact) }
    if releases { history.noteRelease(at: fact.time) }
    if let known = presence, fact.time < known.time { return }
    presence = fact
    self.details = if case .registered = fact { details } else { .none }
  }

  /// Applies a record of `push.invalid-tokens`: the last one counts. nil: a tombstone.
  public mutating func apply(_ mark: Mark?) {
    if self.mark != nil, self.mark != mark { earlier = history }
    self.mark = mark
    guard let mark else { return forgetIfEmpty() }
    // The first one is in `mark`.
    if earlier != nil, !mark.isRemoval { history.note(mark) }
  }

  /// True if the device changes hands: it was registered for another user, for none any more, or again after a removal.
  /// The first user of a device without one is no change.
  private func releases(_ fact: Presence, _ details: DeviceDetails) -> Bool {
    guard case .registered(let time) = fact, let presence, time >= presence.time else {
      return false
    }
    guard case .registered = presence else { return true }
    guard let user = self.details.user else { return false }
    return details.user?.exact != user.exact
  }

  /// The release to publish so that pushes requested before this fact of `push.devices` are not sent; nil if none is
  /// needed, or a newer one does it.
  ///
  /// - Parameters:
  ///   - fact: a fact that this state has applied.
  ///   - received: when its record was received, so that a writer's fast clock cannot end later requests.
  public func release(by fact: Presence, received: Int64) -> DeviceRelease? {
    guard !isInvalid else { return nil }
    switch fact {
    case .removed(let time):
      return presence == fact ? DeviceRelease(.removed, at: min(time, received)) : nil
    case .registered(let time):
      guard registeredAt != nil, earlier?.releasedAt == time else { return nil }
      return DeviceRelease(.ownerChanged, at: min(time, received))
    }
  }

  /// The history is removed with the row.
  private mutating func forgetIfEmpty() {
    if isEmpty { earlier = nil }
  }

  /// True if this mark must be published: the topic has none, or one that an earlier registration refutes.
  public func needs(_ new: Mark) -> Bool {
    guard let mark else { return true }
    return (mark.aliveFrom, mark.since) < (new.aliveFrom, new.since)
  }
}
