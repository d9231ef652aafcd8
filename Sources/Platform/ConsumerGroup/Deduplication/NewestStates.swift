// SPDX-License-Identifier: Apache-2.0

/// The newest push of each identity (device, app and key) that a lane's partition has had, by its place in the log:
/// an older one that comes later, from a retry topic, is superseded by it.
///
/// Bounded: once as many identities had a push as half of the capacity, those that had none since are forgotten,
/// unless a push of theirs is under way. Of what is forgotten the newest place is kept, so that it is known for which
/// older pushes the table cannot say.
public struct NewestStates: Sendable {
  /// No push of the identity is under way.
  public static let none = UInt32.max

  /// One identity.
  public struct Entry: Sendable, Equatable {
    /// A hash; 0 for an empty place.
    var identity: UInt64 = 0
    /// The place of its newest push.
    public var position: Int64 = -1
    /// The slot of that push while it is under way here.
    public var slot = NewestStates.none
    /// A part of that push's `apns-id`, which its repeats have, too; 0 if it is not known.
    public var push: UInt32 = 0

    /// The slot, while a push is under way.
    public var underWay: UInt32? { slot == NewestStates.none ? nil : slot }
  }

  /// Open addressing with linear probing, at most half full.
  private var entries: [Entry] = []
  public private(set) var count = 0
  /// Entries that are new, or had a push, since entries were last forgotten.
  private var young = 0
  /// Places up to here are from before that.
  private var mark: Int64 = -1
  private var newest: Int64 = -1
  /// Identities whose newest place is not above this one may be unknown; −1 while all are known.
  public private(set) var forgotten: Int64 = -1
  /// The most identities without a push under way.
  public let capacity: Int

  /// - Parameter capacity: at least 2. Memory is taken as identities come, 24 bytes for each and as many free places.
  public init(capacity: Int) {
    precondition(capacity >= 2)
    self.capacity = capacity
  }

  public var isEmpty: Bool { count == 0 }

  /// What is known of an identity.
  public func find(_ identity: UInt64) -> Entry? {
    guard count > 0 else { return nil }
    let entry = entries[place(of: identity)]
    return entry.identity == 0 ? nil : entry
  }

  /// A push is the newest of its identity, and under way.
  ///
  /// - Parameter push: a part of its `apns-id`; 0 if that is of no use.
  public mutating func begin(
    _ identity: UInt64, at position: Int64, in slot: UInt32, of push: UInt32 = 0
  ) {
    entries[touch(identity, position, push)].slot = slot
  }

  /// The push is under way in another slot from now on.
  public mutating func move(_ identity: UInt64, to slot: UInt32) {
    guard count > 0 else { return }
    let place = place(of: identity)
    if entries[place].identity != 0 { entries[place].slot = slot }
  }

  /// A push is not under way any more.
  public mutating func end(_ identity: UInt64, in slot: UInt32) {
    guard count > 0 else { return }
    let place = place(of: identity)
    if entries[place].slot == slot { entries[place].slot = Self.none }
  }

  /// A push was at this place of the log.
  ///
  /// - Parameter push: a part of its `apns-id`; 0 if that is of no use.
  public mutating func note(_ identity: UInt64, at position: Int64, of push: UInt32 = 0) {
    if let known = find(identity), known.position >= position { return }
    _ = touch(identity, position, push)
  }

  /// Pushes up to this place may be unknown.
  public mutating func forget(through position: Int64) { forgotten = max(forgotten, position) }

  /// Takes in what another table knows.
  public mutating func merge(_ other: NewestStates) {
    for entry in other.entries where entry.identity != 0 {
      note(entry.identity, at: entry.position, of: entry.push)
    }
    forget(through: other.forgotten)
  }

  /// What is known, with nothing under way.
  public func idle() -> NewestStates {
    var states = self
    for place in states.entries.indices { states.entries[place].slot = Self.none }
    return states
  }

  // MARK: Places

  /// The entry of an identity, which is as new as this place from now on.
  private mutating func touch(_ identity: UInt64, _ position: Int64, _ push: UInt32) -> Int {
    if (count + 1) * 2 > entries.count { grow() }
    var place = place(of: identity)
    if entries[place].identity == 0 {
      if young >= capacity / 2 {
        forgetOld()
        place = self.place(of: identity)
      }
      entries[place] = Entry(identity: identity, position: position, push: push)
      count += 1
      young += 1
    } else if position > entries[place].position {
      if entries[place].position <= mark, position > mark { young += 1 }
      entries[place].position = position
      entries[place].push = push
    }
    newest = max(newest, position)
    return place
  }

  /// The entry of an identity, or the empty one where it would be.
  private func place(of identity: UInt64) -> Int {
    let mask = entries.count - 1
    var place = Int(truncatingIfNeeded: (identity &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
    while entries[place].identity != 0 && entries[place].identity != identity {
      place = (place + 1) & mask
    }
    return place
  }

  private mutating func grow() { rebuild(places: max(16, entries.count * 2)) { _ in true } }

  private mutating func forgetOld() {
    var last = forgotten
    rebuild(places: entries.count) { [mark] entry in
      if entry.slot != Self.none || entry.position > mark { return true }
      last = max(last, entry.position)
      return false
    }
    (forgotten, mark, young) = (last, newest, 0)
  }

  private mutating func rebuild(places: Int, keeping isKept: (Entry) -> Bool) {
    let before = entries
    entries = Array(repeating: Entry(), count: places)
    count = 0
    for entry in before where entry.identity != 0 && isKept(entry) {
      entries[place(of: entry.identity)] = entry
      count += 1
    }
  }
}
