// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import Identity

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

    /// The mark of a device that the application has removed.
    ///
    /// - Parameter time: milliseconds since the epoch.
    public init(removedAt time: Int64) {
      self.init(
        since: time, aliveFrom: time, reason: DeviceRelease.removedReason, recordedAt: time)
    }

    /// It says that the application has removed the device; APNs has said nothing.
    public var isRemoval: Bool { reason.utf8.elementsEqual(DeviceRelease.removedReason.utf8) }

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
  /// nil: none. Most devices have none, and a state is copied often.
  private var described: Described?
  /// nil: no more than `presence` and `mark`.
  private var earlier: DeviceHistory?

  /// Nothing is known.
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

  /// Of the newest registration.
  public private(set) var details: DeviceDetails {
    get { described?.details ?? .none }
    set { described = newValue == .none ? nil : Described(newValue) }
  }

  /// Since the row is there; it has always what is in `presence` and `mark`.
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

  /// True if nothing but the mark is another one than in `other`, and no history has to be kept of either.
  public func differsInMark(from other: DeviceState) -> Bool {
    mark != nil && presence == other.presence && earlierHistory == nil
      && other.earlierHistory == nil
      && isDescribed(as: other)
  }

  private func isDescribed(as other: DeviceState) -> Bool {
    described === other.described || details == other.details
  }

  public static func == (one: DeviceState, other: DeviceState) -> Bool {
    one.presence == other.presence && one.mark == other.mark
      && one.isDescribed(as: other)
      && ((one.earlier == nil && other.earlier == nil) || one.history == other.history)
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

  /// True if the token is invalid: APNs said so, and it was not registered since.
  public var isInvalid: Bool { mark != nil && !isMarkObsolete && mark?.isRemoval == false }

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

  /// A record of `push.invalid-tokens`: the last one counts. nil: a tombstone.
  public mutating func apply(_ mark: Mark?) {
    if self.mark != nil, self.mark != mark { earlier = history }
    self.mark = mark
    guard let mark else { return forgetIfEmpty() }
    // The first one is in `mark`.
    if earlier != nil, !mark.isRemoval { history.note(mark) }
  }

  /// True if this fact says that the device is not any more whose it was: registered for another user, for none any more,
  /// or again after it had been removed. The first user of a device that had none is no other one.
  private func releases(_ fact: Presence, _ details: DeviceDetails) -> Bool {
    guard case .registered(let time) = fact, let presence, time >= presence.time else {
      return false
    }
    guard case .registered = presence else { return true }
    guard let user = self.details.user else { return false }
    return details.user?.exact != user.exact
  }

  /// What has to be told about pushes that were requested before a fact of `push.devices`: they are not sent any more. nil:
  /// nothing, or something newer does.
  ///
  /// - Parameters:
  ///   - fact: that this state has taken in.
  ///   - received: when its record was: no clock of whoever wrote it ends what is requested later.
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

  /// With the row goes its history.
  private mutating func forgetIfEmpty() {
    if isEmpty { earlier = nil }
  }

  /// True if this mark has to be published: the topic has none, or one that an earlier registration refutes.
  public func needs(_ new: Mark) -> Bool {
    guard let mark else { return true }
    return (mark.aliveFrom, mark.since) < (new.aliveFrom, new.since)
  }
}
