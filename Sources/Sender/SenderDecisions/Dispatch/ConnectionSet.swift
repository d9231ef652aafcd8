// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The way of one pool to its gateway: its connections and the searches for further ones, the provider token that they
/// carry, and what all of these say about the destination's health.
///
/// Connections come and go here: when they are opened, watched, replaced and closed, what their ends and their answers
/// are evidence about, and which of them a push takes.
struct ConnectionSet: Sendable {
  private let pool: Int32
  let authentication: ConnectionStateMachine.Authentication
  let settings: DispatchSettings
  /// The health of the destination, and what follows from it for connections and retries.
  private(set) var health: DestinationHealth
  private(set) var connections = Connections()
  private(set) var connectAttempts = ConnectAttempts()
  private(set) var token = PoolToken()

  init(
    _ pool: Int32, _ authentication: ConnectionStateMachine.Authentication,
    _ settings: DispatchSettings
  ) {
    self.pool = pool
    self.authentication = authentication
    self.settings = settings
    health = DestinationHealth(settings)
  }

  /// True with a valid provider token or a certificate.
  var isAuthorized: Bool { token.newest != nil || authentication == .certificate }

  /// Something happened to a connection.
  mutating func handle(_ event: ConnectionEvent, of index: Int32, _ turn: inout Turn) {
    switch event {
    case .notOpened:
      let race = connections[index].race
      connections.remove(index)
      connectAttempts.endAttempt(of: race, isLast: true)
      goOn(race, &turn)
    case .advanced:
      connections[index].noteActivity(now: turn.now)
      connectAttempts.advanced(connections[index].race, now: turn.now)
    case .connected: connected(index, now: turn.now)
    case .touched(let limit): connections[index].limit(to: limit)
    case .settings(let limit): allow(limit, on: index, &turn)
    case .goAway(let reason, let isError): goAway(index, reason, isError: isError, &turn)
    case .ponged: connections[index].ponged(&turn)
    case .closed(let isFailure): closed(index, isFailure: isFailure, &turn)
    }
  }

  // MARK: Connections come

  /// The gateway's addresses have come, in the order to try them; nil when it has none.
  ///
  /// - Parameter isWanted: connections may still be opened.
  mutating func lookedUp(_ addresses: [PeerAddress]?, isWanted: Bool, _ turn: inout Turn) {
    connectAttempts.endedLookUp()
    guard isWanted else { return }
    if let addresses { health.addresses.resolved(addresses) }
    let inUse = connections.staying.map { connections[$0].address }
    let route = health.route(inUse: inUse, now: turn.now)
    goOn(connectAttempts.begin(addresses == nil ? [] : route), &turn)
  }

  /// A search goes on with its next address. When none is left and nothing is under way, nobody can be reached.
  private mutating func goOn(_ race: UInt32, _ turn: inout Turn) {
    if let address = connectAttempts.nextAddress(of: race, now: turn.now) {
      return open(race, address, &turn)
    }
    guard connectAttempts.removeIfOver(race) else { return }
    health.connectFailed(now: turn.now, random: turn.chance())
    health.lost(isLast: load.serving == 0, now: turn.now, random: turn.chance())
  }

  private mutating func open(_ race: UInt32, _ address: PeerAddress, _ turn: inout Turn) {
    let age = settings.connectionAge
    let machine = ConnectionStateMachine(
      authentication: authentication, maximumStreams: settings.connectionRequests)
    let id = connections.add(
      of: pool, race: race, to: address, machine, now: turn.now,
      replaceAt: turn.now + age / 2 + turn.chance() % (age / 2 + 1))
    turn.count(.connects)
    turn.append(.open(id))
  }

  private mutating func connected(_ index: Int32, now: UInt64) {
    connections[index].connected(now: now)
    connectAttempts.advanced(connections[index].race, now: now)
    health.connected()
  }

  /// The gateway allows so many streams at once: the connection takes requests, and what else its search has under way
  /// is not needed any more.
  private mutating func allow(_ limit: Int, on index: Int32, _ turn: inout Turn) {
    connections[index].settings(limit: limit)
    let race = connections[index].race
    guard race != 0, connections[index].isServing else { return }
    connections[index].leaveRace()
    connectAttempts.remove(race)
    health.reached()
    connections.end(race, &turn)
  }

