// SPDX-License-Identifier: Apache-2.0

public import Delivery

/// One connection of a pool, as it is decided by. Its socket is elsewhere.
public struct Connection: Sendable {
  /// What of it a push remembers: unlike its place, no later connection has it.
  let serial: UInt32
  /// −1 in a place that is free: an optional would be copied whole at each look.
  public fileprivate(set) var pool: Int32
  public let address: PeerAddress
  public internal(set) var machine: ConnectionStateMachine
  /// The token that it carries, as its pool numbers them; 0 for none yet.
  var token: UInt32 = 0
  /// Monotonic milliseconds of the start, of the last answer (the start before the first), and of the moment
  /// when the first of the open streams was opened.
  public let startedAt: UInt64
  var lastHeard: UInt64
  var busySince: UInt64
  /// Monotonic milliseconds of the last failure that was held against the destination.
  var failedAt: UInt64 = 0
  /// Monotonic milliseconds when a PING was sent that is not answered yet.
  var pingedAt: UInt64?
  /// From when on it is to be replaced, and whether that time has come.
  let replaceAt: UInt64
  var isAged = false
  /// TLS was up.
  var isMade = false
  /// It was given up because it did not even answer a PING.
  var wasSilent = false
  /// It failed, and its address was put aside for that.
  var wasTroubled = false
  /// Its pool was told that it takes no more pushes.
  var hasLeft = false
  /// Monotonic milliseconds when it was found to be of no more use although streams are open.
  var abandonedAt: UInt64?

  /// It serves or will: it is not about to close.
  var isStaying: Bool { machine.state != .draining && machine.state != .closed }

  /// It takes pushes, or would if it had credit.
  var isServing: Bool {
    switch machine.state {
    case .priming, .ready: true
    case .connecting, .suspect, .draining, .closed: false
    }
  }

  /// Monotonic milliseconds for which nothing was heard although something was expected.
  func silence(now: UInt64) -> UInt64 { now - max(lastHeard, busySince) }
}

/// The connections of one loop, by number. Numbers are reused.
public struct Connections: Sendable {
  private var places: [Connection] = []
  private var free: [Int32] = []
  private var serial: UInt32 = 0

  /// Connections that there are.
  public var count: Int { places.count - free.count }

  /// Those of them that close as soon as their streams end.
  var leaving: Int { places.count { $0.pool >= 0 && !$0.isStaying } }

  /// A connection that is there.
  public internal(set) subscript(_ number: Int32) -> Connection {
    @inline(__always) get { places[Int(number)] }
    @inline(__always) _modify { yield &places[Int(number)] }
  }

  public func contains(_ number: Int32) -> Bool {
    Int(number) < places.count && places[Int(number)].pool >= 0
  }

  /// The numbers of all.
  public var numbers: [Int32] { places.indices.map { Int32($0) }.filter { contains($0) } }

  /// Makes one.
  ///
  /// - Parameter replaceAt: when it will be too old (monotonic milliseconds).
  mutating func add(
    pool: Int32, address: PeerAddress, authentication: ConnectionStateMachine.Authentication,
    maximumStreams: UInt64, now: UInt64, replaceAt: UInt64
  ) -> Int32 {
    serial &+= 1
    if serial == 0 { serial = 1 }
    let connection = Connection(
      serial: serial, pool: pool, address: address,
      machine: ConnectionStateMachine(
        authentication: authentication, maximumStreams: maximumStreams),
      startedAt: now, lastHeard: now, busySince: now, replaceAt: replaceAt)
    guard let number = free.popLast() else {
      places.append(connection)
      return Int32(places.count - 1)
    }
    places[Int(number)] = connection
    return number
  }

  /// The gateway allows so many streams at once: pushes may go out.
  mutating func settings(_ number: Int32, limit: Int) {
    places[Int(number)].machine.settings(limit: limit)
    places[Int(number)].machine.connected()
  }

  /// What a connection's state machine wants done.
  mutating func perform(
    _ action: ConnectionStateMachine.Action, on number: Int32, _ turn: inout Turn
  ) {
    switch action {
    case .nothing: break
    case .ping:
      places[Int(number)].pingedAt = turn.now
      turn.append(.ping(connection: number))
    case .close: turn.append(.close(connection: number))
    }
  }

  mutating func remove(_ number: Int32) {
    places[Int(number)].pool = -1
    free.append(number)
  }
}
