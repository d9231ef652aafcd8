// SPDX-License-Identifier: Apache-2.0

/// Decides the number of a pool's connections, and when one is opened or closed.
///
/// APNs wants few connections that live long. The pool opens its minimum when there is something to send, one
/// more at a time when stream credit has been short for a while, and closes one at a time when fewer would
/// have carried the load for minutes. It opens one after the other, and after a failure the next one only when a push was
/// accepted on the last; `DestinationHealth` says when, and is the only caller.
///
/// Times are milliseconds of a monotonic clock.
public struct ConnectionPoolPolicy: Sendable {
  /// The pool's bounds.
  public struct Limits: Sendable, Equatable {
    /// Connections opened as soon as there is work.
    public var minimum: Int
    public var maximum: Int
    /// The time that credit has to be short before another connection is opened.
    public var starvation: UInt64
    /// The time that fewer connections have to be enough before one is closed.
    public var surplus: UInt64

    public init(
      minimum: Int = 2, maximum: Int = 8, starvation: UInt64 = 1_000, surplus: UInt64 = 300_000
    ) {
      precondition(minimum >= 1 && maximum >= minimum)
      self.minimum = minimum
      self.maximum = maximum
      self.starvation = starvation
      self.surplus = surplus
    }
  }

  /// The pool as it is now.
  public struct Load: Sendable, Equatable {
    /// Connections on their way.
    public var connecting: Int
    /// Connections that take or will take pushes: priming, ready, suspect.
    public var serving: Int
    /// Streams that may be opened now, over all connections.
    public var credit: Int
    public var openStreams: Int
    /// Streams that all serving connections could carry together.
    public var capacity: Int
    /// Records that want to be sent and find no credit (or no connection).
    public var isWaiting: Bool
    /// Of the serving ones those that are due for replacement: they serve until another one does.
    public var aged = 0
    /// Of the others those that have not accepted a push yet.
    public var unproven = 0
    /// Records that must not go out where they went out before, and find no other connection.
    public var wantsOtherConnection = false
    /// One more connection is within what all pools may have together (`ConnectionBudget`).
    public var hasRoom = true

    public init(
      connecting: Int, serving: Int, credit: Int, openStreams: Int, capacity: Int, isWaiting: Bool
    ) {
      self.connecting = connecting
      self.serving = serving
      self.credit = credit
      self.openStreams = openStreams
      self.capacity = capacity
      self.isWaiting = isWaiting
    }
  }

  /// The connects that the destination's health allows now.
  public enum Allowed: UInt8, Sendable, Equatable {
    case none
    /// One if there is no connection, or only such that records must avoid.
    case one
    /// The next one when the last has accepted a push: a connect failed before it.
    case oneAtATime
    /// As many as the pool wants.
    case all
  }

  public enum Action: Sendable, Equatable {
    case nothing
    /// Start one connect.
    case open
    /// The same, as soon as there is room for it.
    case awaitRoom
    /// Retire the connection with the fewest open streams.
    case closeOne
  }

  public let limits: Limits
  /// Since when nothing could be sent, and since when no connect was under way meanwhile that may change it.
  private var starvedSince: UInt64?
  private var shortSince: UInt64?
  /// No further connection for records that avoid the present ones before this time.
  private var elsewhereAt: UInt64 = 0
  private var surplusSince: UInt64?
  /// A pool that was never asked for anything opens nothing.
  private var hadWork = false

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Decides about one connection. The owner asks once per loop turn or timer, and again after `.open`.
  public mutating func decide(
    _ load: Load, _ allowed: Allowed, now: UInt64
  ) -> Action {
    hadWork = hadWork || load.isWaiting || load.aged > 0
    let total = load.connecting + load.serving - load.aged
    note(load, now: now)
    if shouldClose(load, now: now) { return .closeOne }
    guard hadWork, total < limits.maximum else { return .nothing }
    switch allowed {
    case .none: return .nothing
    case .one: if total > (load.wantsOtherConnection ? 1 : 0) { return .nothing }
    case .oneAtATime: if load.connecting + load.unproven > 0 { return .nothing }
    case .all: break
    }
    // A connect that takes long may have met a dead address: the next of the minimum does not wait for it.
    if load.connecting > (isLong(starvedSince, now) ? 1 : 0) { return .nothing }
    let isShort = isLong(shortSince, now)
    let mustAvoid = load.wantsOtherConnection && load.connecting == 0 && now >= elsewhereAt
    guard total < limits.minimum || isShort || mustAvoid else { return .nothing }
    guard load.hasRoom else { return .awaitRoom }
    if total >= limits.minimum {
      if isShort { shortSince = nil } else { elsewhereAt = now + limits.starvation }
    }
    return .open
  }

  /// The pool's connections were closed because it had no use for them: it opens the next one when it has.
  public mutating func closedIdle() { hadWork = false }

  private mutating func note(_ load: Load, now: UInt64) {
    let isStarved = load.isWaiting && load.credit == 0
    starvedSince = isStarved ? starvedSince ?? now : nil
    // What a connect under way will bring is awaited: those that there are do not suffer for its time.
    shortSince = isStarved && load.connecting == 0 ? shortSince ?? now : nil
    let fewer = load.serving - 1
    // What all but one connection carry, with a third to spare.
    let isSurplus =
      load.connecting == 0 && fewer >= limits.minimum && !isStarved
      && load.openStreams * 3 < load.capacity / load.serving * fewer * 2
    surplusSince = isSurplus ? surplusSince ?? now : nil
  }

  private func isLong(_ since: UInt64?, _ now: UInt64) -> Bool {
    since.map { now - $0 >= limits.starvation } ?? false
  }

  private mutating func shouldClose(_ load: Load, now: UInt64) -> Bool {
    if load.serving - load.aged > limits.maximum { return true }
    guard let since = surplusSince, now - since >= limits.surplus else { return false }
    surplusSince = now
    return true
  }
}
