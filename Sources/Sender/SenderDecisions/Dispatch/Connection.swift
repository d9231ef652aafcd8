// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The name of a connection: its pool, and its place there. Places are reused.
public struct ConnectionID: Hashable, Comparable, Sendable {
  public let pool: Int32
  public let index: Int32

  public init(pool: Int32, index: Int32) {
    self.pool = pool
    self.index = index
  }

  /// No connection. An optional would be larger, and compared in two steps.
  static let none = ConnectionID(pool: -1, index: -1)

  public static func < (left: ConnectionID, right: ConnectionID) -> Bool {
    (left.pool, left.index) < (right.pool, right.index)
  }
}

/// One connection of a pool, as it is decided by. Its socket is elsewhere.
///
/// An event goes to its state machine, and what that wants done is appended to the turn.
public struct Connection: Sendable {
  /// The time that it may allow no streams while pushes wait, in milliseconds: then it is to be replaced.
  static let longestShut: UInt64 = 60_000

  public let id: ConnectionID
  /// The number by which a push remembers it: unlike its place, no later connection of the loop has it.
  let serial: UInt64
  public let address: PeerAddress
  /// Which streams it takes, and what becomes of it.
  public private(set) var machine: ConnectionStateMachine
  /// The token that it carries, as its pool numbers them; 0 for none yet.
  private(set) var token: UInt32 = 0
  /// Monotonic milliseconds of the start, of the last answer (the start before the first), and of the moment
  /// when the first of the open streams was opened.
  public let startedAt: UInt64
  /// When its first push went out, in monotonic milliseconds: APNs knows the team's apps as they were then.
  private(set) var firstPushAt: UInt64 = 0
  private(set) var lastActivity: UInt64
  private var busySince: UInt64
  /// Monotonic milliseconds of the last failure that counts against the destination.
  private var failedAt: UInt64 = 0
  /// Monotonic milliseconds when a PING was sent that is not answered yet.
  private(set) var pingedAt: UInt64?
  /// From when on it is to be replaced, and whether that time has come.
  private let replaceAt: UInt64
  private(set) var isAged = false
  /// It is to be replaced because APNs may not know an app of its credential there.
  private(set) var isOutdated = false
  /// Monotonic milliseconds since when pushes wait and the gateway allows no streams.
  private var shutSince: UInt64?
  /// The search of its pool that it is an attempt of; 0 once that has ended for it.
  private(set) var race: UInt32
  /// Its address was put aside because it failed.
  private(set) var isAddressAside = false
  /// The gateway has said that it is leaving.
  private(set) var hasGoAway = false
  /// Its pool was told that it takes no more pushes.
  private var hasLeft = false
  /// Monotonic milliseconds when it was found to be of no more use although streams are open.
  private var abandonedAt: UInt64?

  init(
    _ id: ConnectionID, serial: UInt64, race: UInt32, address: PeerAddress,
    machine: ConnectionStateMachine, now: UInt64, replaceAt: UInt64
  ) {
    self.id = id
    self.serial = serial
    self.race = race
    self.address = address
    self.machine = machine
    startedAt = now
    lastActivity = now
    busySince = now
    self.replaceAt = replaceAt
  }

  /// It serves or will: it is not about to close.
  var isStaying: Bool { machine.state != .draining && machine.state != .closed }

  /// It takes pushes, or would if it had credit.
  var isServing: Bool {
    switch machine.state {
    case .priming, .ready: true
    case .connecting, .negotiating, .suspect, .draining, .closed: false
    }
  }

  /// Monotonic milliseconds for which nothing came although something was expected.
  func silence(now: UInt64) -> UInt64 { now - max(lastActivity, busySince) }

  private mutating func perform(_ action: ConnectionStateMachine.Action, _ turn: inout Turn) {
    switch action {
    case .nothing: break
    case .ping: ping(&turn)
    case .close: turn.append(.close(id))
    }
  }

  // MARK: Streams

  /// A push goes out.
  mutating func opened(now: UInt64, wall: Int64) {
    if machine.openStreams == 0 {
      busySince = now
      if machine.streamsOpened == 0 { firstPushAt = now }
    }
    machine.opened(now: wall)
  }

