// SPDX-License-Identifier: Apache-2.0

/// How long a loop waits before its next turn, so that one turn finds what would else wake it several times.
///
/// A turn costs a wake-up, and work of its own, whatever there is to do. At rest each event has a turn at once: that is
/// the shortest latency. Under full load every turn finds much. In between, a loop that was woken by each answer to a
/// fetch, each read of answers and each acknowledgement would spend most of its time on turns; there it begins one
/// each `interval` only.
public struct TurnPace: Sendable {
  /// The shortest time from one turn to the next, in microseconds: what the pace may add to a latency, twice.
  static let interval: UInt64 = 1_000
  /// A turn with so many events is worth its cost.
  static let worthwhile = 64
  /// Events a second from which on there is a pace.
  static let busy: UInt64 = 400
  /// Microseconds over which the rate is taken.
  private static let window: UInt64 = 50_000

  /// Events come so fast that waiting for others is worth it.
  public private(set) var isBusy = false
  private var since: UInt64 = 0
  private var counted: UInt64 = 0
  private var events = 0
  /// When the turn began.
  private var begun: UInt64 = 0

  public init() {}

  /// A turn begins. `now` is in monotonic microseconds.
  public mutating func beginTurn(now: UInt64) {
    begun = now
    events = 0
    guard now >= since + Self.window else { return }
    isBusy = counted * 1_000_000 > (now - since) * Self.busy
    (since, counted) = (now, 0)
  }

  /// The turn took so many records, or heard of so many answers.
  public mutating func note(_ count: Int) { events += count }

  /// The turn ends.
  ///
  /// - Parameter isExpecting: answers are to come, and no record waits for the room that they make.
  /// - Returns: how long not to look for events, in microseconds; 0: not at all.
  public mutating func endTurn(now: @autoclosure () -> UInt64, isExpecting: Bool) -> UInt64 {
    counted += UInt64(events)
    guard isBusy, isExpecting, events < Self.worthwhile else { return 0 }
    let (now, next) = (now(), begun + Self.interval)
    return now < next ? next - now : 0
  }
}
