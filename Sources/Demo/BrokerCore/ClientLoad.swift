// SPDX-License-Identifier: Apache-2.0

/// What clients make the broker hold: requests that have not come whole or wait for their answers, and answers that are
/// not read. Beyond a limit for all of them it names the connections to close.
public struct ClientLoad: Sendable {
  private struct Holding: Sendable {
    var bytes: Int
    /// When bytes were last received or sent, in ticks.
    var moved: Int64
  }

  /// Bytes of all connections; one request of the largest size has room.
  public let limit: Int
  public private(set) var bytes = 0
  private var holdings: [ConnectionID: Holding] = [:]

  public init(limit: Int) { self.limit = limit }

  /// A connection now makes the broker hold so many bytes; 0 when it is closed.
  public mutating func update(_ connection: ConnectionID, bytes held: Int, moved: Int64) {
    if held == 0 {
      bytes -= holdings.removeValue(forKey: connection)?.bytes ?? 0
      return
    }
    bytes += held - (holdings[connection]?.bytes ?? 0)
    holdings[connection] = Holding(bytes: held, moved: moved)
  }

  /// The connection to close; nil while all hold no more than the limit.
  ///
  /// It is the one with the most bytes, times the milliseconds for which none of them moved: a client that reads and
  /// writes is not closed because of one that does not.
  public func excess(at now: Int64) -> ConnectionID? {
    guard bytes > limit else { return nil }
    func weight(_ holding: Holding) -> Double {
      Double(holding.bytes) * Double(max(0, now - holding.moved) + 1)
    }
    return holdings.max { weight($0.value) < weight($1.value) }?.key
  }
}
