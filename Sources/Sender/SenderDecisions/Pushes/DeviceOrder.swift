// SPDX-License-Identifier: Apache-2.0

/// One push in flight per device: the option `--ordered`. Without it, one for each identity whose newest state wins.
///
/// A push enters with the hash of its device token. The first one of a device goes on; later ones wait here, in
/// their order, until the one before them leaves: it has its outcome, or moved to a retry topic. Other devices
/// are not touched. Two devices with the same hash take turns, which does no harm.
///
/// Memory is bounded by the slots, an entry for each push that entered and a link for each slot, and taken when the
/// first one enters.
public struct DeviceOrder: Sendable {
  private static let none = UInt32.max

  private struct Entry: Sendable {
    var hash: UInt64 = 0
    /// The push that goes, and the last one that waits behind it; `none`: the place is empty.
    var owner = none
    var last = none
    /// Pushes that wait.
    var waiting: UInt32 = 0
  }

  /// What becomes of a push that entered.
  public enum Admission: UInt8, Sendable {
    /// It is the only one of its device.
    case goes
    /// It waits for the one before it.
    case waits
    /// Too many of its device wait already: it did not enter.
    case refused
  }

  /// By slot: the next push of the same device, and the device.
  private var links: [UInt32] = []
  private var hashes: [UInt64] = []
  /// Open addressing with linear probing, at most half full.
  private var entries: [Entry] = []
  private let slots: Int
  private let mask: Int
  /// Pushes of one device that may wait.
  private let waitingAtMost: Int
  /// Pushes that wait, over all devices.
  public private(set) var waiting = 0
  /// Devices with a push under way.
  public private(set) var devices = 0
  /// Pushes whose turn has come.
  private var turns = SlotQueue()

  /// - Parameters:
  ///   - slots: slots `0 ..< slots` may enter.
  ///   - waitingAtMost: pushes of one device that may wait here, at least 1.
  public init(slots: Int, waitingAtMost: Int) {
    precondition(slots > 0 && waitingAtMost > 0)
    self.slots = slots
    self.waitingAtMost = waitingAtMost
    var places = 16
    while places < slots * 2 { places *= 2 }
    mask = places - 1
  }

  private mutating func reserve() {
    links = Array(repeating: Self.none, count: slots)
    hashes = Array(repeating: 0, count: slots)
    entries = Array(repeating: Entry(), count: mask + 1)
  }

  /// A push wants to go.
  public mutating func enter(_ slot: UInt32, device hash: UInt64) -> Admission {
    if entries.isEmpty { reserve() }
    let place = find(hash)
    guard entries[place].owner != Self.none else {
      entries[place] = Entry(hash: hash, owner: slot, last: slot, waiting: 0)
      remember(slot, hash)
      devices += 1
      return .goes
    }
    guard entries[place].waiting < waitingAtMost else { return .refused }
    links[Int(entries[place].last)] = slot
    entries[place].last = slot
    entries[place].waiting += 1
    remember(slot, hash)
    waiting += 1
    return .waits
  }

  /// True if no push of its device waits behind a push.
  public func isLast(_ slot: UInt32) -> Bool { links.isEmpty || links[Int(slot)] == Self.none }

  /// The push that went has ended.
  ///
  /// - Returns: the next push of its device, which `nextTurn` hands out; nil when none waits.
  public mutating func leave(_ slot: UInt32) -> UInt32? {
    let place = find(hashes[Int(slot)])
    precondition(entries[place].owner == slot, "a push left that was not its device's first")
    let next = links[Int(slot)]
    links[Int(slot)] = Self.none
    guard next != Self.none else {
      vacate(place)
      devices -= 1
      return nil
    }
    entries[place].owner = next
    entries[place].waiting -= 1
    waiting -= 1
    turns.append(next)
    return next
  }

  /// The next push whose turn has come.
  public mutating func nextTurn() -> UInt32? { turns.popFirst() }

  private mutating func remember(_ slot: UInt32, _ hash: UInt64) {
    links[Int(slot)] = Self.none
    hashes[Int(slot)] = hash
  }

  /// The device's place, or the empty one where it would go.
  private func find(_ hash: UInt64) -> Int {
    var place = home(hash)
    while entries[place].owner != Self.none && entries[place].hash != hash {
      place = (place + 1) & mask
    }
    return place
  }

  private func home(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
  }

  /// Empties a place and closes the gap that it would leave in a run.
  private mutating func vacate(_ place: Int) {
    var hole = place
    var next = (hole + 1) & mask
    while entries[next].owner != Self.none {
      let wanted = home(entries[next].hash)
      if (next - wanted) & mask >= (next - hole) & mask {
        entries[hole] = entries[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    entries[hole] = Entry()
  }
}
