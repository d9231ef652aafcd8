// SPDX-License-Identifier: Apache-2.0

/// Which of a gateway's addresses the next connection goes to.
///
/// APNs stands behind many addresses and wants connections spread over them (Apple, "Sending notification
/// requests to APNs"). An address that just failed is put aside for a while, longer each time, and taken
/// again only when all are aside. The owner looks the name up before each connect and hands the shuffled
/// answer in; nothing is remembered of a look-up but who failed.
///
/// Times are milliseconds of a monotonic clock.
public struct AddressBook<Address: Hashable & Sendable>: Sendable {
  private struct Trouble: Sendable {
    var backoff: Backoff
    var until: UInt64
  }

  /// Addresses that failed and are remembered at most; the oldest trouble is forgotten first.
  public static var capacity: Int { 256 }

  /// What the last look-up said, in its order.
  public private(set) var latest: [Address] = []
  private var troubles: [Address: Trouble] = [:]
  private let shortest: UInt64
  private let longest: UInt64

  /// - Parameters: the shortest and the longest time that an address is put aside, in milliseconds.
  public init(shortest: UInt64 = 10_000, longest: UInt64 = 600_000) {
    self.shortest = shortest
    self.longest = longest
  }

  /// Notes the answer of a look-up.
  public mutating func resolved(_ addresses: [Address]) { latest = addresses }

  /// A connect to the address failed, or a connection to it died or fell silent.
  public mutating func failed(_ address: Address, now: UInt64, random: UInt64) {
    var trouble =
      troubles[address] ?? Trouble(backoff: Backoff(base: shortest, cap: longest), until: 0)
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
  }

  public func isAside(_ address: Address, now: UInt64) -> Bool {
    troubles[address].map { now < $0.until } ?? false
  }

  /// Addresses that are put aside now.
  public func aside(now: UInt64) -> Int {
    troubles.reduce(0) { $0 + (now < $1.value.until ? 1 : 0) }
  }

  /// Whether the last look-up named an address that is not aside: the next connect need not wait.
  public func hasOther(now: UInt64) -> Bool { latest.contains { !isAside($0, now: now) } }

  /// Whether it named one besides this address that is not aside.
  public func hasOther(than address: Address, now: UInt64) -> Bool {
    latest.contains { $0 != address && !isAside($0, now: now) }
  }

  /// What the last look-up named and is not aside.
  public func usable(now: UInt64) -> [Address] { latest.filter { !isAside($0, now: now) } }

  /// The address for the next connection: one that is not aside before one that is, then the one with the
  /// fewest connections, then the first of the look-up.
  ///
  /// - Parameter inUse: addresses of the connections that there are, one entry each.
  public func choose(inUse: [Address], now: UInt64) -> Address? {
    func cost(_ address: Address) -> (UInt64, Int) {
      let until = troubles[address].map { now < $0.until ? $0.until : 0 } ?? 0
      return (until, inUse.reduce(0) { $0 + ($1 == address ? 1 : 0) })
    }
    return latest.min { cost($0) < cost($1) }
  }
}
