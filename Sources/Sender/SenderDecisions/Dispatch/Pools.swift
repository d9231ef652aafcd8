// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The pools of one loop, which of them something goes on in, and how many connections all of them have. With a thousand
/// credentials a turn concerns a few of them, and most of the connections are idle.
struct Pools: Sendable {
  private var all: [Pool] = []
  /// The pools with something going on, which each upkeep looks after until all of it is settled, and those that may have
  /// pushes to dispatch in this turn.
  private var active = PoolList()
  private var touched = PoolList()
  /// Connections, and look-ups of names for connections to come, of all pools.
  private var connections = 0
  private var lookUps = 0
  /// Pools that were retired and are not empty yet.
  private var retired: [Int32] = []
  /// The connections that all of them may have together.
  private var budget: ConnectionBudget
  /// When to look for idle pools next, in monotonic milliseconds.
  private var nextIdleLook: UInt64 = 0

  /// - Parameter limits: of all pools together.
  init(limits: ConnectionBudget.Limits) { budget = ConnectionBudget(limits: limits) }

  subscript(_ pool: Int32) -> Pool {
    _read { yield all[Int(pool)] }
    @inline(__always) _modify { yield &all[Int(pool)] }
  }

  var indices: Range<Int32> { 0..<Int32(all.count) }

  /// Pools that serve.
  var served: Int { all.count { !$0.isRetired } }

  var hasActive: Bool { !active.isEmpty }

  /// Connections that there are or that are on their way.
  private var taken: Int { connections + lookUps }

  /// - Returns: its number.
  mutating func add(
    _ credential: PoolCredential, _ kind: GatewayKind, _ settings: DispatchSettings
  ) -> Int32 {
    all.append(Pool(Int32(all.count), credential, kind, settings))
    return Int32(all.count - 1)
  }

  // MARK: Connections come and go

  /// Tells a pool what happens to its connections, and counts those that it has afterwards.
  mutating func tell<Result>(
    _ pool: Int32, _ work: inout Workload, _ event: (inout Pool, inout Workload) -> Result
  ) -> Result {
    count(pool, -1)
    defer {
      count(pool, 1)
      work.turn.set(.openConnections, connections)
    }
    return event(&all[Int(pool)], &work)
  }

  private mutating func count(_ pool: Int32, _ sign: Int) {
    connections += sign * all[Int(pool)].connectionSet.connections.count
    lookUps += sign * all[Int(pool)].connectionSet.connectAttempts.lookUps
  }

  // MARK: Where something goes on

  /// Something has changed for a pool: pushes came, answers did, a connection or a provider token.
  mutating func touch(_ pool: Int32) {
    touched.insert(pool)
    active.insert(pool)
  }

  // MARK: Pushes

  /// Dispatches the pools where something has changed; the others could not send more than they did before.
  mutating func dispatch(_ work: inout Workload) {
    while let pool = touched.popFirst() { all[Int(pool)].dispatch(&work) }
  }

  /// The number of further pushes of a class that would be sent now, in all pools.
  mutating func demand(for sendClass: SendClass, now: UInt64) -> Int {
    var demand = 0
    for pool in all.indices where !all[pool].isRemoved {
      demand += all[pool].demand(for: sendClass, now: now)
    }
    return demand
  }

  // MARK: Credentials

  /// Roots and certificates were replaced.
  ///
  /// - Parameter places: where each of the certificates that there were stands now in the `CertificateBook`.
  /// - Returns: false if that of the pool is gone.
  mutating func trustRenewed(_ pool: Int32, _ places: [Int?]) -> Bool {
    active.insert(pool)
    return all[Int(pool)].trustRenewed(places)
  }

  /// Takes a pool out of service.
  ///
  /// - Returns: the pushes that wait in it, to be routed again.
  mutating func retire(_ pool: Int32, _ work: inout Workload) -> [UInt32] {
    retired.append(pool)
    active.insert(pool)
    return all[Int(pool)].retire(&work)
  }

  /// Removes the pools that were retired and have nothing left.
  mutating func removeRetired(_ turn: inout Turn) {
    guard !retired.isEmpty else { return }
    let gone = retired.filter { all[Int($0)].isOver }
    retired.removeAll { gone.contains($0) }
    for pool in gone {
      all[Int(pool)].remove()
      turn.append(.removePool(pool))
    }
  }

  // MARK: Time goes by

  /// Looks after the pools where something goes on, and gives the room that there is to those in line.
  ///
  /// - Returns: pushes that wait.
  mutating func lookAfterActive(_ work: inout Workload) -> Int {
    let taken = active.drain()
    var waiting = 0
    for pool in taken where !all[Int(pool)].isRemoved {
      waiting += all[Int(pool)].waiting
      if all[Int(pool)].isCalm(now: work.turn.now) {
        active.insert(pool)
      } else {
        lookAfter(pool, &work)
      }
    }
    giveRoom(&work)
    return waiting
  }

  /// Looks after the others.
  mutating func lookAfterIdle(_ work: inout Workload) {
    for pool in indices where !all[Int(pool)].isRemoved && !active.contains(pool) {
      all[Int(pool)].forgetCrowd(now: work.turn.now)
      lookAfter(pool, &work)
    }
  }

  private mutating func lookAfter(_ pool: Int32, _ work: inout Workload) {
    let room = budget.room(taken: taken)
    if tell(pool, &work, { $0.lookAfter(room: room, &$1) }) { budget.wait(pool) }
    if !all[Int(pool)].isSettled { active.insert(pool) }
  }

  /// Gives the room that there is to those in line, and has others give way if that is not enough.
  private mutating func giveRoom(_ work: inout Workload) {
    while let pool = budget.next(taken: taken) {
      let room = budget.room(taken: taken, isNext: true)
      if tell(pool, &work, { $0.maintain(room: room, &$1) }) { budget.wait(pool) }
    }
    guard budget.isAwaited else { return }
    work.turn.count(.waitsForRoom)
    let leaving = all.reduce(0) {
      $0 + $1.connectionSet.connections.count - $1.connectionSet.connections.staying.count
    }
    for yield in budget.yields(holders, taken: taken, leaving: leaving, now: work.turn.now) {
      giveWay(yield, &work.turn)
    }
  }

  /// Closes pools that nothing has been sent through for so long, if there are many connections: a few every ten seconds.
  mutating func closeIdle(_ turn: inout Turn) {
    guard taken > budget.limits.plenty, turn.now >= nextIdleLook else { return }
    nextIdleLook = turn.now + 10_000
    for pool in budget.closesIdle(holders, taken: taken, now: turn.now) {
      turn.count(.closedIdle)
      giveWay(.all(pool), &turn)
    }
  }

  private mutating func giveWay(_ yield: ConnectionBudget.Yield, _ turn: inout Turn) {
    all[Int(yield.pool)].giveWay(yield, &turn)
    if case .all(let pool) = yield { active.insert(pool) }
  }

  /// The pools with connections that stay, as the budget sees them.
  private var holders: [ConnectionBudget.Holder] { all.compactMap(\.holder) }
}
