// SPDX-License-Identifier: Apache-2.0

/// The bytes that clients make the broker hold: requests that are incomplete or waiting for their responses, and unread
/// responses. Above a total limit it selects connections to close.
public struct ClientLoad: Sendable {
  private struct Holding: Sendable {
    var bytes: Int
    /// When bytes were last received or sent, in ticks.
    var moved: Int64
  }

  /// The limit for all connections, in bytes; a request of the maximum size fits.
  public let limit: Int
  public private(set) var bytes = 0
  private var holdings: [ConnectionID: Holding] = [:]

  public init(limit: Int) { self.limit = limit }

  /// Updates the number of bytes that a connection makes the broker hold; 0 when it is closed.
  public mutating func update(_ connection: ConnectionID, bytes held: Int, moved: Int64) {
    if held == 0 {
      bytes -= holdings.removeValue(forKey: connection)?.bytes ?? 0
      return
    }
    bytes += held - (holdings[connection]?.bytes ?? 0)
    holdings[connection] = Holding(bytes: held, moved: moved)
  }

  /// Returns the connection to close; nil while the total does not exceed the limit.
  ///
  /// It is the one with the most bytes times milliseconds without progress: a client that reads and writes is not
  /// closed because of one that does not.
  public func excess(at now: Int64) -> ConnectionID? {
    guard bytes > limit else { return nil }
    func weight(_ holding: Holding) -> Double {
      Double(holding.bytes) * Double(max(0, now - holding.moved) + 1)
    }
    return holdings.max { weight($0.value) < weight($1.value) }?.key
  }
}
