// SPDX-License-Identifier: Apache-2.0

internal import Delivery

/// The pools of one loop with their connections, and which of them something goes on in. With a thousand credentials a
/// turn concerns a few of them, and most of the connections are idle.
public struct Pools: Sendable {
  private var all: [Pool] = []
  public internal(set) var connections = Connections()
  /// The pools with something going on, and those that may have pushes to dispatch in this turn.
  private var active: [Int32] = []
  private var touched: [Int32] = []
  private var touchedHead = 0
  /// Look-ups of names for connections to come, of all pools.
  private var lookups = 0
  /// Pools that were retired and are not empty yet.
  private var retired: [Int32] = []
  /// What all of them may have together.
  private var budget: ConnectionBudget
  /// When to look for idle pools next, in monotonic milliseconds.
  private var nextIdleLook: UInt64 = 0

  /// - Parameter limits: of all pools together.
  init(limits: ConnectionBudget.Limits) { budget = ConnectionBudget(limits: limits) }

  public internal(set) subscript(_ pool: Int32) -> Pool {
    @inline(__always) get { all[Int(pool)] }
    @inline(__always) _modify { yield &all[Int(pool)] }
  }

  public var indices: Range<Int32> { 0..<Int32(all.count) }

  /// Pools that serve.
  var served: Int { all.count { !$0.isRetired } }

  mutating func add(_ pool: Pool) -> Int32 {
    all.append(pool)
    return Int32(all.count - 1)
  }

  // MARK: Where something goes on

  /// Something has changed for a pool: pushes came, answers did, a connection or a provider token.
  mutating func touch(_ pool: Int32) {
    if all[Int(pool)].touch() { touched.append(pool) }
    activate(pool)
  }

  /// Something came from a connection's gateway, which allows so many streams at once now.
  mutating func touch(connection number: Int32, limit: Int) {
    touch(connections[number].pool)
    connections.limit(number, to: limit)
  }

  /// Something goes on in a pool: each upkeep looks after it until all of it is settled.
  mutating func activate(_ pool: Int32) {
    if all[Int(pool)].activate() { active.append(pool) }
  }

  /// The next pool where something has changed; nil when all were asked for.
  mutating func nextTouched() -> Int32? {
    guard touchedHead < touched.count else {
      touched.removeAll(keepingCapacity: true)
      touchedHead = 0
      return nil
    }
    let pool = touched[touchedHead]
    touchedHead += 1
    all[Int(pool)].dispatched()
    return pool
  }

  var hasActive: Bool { !active.isEmpty }

  /// The pools where something went on; they are not active any more.
  mutating func takeActive() -> [Int32] {
    let taken = active
    active.removeAll(keepingCapacity: true)
    for pool in taken { all[Int(pool)].deactivate() }
    return taken
  }

  mutating func retire(_ pool: Int32) {
    all[Int(pool)].retire()
    retired.append(pool)
    activate(pool)
  }

  /// Removes the pools that were retired and have nothing left.
  mutating func removeRetired() -> [Int32] {
    guard !retired.isEmpty else { return [] }
    let gone = retired.filter { all[Int($0)].connections.isEmpty && all[Int($0)].lookups == 0 }
    retired.removeAll { gone.contains($0) }
    for pool in gone { all[Int(pool)].remove() }
    return gone
  }

  // MARK: Connections of all pools

  /// Connections that there are or that are on their way.
  var taken: Int { connections.count + lookups }

  mutating func beganLookUp(_ pool: Int32) {
    lookups += 1
    all[Int(pool)].beganLookUp()
  }

  mutating func endedLookUp(_ pool: Int32) {
    lookups -= 1
    all[Int(pool)].endedLookUp()
  }

  /// Whether a search may try a further address beside those that it is trying.
  var hasRoom: Bool { budget.hasRoom(taken: taken) }

  /// There is no room for a connection of a pool. One that has one goes on with it, the others get in line.
  mutating func awaitRoom(_ pool: Int32) {
    let hasOne = all[Int(pool)].connections.contains { connections[$0].isStaying }
    if !hasOne, all[Int(pool)].lookups == 0 { budget.wait(pool) }
  }

  /// The pool in line whose turn it is to open a connection.
  mutating func nextWithRoom() -> Int32? { budget.next(taken: taken) }

  /// Who gives way for those in line; nil when nobody waits.
  func yields(now: UInt64) -> [ConnectionBudget.Yield]? {
    guard budget.isAwaited else { return nil }
    return budget.yields(holders, taken: taken, leaving: connections.leaving, now: now)
  }

  /// The pools that nothing has been sent through for so long that they close, if there are many connections: a few every
  /// ten seconds.
  mutating func idleTooLong(now: UInt64) -> [Int32] {
    guard taken > budget.limits.plenty, now >= nextIdleLook else { return [] }
    nextIdleLook = now + 10_000
    return budget.closesIdle(holders, taken: taken, now: now)
  }

  /// The connection of a pool that closes first: the one with the fewest open streams.
  func idlest(of pool: Int32) -> Int32? {
    all[Int(pool)].connections.filter { connections[$0].isStaying }
      .min { connections[$0].machine.openStreams < connections[$1].machine.openStreams }
  }

