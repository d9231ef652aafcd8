// SPDX-License-Identifier: Apache-2.0

/// A request that waits for Kafka or for the database.
protocol WaitingExchange: AnyObject {
  /// Marks the tags of its records among those of others: one bit.
  static var mark: UInt { get }
  /// When it is given up (monotonic milliseconds).
  var deadline: UInt64 { get }
}

/// The requests of one kind that wait, by number.
struct OpenExchanges<Exchange: WaitingExchange> {
  private var open: [UInt64: Exchange] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { open.isEmpty }
  var count: Int { open.count }

  func count(where isMeant: (Exchange) -> Bool) -> Int { open.values.count(where: isMeant) }

  /// - Returns: its number.
  mutating func insert(_ exchange: Exchange) -> UInt64 {
    last += 1
    open[last] = exchange
    return last
  }

  /// Those that wait, with their numbers.
  var all: [(number: UInt64, exchange: Exchange)] { open.map { ($0.key, $0.value) } }

  subscript(number: UInt64) -> Exchange? { open[number] }

  mutating func take(_ number: UInt64) -> Exchange? { open.removeValue(forKey: number) }

  mutating func remove(_ exchange: Exchange) { open = open.filter { $0.value !== exchange } }

  /// Takes those whose time is up.
  mutating func drainLate(now: UInt64) -> [Exchange] {
    let late = open.values.filter { now >= $0.deadline }
    for exchange in late { remove(exchange) }
    return late
  }

  /// The tag of its record.
  static func tag(_ number: UInt64) -> UInt { Exchange.mark | UInt(number) }

  /// nil for the tag of another kind's record.
  static func number(ofTag tag: UInt) -> UInt64? {
    tag / Exchange.mark == 1 ? UInt64(tag & ~Exchange.mark) : nil
  }
}
