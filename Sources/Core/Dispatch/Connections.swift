// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Delivery

/// The connections of one loop, by number. Numbers are reused.
///
/// An event of a connection goes to its state machine, and what that wants done is appended to the turn.
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
  /// - Parameters:
  ///   - race: the search of its pool that it is an attempt of.
  ///   - replaceAt: when it will be too old (monotonic milliseconds).
  mutating func add(
    pool: Int32, race: UInt32, address: PeerAddress,
    authentication: ConnectionStateMachine.Authentication, maximumStreams: UInt64, now: UInt64,
    replaceAt: UInt64
  ) -> Int32 {
    serial &+= 1
    if serial == 0 { serial = 1 }
    let connection = Connection(
      serial: serial, pool: pool, race: race, address: address,
      machine: ConnectionStateMachine(
        authentication: authentication, maximumStreams: maximumStreams),
      now: now, replaceAt: replaceAt)
    guard let number = free.popLast() else {
      places.append(connection)
      return Int32(places.count - 1)
    }
    places[Int(number)] = connection
    return number
  }

  mutating func remove(_ number: Int32) {
    places[Int(number)].remove()
    free.append(number)
  }

  private mutating func perform(
    _ action: ConnectionStateMachine.Action, on number: Int32, _ turn: inout Turn
  ) {
    switch action {
    case .nothing: break
    case .ping: ping(number, &turn)
    case .close: turn.append(.close(connection: number))
    }
  }

  // MARK: Streams

  /// APNs accepted a push.
  mutating func accepted(_ number: Int32, _ turn: inout Turn) {
    places[Int(number)].noteActivity(now: turn.now)
    perform(places[Int(number)].machine.accepted(), on: number, &turn)
  }

  /// APNs answered a push with anything else.
  mutating func answered(
    _ number: Int32, status: UInt16, _ reaction: ConnectionAction, _ turn: inout Turn
  ) {
    places[Int(number)].noteActivity(now: turn.now)
    perform(
      places[Int(number)].machine.answered(status: status, connection: reaction), on: number, &turn)
  }

  /// A stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed the push.
  ///   - timedOut: we have given it up.
  mutating func unanswered(
    _ number: Int32, isUnprocessed: Bool, timedOut: Bool, _ turn: inout Turn
  ) {
    let action =
      if isUnprocessed {
        places[Int(number)].machine.refused()
      } else if timedOut {
        places[Int(number)].machine.timedOut()
      } else {
        places[Int(number)].machine.reset()
      }
    perform(action, on: number, &turn)
  }

  /// A stream could not be opened: there are no more of them here.
  mutating func notOpened(_ number: Int32, _ turn: inout Turn) {
    perform(places[Int(number)].machine.notOpened(), on: number, &turn)
  }

  // MARK: The gateway

  /// The gateway allows so many streams at once: pushes may go out.
  mutating func settings(_ number: Int32, limit: Int) {
    places[Int(number)].machine.settings(limit: limit)
    places[Int(number)].machine.connected()
  }

  /// The gateway allows fewer streams than it did, perhaps.
  mutating func limit(_ number: Int32, to limit: Int) {
    if limit < places[Int(number)].machine.limit {
      places[Int(number)].machine.settings(limit: limit)
    }
  }

  /// Puts the newest provider token of its pool on one, if the rules allow it.
  ///
  /// - Parameter tokenNumber: of that token, as the pool numbers them.
  /// - Returns: false when no push may go out on it now.
  mutating func prepareToken(
    _ number: Int32, newest: ProviderTokenStamp, tokenNumber: UInt32, _ turn: inout Turn
  ) -> Bool {
    switch places[Int(number)].machine.chooseToken(newest: newest, now: turn.wall) {
    case .current: return true
    case .newest:
      places[Int(number)].carry(token: tokenNumber)
      turn.append(.changeToken(connection: number))
      return true
    case .none: return false
    }
  }

  /// The gateway is leaving.
  mutating func goAway(_ number: Int32, _ turn: inout Turn) {
    perform(places[Int(number)].machine.goAway(), on: number, &turn)
  }

  /// Asks for a sign of life.
  mutating func ping(_ number: Int32, _ turn: inout Turn) {
    places[Int(number)].pinged(now: turn.now)
    turn.append(.ping(connection: number))
  }

  /// The gateway answered a PING.
  mutating func ponged(_ number: Int32, _ turn: inout Turn) {
    places[Int(number)].ponged(now: turn.now)
    perform(places[Int(number)].machine.ponged(), on: number, &turn)
  }

  /// Nothing came for too long although streams are open.
  mutating func silent(_ number: Int32, _ turn: inout Turn) {
    perform(places[Int(number)].machine.silent(), on: number, &turn)
  }

  /// The gateway did not answer a PING.
  mutating func pingTimedOut(_ number: Int32, _ turn: inout Turn) {
    places[Int(number)].pingTimedOut()
    turn.append(.reportSilence(connection: number))
    perform(places[Int(number)].machine.pingTimedOut(), on: number, &turn)
  }

  // MARK: The end

  /// One closes as its streams end.
  mutating func retire(_ number: Int32, _ turn: inout Turn) {
    perform(places[Int(number)].machine.retire(), on: number, &turn)
  }

  /// Closes one that is of no more use once answers that are on their way have had their time.
  mutating func closeAbandoned(_ number: Int32, _ turn: inout Turn) {
    guard places[Int(number)].isGraceOver(now: turn.now) else { return }
    perform(places[Int(number)].machine.graceOver(), on: number, &turn)
  }

  /// One is over.
  mutating func closed(_ number: Int32) { places[Int(number)].machine.closed() }
}
