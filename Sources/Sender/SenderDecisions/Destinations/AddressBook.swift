// SPDX-License-Identifier: Apache-2.0
import Waiting

/// In which order a gateway's addresses are tried for the next connection.
///
/// APNs stands behind many addresses and wants connections spread over them (Apple, "Sending notification
/// requests to APNs"). An address that just failed is put aside for a while, longer each time; it stands behind
/// those that have not failed also when that time is over, until it serves or its failures are long ago. One that has
/// served and failed once since then, as when a gateway leaves with streams open, stands before those that have only
/// failed: among many dead addresses it is the one that is known to work. The owner looks the name up for each
/// connection and hands the shuffled answer in; nothing is remembered of a look-up but who failed and who served.
///
/// Times are milliseconds of a monotonic clock.
public struct AddressBook<Address: Hashable & Sendable>: Sendable {
  private struct Trouble: Sendable {
    var backoff: Backoff
    var until: UInt64
    /// It had served before.
    var isProven = false
  }

  /// The worse, the later it is tried.
  private struct Rank: Comparable {
    enum Group: Int { case sound, proven, failed, aside }
    var group = Group.sound
    /// When its time aside ends; 0 if it is not aside.
    var until: UInt64 = 0
    var failures = 0

    static func < (one: Rank, other: Rank) -> Bool {
      (one.group.rawValue, one.until, one.failures)
        < (other.group.rawValue, other.until, other.failures)
    }
  }

  /// Addresses that failed and are remembered at most; the oldest trouble is forgotten first.
  public static var capacity: Int { 256 }
  /// Addresses of which it is remembered that they served.
  private static var servedCapacity: Int { 64 }

  /// The addresses of the last look-up, in its order.
  public private(set) var latest: [Address] = []
  private var troubles: [Address: Trouble] = [:]
  /// Those that have served, the newest last.
  private var served: [Address] = []
  private let shortest: UInt64
  private let longest: UInt64

  /// - Parameters: the shortest and the longest time that an address is put aside, in milliseconds. Failures are
  ///   forgotten when it has not been aside for the longest.
  public init(shortest: UInt64 = 10_000, longest: UInt64 = 600_000) {
    self.shortest = shortest
    self.longest = longest
  }

  /// Notes the answer of a look-up.
  public mutating func resolved(_ addresses: [Address]) { latest = addresses }

  /// A connect to the address failed, or a connection to it died or fell silent.
  public mutating func failed(_ address: Address, now: UInt64, random: UInt64) {
    var trouble =
      trouble(of: address, now: now)
      ?? Trouble(
        backoff: Backoff(base: shortest, cap: longest), until: 0,
        isProven: served.contains(address))
    if trouble.backoff.failures > 0 { trouble.isProven = false }
    trouble.until = now + trouble.backoff.failed(random: random)
    if troubles[address] == nil, troubles.count >= Self.capacity {
      let oldest = troubles.min { $0.value.until < $1.value.until }
      if let oldest { troubles[oldest.key] = nil }
    }
    troubles[address] = trouble
  }

  /// A push was accepted on a connection to the address.
  public mutating func succeeded(_ address: Address) {
    if !troubles.isEmpty { troubles[address] = nil }
    if served.last == address { return }
    served.removeAll { $0 == address }
    if served.count >= Self.servedCapacity { served.removeFirst() }
    served.append(address)
  }

  public func isAside(_ address: Address, now: UInt64) -> Bool {
    troubles[address].map { now < $0.until } ?? false
  }

  /// Addresses that are put aside now.
  public func aside(now: UInt64) -> Int {
    troubles.reduce(0) { $0 + (now < $1.value.until ? 1 : 0) }
  }

  /// True if the last look-up named an address that is not aside: the next connect need not wait.
  public func hasOther(now: UInt64) -> Bool { latest.contains { !isAside($0, now: now) } }

  /// True if the last look-up named an address that is not aside and would be tried before this one if none had
  /// connections.
  public func hasOther(than address: Address, now: UInt64) -> Bool {
    let rank = rank(address, now: now)
    return latest.contains {
      $0 != address && !isAside($0, now: now) && self.rank($0, now: now) <= rank
    }
  }

  /// The addresses of the last look-up that are not aside.
  public func usable(now: UInt64) -> [Address] { latest.filter { !isAside($0, now: now) } }

  /// The addresses of the last look-up in the order to try them: those that have not failed, those that have served and
  /// failed once since, the others that are not aside, those that are; among equals those with fewer failures, then
  /// those with fewer connections, then as they were named.
  ///
  /// - Parameter inUse: addresses of the connections that there are, one entry each.
  public func ranked(inUse: [Address], now: UInt64) -> [Address] {
    let ranked = latest.enumerated().map { place, address in
      (
        address: address, rank: rank(address, now: now),
        use: inUse.reduce(0) { $0 + ($1 == address ? 1 : 0) }, place: place
      )
    }
    return ranked.sorted { ($0.rank, $0.use, $0.place) < ($1.rank, $1.use, $1.place) }
      .map(\.address)
  }

  private func rank(_ address: Address, now: UInt64) -> Rank {
    guard let trouble = trouble(of: address, now: now) else { return Rank() }
    let isAside = now < trouble.until
    return Rank(
      group: trouble.isProven ? .proven : isAside ? .aside : .failed,
      until: isAside ? trouble.until : 0, failures: trouble.backoff.failures)
  }

  /// The failures recorded for an address; nothing if it is long ago.
  private func trouble(of address: Address, now: UInt64) -> Trouble? {
    guard let trouble = troubles[address], now < trouble.until + longest else { return nil }
    return trouble
  }
}