  /// A stream could not be opened: there are no more of them here.
  mutating func notSent(_ turn: inout Turn) { perform(machine.notOpened(), &turn) }

  /// APNs accepted a push.
  mutating func accepted(_ turn: inout Turn) {
    lastActivity = turn.now
    perform(machine.accepted(), &turn)
  }

  /// APNs answered a push with anything else.
  mutating func answered(status: UInt16, _ reaction: ConnectionAction, _ turn: inout Turn) {
    lastActivity = turn.now
    perform(machine.answered(status: status, connection: reaction), &turn)
  }

  /// Where an answer or a GOAWAY came from.
  ///
  /// - Parameters:
  ///   - isAgain: the push that is answered was refused before, and was to find out here.
  ///   - newest: the token of its pool.
  func place(
    isAgain: Bool = false, newest: PoolToken.Choice?
  ) -> DestinationHealth.AnsweringConnection {
    DestinationHealth.AnsweringConnection(
      at: address, isAgain: isAgain, hasAccepted: machine.hasAccepted, firstPushAt: firstPushAt,
      hasNewestToken: token == newest?.number ?? 0)
  }

  /// A stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed the push.
  ///   - timedOut: we have given it up.
  ///   - isLost: the connection has ended, and the stream with it.
  mutating func unanswered(
    isUnprocessed: Bool, timedOut: Bool, isLost: Bool, _ turn: inout Turn
  ) {
    // What could not even be written in time was not refused: nothing gets through here any more.
    let action =
      if timedOut { machine.timedOut() } else if isUnprocessed { machine.refused() } else {
        machine.reset(isLost: isLost)
      }
    perform(action, &turn)
  }

  /// Some of its requests failed.
  ///
  /// - Returns: whether that is the first failure of this moment.
  mutating func noteFailure(now: UInt64) -> Bool {
    guard failedAt != now else { return false }
    failedAt = now
    return true
  }

  // MARK: On its way

  /// Something came from the gateway.
  mutating func noteActivity(now: UInt64) { lastActivity = now }

  /// TLS is up.
  mutating func connected(now: UInt64) {
    lastActivity = now
    machine.secured()
  }

  /// It takes requests, or has ended.
  mutating func leaveRace() { race = 0 }

  /// Another attempt of its search takes requests.
  mutating func beaten() {
    race = 0
    machine.beaten()
  }

  /// It is given up because it is not ready in time.
  mutating func giveUp(_ turn: inout Turn) {
    machine.giveUp()
    turn.count(.connectTimeouts)
    turn.append(.abandon(id))
  }

  /// It will not serve again.
  var isAbandoned: Bool { machine.endReason == .abandoned }

  // MARK: The gateway

  /// The gateway allows so many streams at once: pushes may go out.
  mutating func settings(limit: Int) {
    machine.settings(limit: limit)
    machine.connected()
  }

  /// The gateway allows fewer streams than it did, perhaps.
  mutating func limit(to limit: Int) { if limit < machine.limit { machine.settings(limit: limit) } }

  /// Takes the newest provider token of its pool, if the rules allow it.
  ///
  /// - Returns: false when no push may go out on it now.
  mutating func prepare(_ newest: PoolToken.Choice, _ turn: inout Turn) -> Bool {
    switch machine.chooseToken(newest: newest.stamp, now: turn.wall) {
    case .current: return true
    case .newest:
      token = newest.number
      turn.append(.changeToken(id))
      return true
    case .none: return false
    }
  }

  /// The gateway is leaving.
  ///
  /// - Parameter isInOrder: without an error or a reason.
  mutating func goAway(isInOrder: Bool, _ turn: inout Turn) {
    hasGoAway = true
    perform(machine.goAway(isInOrder: isInOrder), &turn)
  }

  // MARK: Signs of life

  /// Asks for a sign of life.
  mutating func ping(_ turn: inout Turn) {
    pingedAt = turn.now
    turn.append(.ping(id))
  }

  /// The gateway answered a PING.
  mutating func ponged(_ turn: inout Turn) {
    pingedAt = nil
    lastActivity = turn.now
    perform(machine.ponged(), &turn)
  }