  // MARK: Connections go

  private mutating func goAway(
    _ index: Int32, _ reason: Reason?, isError: Bool, _ turn: inout Turn
  ) {
    turn.count(.goAways)
    // APNs sends an empty one behind the one that says why.
    guard reason != nil || isError || !connections[index].hasGoAway else {
      return connections[index].goAway(isInOrder: false, &turn)
    }
    let verdict = health.goAway(
      reason, on: connections[index].place(newest: token.newest), now: turn.now,
      random: turn.chance())
    let words = GatewayResponse(status: 0, reason: reason)
    if verdict.isNewRefusal { turn.reportRefusal(pool, app: nil, words) }
    if verdict.asksForToken, authentication == .providerToken { turn.requestToken(pool, words) }
    if verdict.isTrouble { putAddressAside(of: index, &turn) }
    connections[index].goAway(isInOrder: !isError && reason == nil, &turn)
  }

  private mutating func closed(_ index: Int32, isFailure: Bool, _ turn: inout Turn) {
    let race = connections[index].race
    let isOfAddressAlone = connections[index].closed()
    if isFailure {
      putAddressAside(of: index, &turn)
      turn.count(.connectionsLost)
    }
    if !isOfAddressAlone { noteLeaving(index, &turn) }
    // Silence is a loss, although it is we who close.
    let isLoss =
      (isFailure && !connections[index].isUnused(now: turn.now))
      || connections[index].machine.endReason == .silent
    connections.remove(index)
    connectAttempts.endAttempt(of: race, isLast: !isOfAddressAlone)
    if isOfAddressAlone { return goOn(race, &turn) }
    _ = connectAttempts.removeIfOver(race)
    if isLoss { health.lost(isLast: load.serving == 0, now: turn.now, random: turn.chance()) }
  }

  /// Tells the health of a connection that takes no more pushes, once.
  private mutating func noteLeaving(_ index: Int32, _ turn: inout Turn) {
    guard let end = connections[index].leaves(now: turn.now) else { return }
    health.connectionEnded(end, now: turn.now, random: turn.chance())
  }

  /// A connection failed us: its address is put aside, once.
  private mutating func putAddressAside(of index: Int32, _ turn: inout Turn) {
    if connections[index].putAddressAside() { putAside(connections[index].address, &turn) }
  }

  private mutating func putAside(_ address: PeerAddress, _ turn: inout Turn) {
    health.addresses.failed(address, now: turn.now, random: turn.chance())
    turn.count(.addressesAside)
  }

  // MARK: Time goes by

  /// Opens and closes connections as the policy says.
  ///
  /// - Parameters:
  ///   - line: whether pushes wait, and whether some of them do for another connection.
  ///   - room: connections that there may be more of, as far as all pools together are concerned.
  /// - Returns: whether it waits for room.
  mutating func maintain(
    _ line: (isWaiting: Bool, wantsOtherConnection: Bool), room: Int, _ turn: inout Turn
  ) -> Bool {
    for index in connections.indices {
      noteLeaving(index, &turn)
      connections[index].ageIfShut(isWaiting: line.isWaiting, now: turn.now)
    }
    let mayReplace = room > 0 || connectAttempts.count > 0
    if let aged = connections.replaceable(isIdle: !line.isWaiting, hasRoom: mayReplace) {
      turn.count(.replacedAged)
      connections[aged].retire(&turn)
    }
    var room = room
    while true {
      var load = load
      load.isWaiting = line.isWaiting && isAuthorized
      load.wantsOtherConnection = line.wantsOtherConnection
      load.hasRoom = room > 0
      switch health.connection(for: load, now: turn.now) {
      case .nothing: return false
      // One that has a connection goes on with it.
      case .awaitRoom: return connectAttempts.lookUps == 0 && connections.staying.isEmpty
      case .open:
        connectAttempts.beganLookUp()
        room -= 1
        // Asked again before each connect: APNs spreads its load by what a name means now.
        turn.append(.lookUp(pool: pool, seed: UInt32(truncatingIfNeeded: turn.chance())))
      case .closeOne:
        giveWay(.one(pool), &turn)
        return false
      }
    }
  }

