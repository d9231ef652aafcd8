// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The `apns-id`s that a partition remembers: those processed in this assignment, and those of the previous owner,
/// which are read again from the log and may arrive late.
///
/// Each set is at most one window, so late ids cost only their memory: they are dropped once as many ids have been
/// processed here as a window holds.
public struct RecentIDs: Sendable {
  public enum Verdict: Sendable, Equatable {
    /// The first record with this id, which is remembered from now on.
    case first
    /// The id is remembered already: the record is a duplicate.
    case repeated
    /// The id is remembered already, with another payload.
    case otherPayload
  }

  let capacity: Int
  var taken: DedupWindow?
  /// The number of ids processed in this assignment: the newest ones of `taken`.
  private var own = 0
  /// The ids that were read again after the first id was processed here.
  var inherited: DedupWindow?
  /// Ids that were freed while others were still being read again: what is read later may have them.
  private var freed: Set<NotificationID> = []

  /// - Parameter capacity: the number of ids to remember, 0 (none) … 2³⁰. Memory is allocated with the first id.
  public init(capacity: Int) {
    precondition(capacity >= 0 && capacity <= 1 << 30)
    self.capacity = capacity
  }

  public var memoryBytes: Int { (taken?.memoryBytes ?? 0) + (inherited?.memoryBytes ?? 0) }

  /// Adds a window that was read again; it replaces the one read before.
  ///
  /// - Parameter isWhole: whether no other follows.
  public mutating func inherit(_ window: DedupWindow, isWhole: Bool = true) {
    guard capacity > 0 else { return }
    var window = window
    for id in freed { window.free(id) }
    inherited = window
    if isWhole { freed = [] }
  }

  /// Removes an id whose record was given up unsent and comes again.
  public mutating func remove(_ id: NotificationID) {
    if taken?.remove(id) == true { own -= 1 }
  }

  /// Frees an id whose notification ended without being accepted.
  ///
  /// - Parameter isReading: whether a window is still being read again.
  public mutating func free(_ id: NotificationID, isReading: Bool = false) {
    taken?.free(id)
    inherited?.free(id)
    if isReading, freed.count < capacity { freed.insert(id) }
  }

  /// All ids as one window, for the partition's next assignment; nil if there are none.
  public consuming func merged() -> DedupWindow? {
    guard var window = inherited else { return taken }
    taken?.visit(newest: own) { _ = window.insert($0, payload: $1) }
    return window
  }

  /// Adds the id, if it is the first.
  ///
  /// - Parameter payload: a hash of its payload.
  public mutating func take(_ id: NotificationID, payload: UInt16) -> Verdict {
    guard capacity > 0 else { return .first }
    if taken == nil {
      taken = inherited ?? DedupWindow(capacity: capacity)
      inherited = nil
    } else if let known = inherited?.payload(of: id) {
      return known == payload ? .repeated : .otherPayload
    }
    guard taken!.insert(id, payload: payload) else {
      return taken!.payload(of: id) == payload ? .repeated : .otherPayload
    }
    if own < capacity { own += 1 } else { inherited = nil }
    return .first
  }
}