  /// The pools with connections that stay, as the budget sees them.
  private var holders: [ConnectionBudget.Holder] { indices.compactMap { holder($0) } }

  private func holder(_ pool: Int32) -> ConnectionBudget.Holder? {
    let state = all[Int(pool)]
    let staying = state.connections.filter { connections[$0].isStaying }
      .map { connections[$0].startedAt }
    guard let since = staying.min(), let last = staying.max() else { return nil }
    let hasNothing = state.isIdle && state.queue.open == 0 && state.lookups == 0
    return .init(
      pool: pool, connections: staying.count, since: since,
      idleSince: hasNothing ? max(state.health.lastActivity, last) : nil)
  }

  /// A connection failed us: its address is put aside, once.
  mutating func putAddressAside(of number: Int32, _ turn: inout Turn) {
    guard connections[number].putAddressAside() else { return }
    self[connections[number].pool].health.putAside(
      connections[number].address, now: turn.now, random: turn.chance())
    turn.count(.addressesAside)
  }

  /// An address refused what another one accepts: it is put aside, and the connections to it drain.
  mutating func leave(_ address: PeerAddress, of pool: Int32, _ turn: inout Turn) {
    self[pool].health.putAside(address, now: turn.now, random: turn.chance())
    turn.count(.addressesAside)
    for number in self[pool].connections
    where connections[number].address == address && connections[number].isStaying {
      connections.retire(number, &turn)
    }
  }

  // MARK: Provider tokens

  /// Puts the pool's newest provider token on one of its connections, if the rules allow it.
  ///
  /// - Returns: false when no push may go out on this connection now.
  mutating func prepareToken(of number: Int32, _ turn: inout Turn) -> Bool {
    let pool = connections[number].pool
    guard let newest = all[Int(pool)].token else {
      return all[Int(pool)].authentication == .certificate
    }
    return connections.prepareToken(
      number, newest: newest, tokenNumber: all[Int(pool)].tokenNumber, &turn)
  }

  // MARK: A pool's connections together

  /// Streams that may be open in all, as far as is known.
  func capacity(of pool: Int32) -> Int {
    var sum = 0
    for number in all[Int(pool)].connections { sum += connections[number].machine.capacity }
    return sum
  }

  /// Streams that could be opened now.
  func credit(of pool: Int32) -> Int {
    var sum = 0
    for number in all[Int(pool)].connections { sum += connections[number].machine.credit }
    return sum
  }

  /// How many more pushes of a class would be sent now, in all pools.
  mutating func demand(for sendClass: SendClass, now: UInt64) -> Int {
    var demand = 0
    for pool in indices where !all[Int(pool)].isRemoved {
      demand += all[Int(pool)].demand(
        for: sendClass, credit: credit(of: pool), capacity: capacity(of: pool), now: now)
    }
    return demand
  }

  /// The connection with the most free streams, or nil when none has any.
  func mostFree(of pool: Int32) -> Int32? {
    var best: Int32?
    var most = 0
    for number in all[Int(pool)].connections {
      let credit = connections[number].machine.credit
      if credit > most {
        most = credit
        best = number
      }
    }
    return best
  }

  /// Nothing goes on in it that time alone could change within a second.
  func isSettled(_ pool: Int32) -> Bool {
    let state = all[Int(pool)]
    return state.isIdle && state.queue.open == 0 && state.lookups == 0
      && state.connections.allSatisfy {
        connections[$0].isServing && connections[$0].pingedAt == nil
      }
  }

  /// Pushes are answered, and nothing else goes on: time alone changes nothing until an answer takes very long.
  func isCalm(_ pool: Int32) -> Bool {
    guard all[Int(pool)].isIdle, all[Int(pool)].lookups == 0 else { return false }
    for number in all[Int(pool)].connections {
      guard connections[number].isServing, connections[number].pingedAt == nil,
        connections[number].machine.hasAccepted
      else { return false }
    }
    return true
  }

  /// What it is decided by whether to open or close one.
  func load(of pool: Int32) -> ConnectionPoolPolicy.Load {
    let state = all[Int(pool)]
    var load = ConnectionPoolPolicy.Load(
      connecting: state.lookups + state.races.count, serving: 0, credit: 0, openStreams: 0,
      capacity: 0,
      isWaiting: !state.isIdle && state.isAuthorized)
    load.wantsElsewhere = !state.apart.isEmpty
    for number in state.connections {
      let connection = connections[number]
      switch connection.machine.state {
      case .priming, .ready, .suspect:
        load.serving += 1
        if connection.isAged {
          load.aged += 1
        } else if !connection.machine.hasAccepted {
          load.unproven += 1
        }
        load.credit += connection.machine.credit
        load.openStreams += connection.machine.openStreams
        load.capacity += connection.machine.limit
      // Its search counts.
      case .connecting: break
      case .draining, .closed: break
      }
    }
    return load
  }

  /// Whether to open or close one of its connections now.
  ///
  /// - Parameter isNext: its turn for the room that there is has come.
  mutating func decide(
    _ pool: Int32, isNext: Bool, now: UInt64
  ) -> ConnectionPoolPolicy.Action {
    var load = load(of: pool)
    load.hasRoom = isNext ? taken < budget.limits.most : budget.hasRoom(taken: taken)
    return all[Int(pool)].health.connection(for: load, now: now)
  }
}