  /// Nothing came for too long although streams are open.
  mutating func silent(_ turn: inout Turn) { perform(machine.silent(), &turn) }

  /// The gateway did not answer a PING.
  mutating func pingTimedOut(_ turn: inout Turn) {
    pingedAt = nil
    turn.append(.reportSilence(id))
    perform(machine.pingTimedOut(), &turn)
  }

  /// Looks after it: it is given up if it is not ready in time, and asked for a sign of life if it is silent.
  ///
  /// - Returns: whether it has not given one in time.
  mutating func watch(_ settings: borrowing DispatchSettings, _ turn: inout Turn) -> Bool {
    switch machine.state {
    case .connecting, .negotiating:
      if turn.now - startedAt >= settings.connectTimeout { giveUp(&turn) }
      return false
    case .draining:
      // Drained by the choice of a token, which closes nothing by itself.
      if machine.openStreams == 0 { retire(&turn) }
      closeAbandoned(&turn)
    case .priming, .ready, .suspect, .closed: break
    }
    age(now: turn.now)
    if let pingedAt { return turn.now - pingedAt >= settings.pingTimeout }
    let silence = silence(now: turn.now)
    if machine.owesSignOfLife {
      if silence >= settings.pingAfter { silent(&turn) }
    } else if silence >= settings.idlePing {
      ping(&turn)
    }
    return false
  }

  // MARK: The end

  /// Its credential has other apps than when it was opened: it is to be replaced.
  mutating func outdate() { (isAged, isOutdated) = (true, true) }

  /// It is to be replaced if its time has come.
  mutating func age(now: UInt64) { if now >= replaceAt { isAged = true } }

  /// It is to be replaced if it has allowed no streams for long: another address may allow some.
  ///
  /// - Parameter isWaiting: pushes wait.
  mutating func ageIfShut(isWaiting: Bool, now: UInt64) {
    shutSince = isWaiting && machine.limit == 0 ? shutSince ?? now : nil
    if let shutSince, now - shutSince >= Self.longestShut { isAged = true }
  }

  /// It closes as its streams end.
  mutating func retire(_ turn: inout Turn) { perform(machine.retire(), &turn) }

  /// Closes it if it is of no more use, once answers that are on their way have had their time.
  mutating func closeAbandoned(_ turn: inout Turn) {
    guard isAbandoned else { return }
    let since = abandonedAt ?? turn.now
    abandonedAt = since
    guard turn.now - since >= ConnectionStateMachine.grace else { return }
    perform(machine.graceOver(), &turn)
  }

  /// Its address is put aside.
  ///
  /// - Returns: false if that was so already.
  mutating func putAddressAside() -> Bool {
    guard !isAddressAside else { return false }
    isAddressAside = true
    return true
  }

  /// What it says of the destination that it takes no more pushes: once, and nil if it is we who have no use for it.
  mutating func leaves(now: UInt64) -> DestinationHealth.ConnectionEnd? {
    guard !isStaying, !hasLeft else { return nil }
    hasLeft = true
    guard machine.endReason != .retired, machine.endReason != .beaten else { return nil }
    var end = DestinationHealth.ConnectionEnd(
      hasAccepted: machine.hasAccepted, lived: now - startedAt, isAddressAside: isAddressAside)
    end.accepted = machine.acceptedStreams
    end.isInOrder = machine.endReason == .goAway
    end.isUnused = isUnused(now: now)
    return end
  }

  /// The gateway, or something on the way to it, ended it after it had taken requests for a while and was sent none: they
  /// end what is idle.
  func isUnused(now: UInt64) -> Bool {
    guard race == 0, machine.streamsOpened == 0, machine.limit > 0,
      now - startedAt >= ConnectBackoff.shortLife
    else { return false }
    return machine.endReason == nil || machine.endReason == .goAway
  }

  /// It is over.
  ///
  /// - Returns: whether that says no more than that its address did not take a connection.
  mutating func closed() -> Bool {
    defer { machine.closed() }
    return machine.endReason == .beaten
      || (race != 0 && (machine.state == .connecting || machine.endReason == .givenUp))
  }
}