  /// The load that `ConnectionPoolPolicy` decides by, without the pushes that wait.
  var load: ConnectionPoolPolicy.Load { connections.load(connecting: connectAttempts.count) }

  /// Looks after silent connections, and has searches go on that come no nearer.
  ///
  /// - Returns: the room that is left.
  mutating func watch(room: Int, _ turn: inout Turn) -> Int {
    var room = room
    for race in connectAttempts.races where race.wantsNext(now: turn.now) && room > 0 {
      goOn(race.number, &turn)
      room -= 1
    }
    for index in connections.indices {
      guard connections[index].watch(settings, &turn) else { continue }
      turn.count(.silentConnections)
      putAddressAside(of: index, &turn)
      connections[index].pingTimedOut(&turn)
    }
    return room
  }

  /// All connections close as their streams end, and one is opened when there is something to send; or only the one with
  /// the fewest open streams closes.
  mutating func giveWay(_ yield: ConnectionBudget.Yield, _ turn: inout Turn) {
    switch yield {
    case .all:
      health.closedIdle()
      for index in connections.staying { connections[index].retire(&turn) }
    case .one: if let idlest = connections.idlest { connections[idlest].retire(&turn) }
    }
  }

  /// All connections close as their streams end: the credential is gone.
  mutating func retire(_ turn: inout Turn) {
    for index in connections.indices { connections[index].retire(&turn) }
  }

  /// The pool is removed: nothing is known of the destination any more.
  mutating func releaseMemory() { self = ConnectionSet(pool, authentication, settings) }

  // MARK: Credentials

  /// Roots or certificates were replaced: the next connect need not wait.
  mutating func trustRenewed() { health.trustRenewed() }

  /// Takes the provider token that the credential has now, nil for none that may be sent: what was refused may be tried
  /// again at once.
  ///
  /// - Parameter hasOtherApps: all connections are to be replaced, because APNs knows a team's topics as they were when each
  ///   sent its first push.
  /// - Returns: whether that is another token.
  mutating func authorize(
    _ newest: (stamp: ProviderTokenStamp, bytes: [UInt8])?, hasOtherApps: Bool
  ) -> Bool {
    health.renewed()
    if hasOtherApps { for index in connections.indices { connections[index].outdate() } }
    return token.replace(newest)
  }

  /// Puts the newest provider token on a connection, if the rules allow it.
  ///
  /// - Returns: false when no push may go out on this connection now.
  mutating func prepareToken(of index: Int32, _ turn: inout Turn) -> Bool {
    guard let newest = token.newest else { return authentication == .certificate }
    return connections[index].prepare(newest, &turn)
  }

  // MARK: A push goes out

  /// True if one more push may be open than those that are, with connections of this capacity.
  mutating func allowsMore(capacity: Int, open: Int, now: UInt64) -> Bool {
    health.isUndisturbed || open < health.allowance(capacity: capacity, now: now)
  }

  /// Streams that may be opened now.
  mutating func free(capacity: Int, open: Int, now: UInt64) -> Int {
    if health.isUndisturbed { return connections.credit }
    return min(connections.credit, max(0, health.allowance(capacity: capacity, now: now) - open))
  }

  /// True if something may have changed for the pushes whose apps had to wait.
  mutating func hasNewAllowance(now: UInt64) -> Bool { health.apps.hasNewAllowance(now: now) }

  /// True if some app has to wait. `mutating`, although it only reads: otherwise it would be asked of a copy.
  mutating func hasRefusedApps() -> Bool { health.hasRefusedApps }

  /// Decides if a push of an app goes out now; to be asked only if `hasRefusedApps`.
  mutating func permit(of push: borrowing PushState, now: UInt64) -> RefusedApps.AppPermit {
    health.permit(app: push.app, findsOut: push.lastFailure.findsOut, now: now)
  }

  /// A push goes out on a connection.
  ///
  /// - Parameter isFirst: it was not sent before.
  mutating func opened(on index: Int32, isFirst: Bool, now: UInt64, wall: Int64) {
    connections[index].opened(now: now, wall: wall)
    if isFirst { health.budget.sent() }
  }

  /// A push could not be sent after all.
  mutating func notSent(on index: Int32, _ turn: inout Turn) { connections[index].notSent(&turn) }

  // MARK: A push is answered

