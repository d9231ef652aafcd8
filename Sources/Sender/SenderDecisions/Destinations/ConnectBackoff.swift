// SPDX-License-Identifier: Apache-2.0
import Waiting

/// When the next connection to a destination may be opened.
///
/// A failed connect is a search through the gateway's addresses that found none to take a connection (`AddressRace`), or a
/// connection that ended without an accepted push, whatever ended it: GOAWAY, an answer that makes a connection useless,
/// silence; but not one that nothing was sent on for a while. What happens at one address while others are left is not:
/// that counts against the address (`AddressBook`).
/// Failed connects in a row wait 2.5 s, doubling to a minute, with jitter; the first two connections that were turned away
/// do not wait if the gateway has another address. With one search at a time after a failure (`ConnectionPoolPolicy`)
/// that makes at most five in 30 s.
///
/// Times are milliseconds of a monotonic clock.
public struct ConnectBackoff: Sendable {
  /// The first and the longest wait.
  public static let shortest: UInt64 = 2_500
  public static let longest: UInt64 = 60_000
  /// A connection that accepted pushes and ended sooner than that is replaced after the first wait,
  public static let shortLife: UInt64 = 5_000
  /// but at once if it accepted so many and was ended in good order: a gateway may end connections after a number of
  /// requests, and what it served counts, not the time that took.
  public static let work: UInt64 = 10
  /// Failures in a row that may go on at another address at once.
  public static let promptTries = 2

  private var backoff = Backoff(base: shortest, cap: longest)
  private var notBefore: UInt64 = 0

  public init() {}

  /// The last connects failed, and not because of one address among several.
  public private(set) var isFailing = false

  /// True if a connection may be opened.
  public func mayConnect(now: UInt64) -> Bool { now >= notBefore }

  /// A connection ended that had not accepted a push, or no address took one.
  ///
  /// - Parameters:
  ///   - hasOtherAddress: its address was put aside, and the gateway has one that is not.
  ///   - random: any 64 random bits.
  public mutating func failed(hasOtherAddress: Bool = false, now: UInt64, random: UInt64) {
    let wait = backoff.failed(random: random)
    if hasOtherAddress, backoff.failures <= Self.promptTries { return }
    isFailing = true
    notBefore = max(notBefore, now + wait)
  }

  /// A connection ended that had accepted pushes.
  ///
  /// - Parameters:
  ///   - lived: how long it was there, in milliseconds.
  ///   - hasServed: it had done its work, and was ended in good order.
  public mutating func ended(
    lived: UInt64, hasServed: Bool = false, hasOtherAddress: Bool, now: UInt64, random: UInt64
  ) {
    guard lived < Self.shortLife, !hasServed, !hasOtherAddress else { return }
    notBefore = max(notBefore, now + Self.shortest / 2 + random % (Self.shortest / 2 + 1))
  }

  /// A connection accepted its first push.
  public mutating func succeeded() {
    backoff.succeeded()
    isFailing = false
  }

  /// Clears the backoff, because the cause of the failed connects has changed: the next one need not wait.
  public mutating func reset() {
    succeeded()
    notBefore = 0
  }
}
