// SPDX-License-Identifier: Apache-2.0

/// The log position of the newest push of each identity (device, app and key) in a lane's partition: an older push that
/// arrives later, from a retry topic, is superseded by it.
///
/// Bounded: once half of the capacity's number of identities had a push, those without one since are forgotten, unless
/// a push of theirs is in flight. The newest forgotten position is kept, so that it is known for which older pushes the
/// table cannot tell.
public struct NewestStates: Sendable {
  /// The slot of an identity without a push in flight.
  public static let none = UInt32.max

  public struct Entry: Sendable, Equatable {
    /// The hash of the identity; 0 for an empty entry.
    var identity: UInt64 = 0
    /// The log position of its newest push.
    public var position: Int64 = -1
    /// The slot of that push while it is in flight here.
    public var slot = NewestStates.none
    /// A part of that push's `apns-id`, which its duplicates share; 0 if unknown.
    public var push: UInt32 = 0
  }

  /// Open addressing with linear probing, at most half full.
  private var entries: [Entry] = []
  public private(set) var count = 0
  /// The number of entries that were added or updated since entries were last forgotten.
  private var young = 0
  /// Positions up to this one are from before that.
  private var mark: Int64 = -1
  private var newest: Int64 = -1
  /// Identities whose newest position is not above this one may be unknown; −1 while all are known.
  public private(set) var forgotten: Int64 = -1
  /// The maximum number of identities without a push in flight.
  public let capacity: Int

  /// - Parameter capacity: at least 2. Memory grows with the identities, 24 bytes for each and as much again for free
  ///   entries.
  public init(capacity: Int) {
    precondition(capacity >= 2)
    self.capacity = capacity
  }

  /// The position of a push among those of its identity: where its first record was if it came back from a retry topic,
  /// else (−1) where its record is. A first record behind the one that came back was in a log before this one: the push
  /// is the oldest.
  public static func position(ofFirst position: Int64, at offset: Int64) -> Int64 {
    if position < 0 { return offset }
    return position <= offset ? position : 0
  }

  public var isEmpty: Bool { count == 0 }

  public func find(_ identity: UInt64) -> Entry? {
    guard count > 0 else { return nil }
    let entry = entries[place(of: identity)]
    return entry.identity == 0 ? nil : entry
  }

  /// Notes that a push is in flight and the newest of its identity.
  ///
  /// - Parameter push: a part of its `apns-id`; 0 if not needed.
  public mutating func begin(
    _ identity: UInt64, at position: Int64, in slot: UInt32, of push: UInt32 = 0
  ) {
    entries[touch(identity, position, push)].slot = slot
  }

  public mutating func move(_ identity: UInt64, to slot: UInt32) {
    guard count > 0 else { return }
    let place = place(of: identity)
    if entries[place].identity != 0 { entries[place].slot = slot }
  }

  public mutating func end(_ identity: UInt64, in slot: UInt32) {
    guard count > 0 else { return }
    let place = place(of: identity)
    if entries[place].slot == slot { entries[place].slot = Self.none }
  }

  public mutating func note(_ identity: UInt64, at position: Int64, of push: UInt32 = 0) {
    if let known = find(identity), known.position >= position { return }
    _ = touch(identity, position, push)
  }

  /// Marks pushes up to this position as possibly unknown.
  public mutating func forget(through position: Int64) { forgotten = max(forgotten, position) }

  public mutating func merge(_ other: NewestStates) {
    for entry in other.entries where entry.identity != 0 {
      note(entry.identity, at: entry.position, of: entry.push)
    }
    forget(through: other.forgotten)
  }

  /// A copy without any push in flight.
  public func idle() -> NewestStates {
    var states = self
    for place in states.entries.indices { states.entries[place].slot = Self.none }
    return states
  }

  /// Returns the entry of an identity, updated to this position.
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

  /// The index of an identity's entry, or of the empty one where it would be inserted.
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
