// SPDX-License-Identifier: Apache-2.0

/// One search for a further connection: the addresses of one look-up are tried, each at most once, until one of them
/// takes the connection.
///
/// An attempt that fails is followed by the next one at once. One that does not come nearer is joined by the next one
/// (RFC 8305 §5), so that an address that swallows packets costs a quarter of a second and not the time-out of a connect.
/// The first that allows requests wins, and ends the others. Only a search that finds nobody is a failure of the
/// destination: before that an attempt is evidence about its address alone.
///
/// Times are milliseconds of a monotonic clock.
public struct AddressRace: Sendable {
  /// The time without progress before the next attempt joins, in milliseconds: the "Connection Attempt Delay" of RFC
  /// 8305 §8.
  public static let patience: UInt64 = 250
  /// Attempts of one search.
  public static let mostAttempts = 32
  /// Attempts of a search while the destination is failing: it may be down, and that is no reason for a storm.
  public static let mostProbes = 2

  /// Which of its pool's searches it is; never 0.
  public let number: UInt32
  /// Addresses that were not tried yet, the next one last.
  private var left: [PeerAddress]
  /// Attempts under way.
  private var attempts = 0
  /// When the last attempt began, or one came nearer.
  private var lastStep: UInt64 = 0

  /// - Parameter addresses: in the order to try them.
  public init(number: UInt32, _ addresses: [PeerAddress]) {
    self.number = number
    left = addresses.reversed()
  }

  /// Nothing is under way, and nothing is left to try.
  public var isOver: Bool { attempts == 0 && left.isEmpty }

  /// True if the next attempt is to join those that are under way.
  public func wantsNext(now: UInt64) -> Bool {
    !left.isEmpty && now >= lastStep + Self.patience
  }

  /// The next attempt begins.
  ///
  /// - Returns: its address; nil when all were tried.
  public mutating func next(now: UInt64) -> PeerAddress? {
    guard let address = left.popLast() else { return nil }
    attempts += 1
    lastStep = now
    return address
  }

  /// An attempt came a step nearer: TCP, a proxy's tunnel, the peer's first bytes, TLS.
  public mutating func advanced(now: UInt64) { lastStep = now }

  /// An attempt has ended without a connection.
  ///
  /// - Parameter isLast: no further one is begun.
  public mutating func ended(isLast: Bool = false) {
    attempts -= 1
    if isLast { left = [] }
  }
}