  /// APNs accepted a push.
  mutating func accepted(on index: Int32, app: UInt64, sentAt: Int64, _ turn: inout Turn) {
    health.noteActivity(now: turn.now)
    if !connections[index].machine.hasAccepted {
      health.connectionAccepted(app: app, at: connections[index].address)
    }
    connections[index].accepted(&turn)
    health.served(app: app, sentAt: turn.monotonic(of: sentAt))
  }

  /// A push was accepted that had been refused elsewhere: if that was with the same token, the address was at fault. It
  /// is put aside, and the connections to it drain.
  mutating func foundOut(_ failure: PushState.LastFailure, on index: Int32, _ turn: inout Turn) {
    guard let address = failure.address, address != connections[index].address,
      failure.refusedToken == connections[index].token
    else { return }
    putAside(address, &turn)
    for other in connections.staying where connections[other].address == address {
      connections[other].retire(&turn)
    }
    turn.append(.reportRefusingAddress(pool: pool, address))
  }

  /// A push was answered with anything else: what that means for the connection, the credential and the destination.
  ///
  /// - Parameter retryAfter: milliseconds that the answer asked to wait; 0 if it did not.
  mutating func refused(
    _ slot: UInt32, _ push: borrowing PushState, on index: Int32, _ response: GatewayResponse,
    retryAfter: UInt64, _ turn: inout Turn
  ) -> DestinationHealth.Reaction {
    health.noteActivity(now: turn.now)
    let place = connections[index].place(
      isAgain: push.lastFailure.findsOut, newest: token.newest)
    let reaction = health.answered(
      DestinationHealth.Answer(
        response, app: push.app, sentAt: turn.monotonic(of: push.sentAt), retryAfter: retryAfter,
        on: place),
      now: turn.now, random: turn.chance())
    connections[index].answered(
      status: response.isForeign ? 0 : response.status, reaction.connection, &turn)
    if reaction.isOfAddress, reaction.connection != .keep { putAddressAside(of: index, &turn) }
    let hasToken = authentication == .providerToken
    if health.asksForToken(after: response, reaction, hasToken: hasToken, now: turn.now) {
      turn.requestToken(pool, response)
    }
    if reaction.isNewRefusal {
      turn.reportRefusal(pool, app: response.credential == .stop ? slot : nil, response)
    }
    if response.isForeign { noteForeign(slot, on: index, response, &turn) }
    return reaction
  }

  /// Something on the way to APNs has answered. Where that was all, or comes again and again, the connection is left, and
  /// its address with it.
  private mutating func noteForeign(
    _ slot: UInt32, on index: Int32, _ response: GatewayResponse, _ turn: inout Turn
  ) {
    turn.count(.foreignAnswers)
    if connections[index].isAbandoned { putAddressAside(of: index, &turn) }
    if health.reportsForeignAnswer(now: turn.now) {
      turn.append(.reportForeignAnswer(slot: slot, connections[index].id, response))
    }
  }

  /// A push's stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isLost: the connection has ended, and the stream with it.
  ///   - timeout: how long an answer may take, in milliseconds.
  mutating func unanswered(
    on index: Int32, isUnprocessed: Bool, timedOut: Bool, isLost: Bool, timeout: UInt64,
    _ turn: inout Turn
  ) {
    connections[index].unanswered(
      isUnprocessed: isUnprocessed, timedOut: timedOut, isLost: isLost, &turn)
    // One failure of the destination for each connection and moment, however many requests were open, because its
    // sisters may be well. A lost connection is noted when it is gone.
    guard !isLost, connections[index].noteFailure(now: turn.now) else { return }
    // Nobody had an answer for as long as this push waited: all of the gateway is silent.
    let isSilent = !isUnprocessed && timedOut && health.lastActivity + timeout <= turn.now
    health.failed(isSilent: isSilent, now: turn.now, random: turn.chance())
  }

  /// Decides what becomes of a push that failed.
  ///
  /// - Parameter topic: the retry topic of its record; nil for a lane's.
  mutating func retry(
    _ push: borrowing PushState, from topic: RetryTier?, _ failure: Pool.Failure,
    _ turn: borrowing Turn
  ) -> DestinationHealth.Retry {
    health.retry(.init(push, from: topic, failure), now: turn.now, wall: turn.wall)
  }
}
