// SPDX-License-Identifier: Apache-2.0

/// The connections of one pool in places that are reused.
struct Connections: Sendable {
  private var places: [Connection] = []
  private var free: [Int32] = []
  /// The places of those that there are, in the order in which they were opened.
  private(set) var indices: [Int32] = []
  /// The number of connections so far.
  private var opened: UInt64 = 0

  var count: Int { indices.count }
  var isEmpty: Bool { indices.isEmpty }
  /// The places that it has memory for: as many as there were connections at once.
  var reserved: Int { places.count }

  subscript(_ index: Int32) -> Connection {
    @inline(__always) get { places[Int(index)] }
    @inline(__always) _modify { yield &places[Int(index)] }
  }

  /// Makes one.
  ///
  /// - Parameters:
  ///   - race: the search that it is an attempt of.
  ///   - replaceAt: when it will be too old (monotonic milliseconds).
  mutating func add(
    of pool: Int32, race: UInt32, to address: PeerAddress, _ machine: ConnectionStateMachine,
    now: UInt64, replaceAt: UInt64
  ) -> ConnectionID {
    opened += 1
    let place = free.popLast()
    let id = ConnectionID(pool: pool, index: place ?? Int32(places.count))
    let connection = Connection(
      id, serial: UInt64(pool) << 32 | opened, race: race, address: address, machine: machine,
      now: now, replaceAt: replaceAt)
    if place == nil { places.append(connection) } else { places[Int(id.index)] = connection }
    indices.append(id.index)
    return id
  }

  mutating func remove(_ index: Int32) {
    indices.removeAll { $0 == index }
    free.append(index)
  }

  /// A search has found a connection: what else it has under way is not needed any more.
  mutating func end(_ race: UInt32, _ turn: inout Turn) {
    for index in indices where self[index].race == race {
      let isSilent = self[index].silence(now: turn.now) >= AddressRace.patience
      self[index].beaten()
      if isSilent { self[index].giveUp(&turn) } else { self[index].retire(&turn) }
    }
  }

  // MARK: All together

  /// Those that serve or will.
  var staying: [Int32] { indices.filter { self[$0].isStaying } }

  /// Streams that may be open in all, as far as is known.
  var capacity: Int {
    var sum = 0
    for index in indices { sum += places[Int(index)].machine.capacity }
    return sum
  }

  /// The gateway allows no stream on those that there are.
  var areShut: Bool {
    capacity == 0 && indices.contains { self[$0].isStaying && self[$0].machine.limit == 0 }
  }

  /// Streams that could be opened now.
  var credit: Int {
    var sum = 0
    for index in indices { sum += places[Int(index)].machine.credit }
    return sum
  }

  /// The connection with the most free streams, or nil when none has any.
  var mostFree: Int32? {
    var best: Int32?
    var most = 0
    for index in indices {
      let credit = places[Int(index)].machine.credit
      if credit > most {
        most = credit
        best = index
      }
    }
    return best
  }

  /// The one that closes first: with the fewest open streams.
  var idlest: Int32? {
    staying.min { self[$0].machine.openStreams < self[$1].machine.openStreams }
  }

  /// Nothing is open or asked for.
  var areSettled: Bool { indices.allSatisfy { self[$0].isServing && self[$0].pingedAt == nil } }

  /// All of them have accepted a push, and none is asked for a sign of life.
  var areCalm: Bool {
    for index in indices {
      guard self[index].isServing, self[index].pingedAt == nil, self[index].machine.hasAccepted
      else { return false }
    }
    return true
  }

  /// One that is too old, once another one can serve in its place: one at a time. Without one it goes if nothing is sent
  /// and either no other may be opened beside it, or it is outdated: what comes next may be refused there.
  ///
  /// - Parameters:
  ///   - isIdle: nothing waits to be sent.
  ///   - hasRoom: there may be one more connection, or is about to be.
  func replaceable(isIdle: Bool, hasRoom: Bool) -> Int32? {
    let serving = indices.filter { self[$0].isServing }
    let hasOther = serving.contains { !self[$0].isAged }
    return serving.first { index in
      guard self[index].isAged else { return false }
      let isUnused = isIdle && self[index].machine.openStreams == 0
      return hasOther || (isUnused && (!hasRoom || self[index].isOutdated))
    }
  }

  /// What they carry: whether to open or close one is decided by it.
  ///
  /// - Parameter connecting: connections on their way.
  func load(connecting: Int) -> ConnectionPoolPolicy.Load {
    var load = ConnectionPoolPolicy.Load(
      connecting: connecting, serving: 0, credit: 0, openStreams: 0, capacity: 0, isWaiting: false)
    for index in indices {
      let connection = self[index]
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
      // Of one that is on its way its search counts.
      case .connecting, .negotiating, .draining, .closed: break
      }
    }
    return load
  }
}
