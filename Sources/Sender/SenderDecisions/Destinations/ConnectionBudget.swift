// SPDX-License-Identifier: Apache-2.0

/// Limits the connections that the pools of one loop have together, and chooses the pool that gives one up.
///
/// APNs wants connections that live long and counts frequent connects as an attack. So nothing is closed while there are
/// few; above that, a pool that nothing was sent through for minutes closes. At the maximum, pools that have pushes and
/// no connection wait in a line: the longest idle pool gives way first, then one that has several connections, then the
/// one that has had its connection longest, though each keeps it for a while. So no pool waits for ever, and no
/// connection is made for a moment only.
///
/// Times are milliseconds of a monotonic clock.
public struct ConnectionBudget: Sendable {
  public struct Limits: Sendable, Equatable {
    /// Connections of all pools, those on their way included.
    public var most: Int
    /// With no more than these, an idle pool keeps its connections for as long as it likes.
    public var plenty: Int
    /// The time that a pool is idle before it closes when there are more.
    public var idle: UInt64
    /// The time that a pool is idle before it gives way at the maximum.
    public var rest: UInt64
    /// The time that a pool keeps its connection at the maximum though it is busy.
    public var turn: UInt64

    public init(
      most: Int = 4_096, plenty: Int = 64, idle: UInt64 = 600_000, rest: UInt64 = 1_000,
      turn: UInt64 = 10_000
    ) {
      precondition(most >= 1)
      self.most = most
      self.plenty = plenty
      self.idle = idle
      self.rest = rest
      self.turn = turn
    }
  }

  /// A pool that has connections.
  public struct Holder: Sendable, Equatable {
    public var pool: Int32
    /// Connections that are not about to close already.
    public var connections: Int
    /// Since when it has had one.
    public var since: UInt64
    /// Since when nothing waits in it and nothing is in flight; nil while something is.
    public var idleSince: UInt64?

    public init(pool: Int32, connections: Int, since: UInt64, idleSince: UInt64?) {
      self.pool = pool
      self.connections = connections
      self.since = since
      self.idleSince = idleSince
    }
  }

  /// The measure that makes room.
  public enum Yield: Sendable, Equatable {
    /// The pool closes all of its connections, as their open streams end.
    case all(Int32)
    /// One of them.
    case one(Int32)

    public var pool: Int32 {
      switch self {
      case .all(let pool), .one(let pool): pool
      }
    }
  }

  /// Idle pools that close at once at most: many at a time would come back at a time.
  public static let closedAtOnce = 16

  public let limits: Limits
  /// Pools without a connection that wait for room, the first first.
  private var line: [Int32] = []
  private var inLine: Set<Int32> = []

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// True if pools wait for room.
  public var isAwaited: Bool { !line.isEmpty }

  /// Connections that a pool may open now.
  ///
  /// - Parameters:
  ///   - taken: connections that there are or that are on their way.
  ///   - isNext: it was in line, and its turn has come.
  public func room(taken: Int, isNext: Bool = false) -> Int {
    isNext || line.isEmpty ? limits.most - taken : 0
  }

  /// A pool has pushes and no connection, and there is no room.
  public mutating func wait(_ pool: Int32) {
    if inLine.insert(pool).inserted { line.append(pool) }
  }

  /// The pool whose turn it is to open a connection; it leaves the line.
  public mutating func next(taken: Int) -> Int32? {
    guard taken < limits.most, !line.isEmpty else { return nil }
    let pool = line.removeFirst()
    inLine.remove(pool)
    return pool
  }

  /// The pools that give way for those in line, as far as the connections that close already are not enough.
  ///
  /// - Parameters:
  ///   - leaving: of the connections taken, those that close as soon as their streams end.
  ///   - holders: all pools with connections that are not leaving.
  public func yields(
    _ holders: [Holder], taken: Int, leaving: Int, now: UInt64
  ) -> [Yield] {
    var missing = line.count - (limits.most - taken) - leaving
    guard missing > 0 else { return [] }
    var yields: [Yield] = []
    func add(_ yield: Yield, _ connections: Int) {
      guard missing > 0 else { return }
      yields.append(yield)
      missing -= connections
    }
    let idle = Self.idle(holders, for: limits.rest, now: now)
    for holder in idle { add(.all(holder.pool), holder.connections) }
    guard missing > 0 else { return yields }
    let isIdle = Set(idle.map(\.pool))
    let busy = holders.filter { !isIdle.contains($0.pool) }
    for holder in busy where holder.connections > 1 { add(.one(holder.pool), 1) }
    let done = busy.filter { $0.connections == 1 && now - $0.since >= limits.turn }
    for holder in done.sorted(by: { $0.since < $1.since }) { add(.all(holder.pool), 1) }
    return yields
  }

  /// The pools that have been idle for so long that they close, though there is room.
  public func closesIdle(_ holders: [Holder], taken: Int, now: UInt64) -> [Int32] {
    var surplus = taken - limits.plenty
    guard surplus > 0 else { return [] }
    var closed: [Int32] = []
    for holder in Self.idle(holders, for: limits.idle, now: now).prefix(Self.closedAtOnce) {
      guard surplus > 0 else { break }
      closed.append(holder.pool)
      surplus -= holder.connections
    }
    return closed
  }

  /// Those that have been idle for some time, the longest first.
  private static func idle(_ holders: [Holder], for time: UInt64, now: UInt64) -> [Holder] {
    func since(_ holder: Holder) -> UInt64 { holder.idleSince ?? .max }
    return holders.filter { since($0) <= now && now - since($0) >= time }
      .sorted { since($0) < since($1) }
  }
}
