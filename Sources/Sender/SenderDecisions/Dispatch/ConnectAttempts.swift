// SPDX-License-Identifier: Apache-2.0

/// The searches of one pool for connections to come: names that are being looked up, and addresses that are being tried.
struct ConnectAttempts: Sendable {
  /// Look-ups under way.
  private(set) var lookUps = 0
  /// Searches that have their addresses.
  private(set) var races: [AddressRace] = []
  private var last: UInt32 = 0

  var count: Int { lookUps + races.count }

  mutating func beganLookUp() { lookUps += 1 }
  mutating func endedLookUp() { lookUps -= 1 }

  /// A search begins.
  ///
  /// - Returns: its number.
  mutating func begin(_ addresses: [PeerAddress]) -> UInt32 {
    last = last == .max ? 1 : last + 1
    races.append(AddressRace(number: last, addresses))
    return last
  }

  /// The next address of a search; nil when all were tried.
  mutating func nextAddress(of race: UInt32, now: UInt64) -> PeerAddress? {
    place(of: race).flatMap { races[$0].next(now: now) }
  }

  /// An attempt of a search came nearer.
  mutating func advanced(_ race: UInt32, now: UInt64) {
    if let place = place(of: race) { races[place].advanced(now: now) }
  }

  /// An attempt of a search has ended without a connection.
  mutating func endAttempt(of race: UInt32, isLast: Bool) {
    if let place = place(of: race) { races[place].ended(isLast: isLast) }
  }

  /// Removes a search that is over.
  ///
  /// - Returns: whether it was there.
  mutating func removeIfOver(_ race: UInt32) -> Bool {
    guard let place = place(of: race), races[place].isOver else { return false }
    races.remove(at: place)
    return true
  }

  /// A search has found a connection.
  mutating func remove(_ race: UInt32) { races.removeAll { $0.number == race } }

  private func place(of race: UInt32) -> Int? { races.firstIndex { $0.number == race } }
}
