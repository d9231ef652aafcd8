// SPDX-License-Identifier: Apache-2.0

public import Delivery

/// One connection of a pool, as it is decided by. Its socket is elsewhere.
public struct Connection: Sendable {
  /// What of it a push remembers: unlike its place, no later connection has it.
  let serial: UInt32
  /// −1 in a place that is free: an optional would be copied whole at each look.
  public private(set) var pool: Int32
  public let address: PeerAddress
  /// Which streams it takes, and what becomes of it.
  public internal(set) var machine: ConnectionStateMachine
  /// The token that it carries, as its pool numbers them; 0 for none yet.
  private(set) var token: UInt32 = 0
  /// Monotonic milliseconds of the start, of the last answer (the start before the first), and of the moment
  /// when the first of the open streams was opened.
  public let startedAt: UInt64
  private(set) var lastActivity: UInt64
  private var busySince: UInt64
  /// Monotonic milliseconds of the last failure that counts against the destination.
  private var failedAt: UInt64 = 0
  /// Monotonic milliseconds when a PING was sent that is not answered yet.
  private(set) var pingedAt: UInt64?
  /// From when on it is to be replaced, and whether that time has come.
  private let replaceAt: UInt64
  private(set) var isAged = false
  /// The search of its pool that it is an attempt of; 0 once that has ended for it.
  private(set) var race: UInt32
  /// Another attempt was ready first.
  private(set) var isBeaten = false
  /// It was not ready in time.
  private(set) var isGivenUp = false
  /// TLS was up.
  private(set) var isMade = false
  /// It was given up because it did not even answer a PING.
  private(set) var wasSilent = false
  /// Its address was put aside because it failed.
  private(set) var isAddressAside = false
  /// The gateway ended it with GOAWAY, and not because of an error.
  private(set) var isInOrder = false
  /// Its pool was told that it takes no more pushes.
  private var hasLeft = false
  /// Monotonic milliseconds when it was found to be of no more use although streams are open.
  private var abandonedAt: UInt64?

  init(
    serial: UInt32, pool: Int32, race: UInt32, address: PeerAddress,
    machine: ConnectionStateMachine, now: UInt64, replaceAt: UInt64
  ) {
    self.serial = serial
    self.pool = pool
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
    case .connecting, .suspect, .draining, .closed: false
    }
  }

  /// Monotonic milliseconds for which nothing came although something was expected.
  func silence(now: UInt64) -> UInt64 { now - max(lastActivity, busySince) }

  // MARK: Events

  /// Something came from the gateway.
  mutating func noteActivity(now: UInt64) { lastActivity = now }

  /// It takes requests, or has ended.
  mutating func leaveRace() { race = 0 }

  /// Another attempt of its search takes requests.
  mutating func beaten() {
    race = 0
    isBeaten = true
  }

  /// It is given up because it is not ready in time.
  mutating func giveUp() { isGivenUp = true }

  /// It has ended, and that says no more than that its address did not take a connection.
  var isOfAddressAlone: Bool {
    isBeaten || (race != 0 && !machine.isRetired && (!isMade || isGivenUp))
  }

  /// TLS is up.
  mutating func connected(now: UInt64) {
    lastActivity = now
    isMade = true
  }

  /// A push goes out.
  mutating func opened(now: UInt64, wall: Int64) {
    if machine.openStreams == 0 { busySince = now }
    machine.opened(now: wall)
  }

  /// It carries this token of its pool from its next request on.
  mutating func carry(token: UInt32) { self.token = token }

  /// Some of its requests failed.
  ///
  /// - Returns: whether that is the first failure of this moment.
  mutating func noteFailure(now: UInt64) -> Bool {
    guard failedAt != now else { return false }
    failedAt = now
    return true
  }

  mutating func pinged(now: UInt64) { pingedAt = now }

  /// The gateway answered a PING.
  mutating func ponged(now: UInt64) {
    pingedAt = nil
    lastActivity = now
  }

  /// The gateway did not answer a PING.
  mutating func pingTimedOut() {
    pingedAt = nil
    wasSilent = true
  }

  /// Its address is put aside.
  ///
  /// - Returns: false if that was so already.
  mutating func putAddressAside() -> Bool {
    guard !isAddressAside else { return false }
    isAddressAside = true
    return true
  }

  /// The gateway ends it in good order.
  mutating func endsInOrder() { isInOrder = true }

  /// Whether its pool is to be told that it takes no more pushes; true once.
  mutating func leaves() -> Bool {
    guard !isStaying, !hasLeft else { return false }
    hasLeft = true
    return true
  }

  /// It is to be replaced.
  mutating func age() { isAged = true }

  /// It is to be replaced if its time has come.
  mutating func age(now: UInt64) { if now >= replaceAt { isAged = true } }

  /// Whether it has been of no more use for as long as answers that are on their way get.
  mutating func isGraceOver(now: UInt64) -> Bool {
    guard machine.isAbandoned else { return false }
    let since = abandonedAt ?? now
    abandonedAt = since
    return now - since >= ConnectionStateMachine.grace
  }

  /// Its place is free.
  mutating func remove() { pool = -1 }
}
