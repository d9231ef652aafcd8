// SPDX-License-Identifier: Apache-2.0

public import APNS

/// The `apns-id`s that a partition remembers: those taken in this assignment, and those that the owner before took,
/// which are read again from the log and may come late.
///
/// Each is at most a window, so that what came late costs nothing but its memory: it is dropped once as many ids have
/// been taken here as a window holds.
public struct RecentIDs: Sendable {
  /// What an id is that comes.
  public enum Verdict: Sendable, Equatable {
    /// The first with it; it is taken from now on.
    case first
    /// It is remembered already: what comes with it is a repeat.
    case repeated
    /// The same, but another payload came with it then.
    case otherPayload
  }

  let capacity: Int
  var taken: DedupWindow?
  /// Ids taken in this assignment: the newest ones of `taken`.
  private var own = 0
  /// The ids that were read again after the first id was taken here.
  var inherited: DedupWindow?

  /// - Parameter capacity: ids to remember, 0 (none) … 2³⁰. Memory is taken with the first id.
  public init(capacity: Int) {
    precondition(capacity >= 0 && capacity <= 1 << 30)
    self.capacity = capacity
  }

  /// Bytes that the ids occupy now.
  public var memoryBytes: Int { (taken?.memoryBytes ?? 0) + (inherited?.memoryBytes ?? 0) }

  /// Takes in what was read again; it replaces what was read before.
  public mutating func inherit(_ window: DedupWindow) {
    guard capacity > 0 else { return }
    inherited = window
  }

  /// Takes an id back: its record was given up unsent, and comes again.
  public mutating func remove(_ id: NotificationID) {
    if taken?.remove(id) == true { own -= 1 }
  }

  /// An id is not taken any more: what it was taken for has ended without being accepted.
  public mutating func free(_ id: NotificationID) {
    taken?.free(id)
    inherited?.free(id)
  }

  /// All ids as one window, for the partition's next assignment; nil when there are none.
  public consuming func merged() -> DedupWindow? {
    guard var window = inherited else { return taken }
    taken?.visit(newest: own) { _ = window.insert($0, payload: $1) }
    return window
  }

  /// Takes the id in, if it is the first.
  ///
  /// - Parameter payload: a hash of what comes with it.
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
