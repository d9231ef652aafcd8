// SPDX-License-Identifier: Apache-2.0
import Waiting

/// Notices that (nearly) everything sent to a destination fails, and stops sending until it works again.
///
/// ```
/// closed ─▶ open ─▶ probing ─▶ ramping ─▶ closed
///   ▲         ▲────────┘          │
///   └(success)└───────────────────┘ (failures in a row)
/// ```
///
/// Open: nothing is sent, so records stay in Kafka. Probing: a few pushes find out. Ramping: every success
/// allows one more open push, so what may be open doubles with every round trip until the connections'
/// capacity is reached. While the watch is not closed a push that fails is kept: the outage costs it no
/// attempt, sends it to no retry topic, and makes no dead letter of it.
///
/// A failure is an answer 5xx or one that is not of APNs, and, once for each connection and moment, requests without an answer, streams
/// refused unprocessed, and a connection lost or not made. An answer about a push (200, 4xx) is a success.
/// Times are monotonic milliseconds.
public struct OutageWatch: Sendable {
  /// The state of the destination.
  public enum State: Sendable, Equatable {
    case closed
    /// Nothing is sent before this time.
    case open(until: UInt64)
    /// A few are sent; the first answers decide.
    case probing
    /// As many as this may be open.
    case ramping(limit: Int)
  }

  /// Failures without a success in between that open the watch, if they span
  public static let row = 16
  /// so many milliseconds: long enough for a healthy connection to say so.
  public static let rowSpan: UInt64 = 20
  /// Fewer failures do when they span
  public static let longRow = 8
  /// this many milliseconds without any success: a destination with little to send.
  public static let longRowSpan: UInt64 = 5_000
  /// From so many failures in a row on pushes are kept: it may be the beginning of an outage.
  public static let suspicion = 4
  /// Pushes that may be open while probing, and where ramping begins.
  public static let probes = 4
  /// Ramping goes on to here even if the connections show less capacity, and
  public static let rampAtLeast = 64
  /// ends here even if they could carry more.
  public static let rampEnd = 2_048
  /// A push that was kept so often fails by itself if the destination works for others.
  public static let mostSpared: UInt16 = 8

  public private(set) var state = State.closed
  var failuresInRow = 0
  private var rowBegan: UInt64 = 0
  private var backoff: Backoff
  /// The destination could not be reached at all when the watch opened.
  private var isUnreachable = false
  /// The number of times that the watch opened from closed.
  public private(set) var outages: UInt64 = 0
  /// Closed and no failure since the last success: nothing to ask or note.
  public internal(set) var isUndisturbed = true
  /// When the push was sent that was sent last of those with an answer about them.
  public internal(set) var workedAt: UInt64 = 0

  /// - Parameters: the shortest and the longest pause between two probes, in milliseconds.
  public init(shortest: UInt64 = 1_000, longest: UInt64 = 30_000) {
    backoff = Backoff(base: shortest, cap: longest)
  }

  /// True while a push that fails is kept without counting the attempt.
  public var isHolding: Bool { state != .closed || failuresInRow >= Self.suspicion }

  /// True while nothing shows that the destination works: nothing or only probes may be sent, or the last that was heard
  /// is a failure. While it ramps up it works, however long that takes with little to send.
  public var isFailing: Bool {
    switch state {
    case .open, .probing: true
    case .ramping, .closed: failuresInRow > 0
    }
  }

  /// True if a push that just failed is kept, and its attempt not counted.
  ///
  /// - Parameter failingSince: when it first failed.
  public func keeps(_ life: PushLife, failingSince: UInt64) -> Bool {
    // Without a bound one undeliverable push would end each recovery of a quiet destination.
    isHolding && (life.spared < Self.mostSpared || !works(since: failingSince))
  }

  /// True if the destination has answered a push that was sent after this time. Answers to what was sent before, which
  /// may come long after, say nothing about an outage that began then.
  public func works(since time: UInt64) -> Bool { workedAt > time }

  /// Pushes that may be open now.
  ///
  /// - Parameter capacity: streams that the connections may have open; reaching it ends ramping.
  public mutating func allowance(capacity: Int, now: UInt64) -> Int {
    switch state {
    case .closed:
      guard failuresInRow >= Self.row else { return .max }
      // The verdict is near: either a success comes from another connection, or the watch opens.
      if now - rowBegan >= Self.rowSpan {
        open(now: now, random: rowBegan &* 0x9E37_79B9_7F4A_7C15)
      }
      return 0
    case .open(let until):
      guard now >= until else { return 0 }
      state = .probing
      failuresInRow = 0
      return Self.probes
    case .probing: return Self.probes
    case .ramping(let limit):
      // A connection that is still priming shows a capacity of 1: that is not the end.
      guard limit >= max(capacity, Self.rampAtLeast) else { return limit }
      close()
      return .max
    }
  }

  /// The destination answered a push with something other than its own failure.
  ///
  /// - Parameter sentAt: when the push was sent.
  public mutating func succeeded(sentAt: UInt64) {
    if sentAt > workedAt { workedAt = sentAt }
    if !isUndisturbed { recovered() }
  }

  mutating func recovered() {
    failuresInRow = 0
    switch state {
    case .closed: isUndisturbed = true
    case .open, .probing: state = .ramping(limit: Self.probes + 1)
    case .ramping(let limit) where limit >= Self.rampEnd: close()
    case .ramping(let limit): state = .ramping(limit: limit + 1)
    }
  }

  /// The destination failed.
  ///
  /// - Parameters:
  ///   - weight: how many failures this is worth; a connection that is silent is worth several.
  ///   - random: any 64 random bits.
  public mutating func failed(weight: Int = 1, now: UInt64, random: UInt64) {
    isUndisturbed = false
    if failuresInRow == 0 { rowBegan = now }
    failuresInRow = min(failuresInRow + weight, 1_000_000)
    let span = now - rowBegan
    switch state {
    case .closed:
      let isOutage =
        (failuresInRow >= Self.row && span >= Self.rowSpan)
        || (failuresInRow >= Self.longRow && span >= Self.longRowSpan)
      if isOutage { open(now: now, random: random) }
    case .open: break
    case .probing: open(now: now, random: random)
    case .ramping:
      if failuresInRow >= Self.probes { open(now: now, random: random) }
    }
  }

  /// No connection serves, and one more could not be made (or was lost before it served).
  public mutating func unreachable(now: UInt64, random: UInt64) {
    failed(weight: Self.row / 2, now: now, random: random)
    if state != .closed { isUnreachable = true }
  }

  /// A connection was made. If none could be for a while that was the outage, and it may be over.
  public mutating func reachable() {
    guard isUnreachable else { return }
    isUnreachable = false
    if case .open = state {
      state = .probing
      failuresInRow = 0
    }
  }

  /// The longest pause that a destination may ask for, in milliseconds: a number that somebody got wrong must not
  /// stop it until its notifications have expired.
  public static let longestPause: UInt64 = 900_000

  /// The destination asked for a pause (`retry-after` with a 5xx), in milliseconds.
  public mutating func pause(for milliseconds: UInt64, now: UInt64) {
    guard case .open(let before) = state else { return }
    state = .open(until: max(before, now + min(milliseconds, Self.longestPause)))
  }

  private mutating func open(now: UInt64, random: UInt64) {
    if state == .closed { outages += 1 }
    state = .open(until: now + backoff.failed(random: random))
    failuresInRow = 0
  }

  private mutating func close() {
    state = .closed
    failuresInRow = 0
    isUndisturbed = true
    isUnreachable = false
    backoff.succeeded()
  }
}
