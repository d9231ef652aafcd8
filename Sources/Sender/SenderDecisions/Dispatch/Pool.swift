// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The machine that carries the pushes of one credential to one gateway: the pushes that wait for a stream, and the
/// `ConnectionSet` with its connections. What happens to a push itself is `Workload`'s.
///
/// APNs ties a connection to the team and key of its first push or to its client certificate, so that is what
/// connections are pooled by.
struct Pool: Sendable {
  /// Between two looks while answers are all that is waited for, in milliseconds.
  private static let calmInterval: UInt64 = 100
  /// So many milliseconds after the last sign of its gateway a pool keeps no more memory than for so many pushes.
  private static let crowdMemory: UInt64 = 60_000
  private static let fewPushes = 64

  let number: Int32
  let kind: GatewayKind
  private(set) var credential: PoolCredential
  /// Pushes that wait for a stream.
  private(set) var queue: SendQueue
  /// Pushes that failed where all free connections lead, until there is another one.
  private(set) var heldForConnection = SlotQueue()
  private(set) var connectionSet: ConnectionSet
  /// The streams that the lanes behind the first one may have.
  private(set) var governor = LaneGovernor()
  /// Monotonic milliseconds of the next look if it is calm until then.
  private var lookAt: UInt64 = 0
  /// Its credential is gone: what waits here belongs elsewhere, and its connections drain.
  private(set) var isRetired = false
  /// It was retired and is empty.
  private(set) var isRemoved = false

  init(
    _ number: Int32, _ credential: PoolCredential, _ kind: GatewayKind,
    _ settings: DispatchSettings
  ) {
    self.number = number
    self.credential = credential
    self.kind = kind
    queue = SendQueue(shares: LaneShares(settings.lanes))
    let authentication: ConnectionStateMachine.Authentication =
      if case .certificate = credential { .certificate } else { .providerToken }
    connectionSet = ConnectionSet(number, authentication, settings)
  }

  /// The destination as `Fairness` knows it.
  static func destination(_ pool: Int32) -> Int32 { pool + 1 }

  /// Nothing waits to be sent.
  var isIdle: Bool { queue.isEmpty && heldForConnection.isEmpty }

  /// Pushes that wait to be sent.
  var waiting: Int { queue.count + heldForConnection.count }

  /// Nothing is in flight, and no connection is looked for.
  var isQuiet: Bool {
    isIdle && queue.open == 0 && connectionSet.connectAttempts.lookUps == 0
  }

  /// Nothing goes on in it that time alone could change within a second.
  var isSettled: Bool { isQuiet && connectionSet.connections.areSettled }

  /// Pushes are answered, and nothing else goes on: time alone changes nothing until an answer takes very long.
  func isCalm(now: UInt64) -> Bool {
    now < lookAt && isIdle && connectionSet.connectAttempts.lookUps == 0
      && connectionSet.connections.areCalm
  }

  // MARK: Time goes by

  /// Opens and closes connections as the policy says, looks after silent ones, and sends what can be sent.
  ///
  /// - Parameter room: connections that there may be more of, as far as all pools together are concerned.
  /// - Returns: whether it waits for room.
  mutating func lookAfter(room: Int, _ work: inout Workload) -> Bool {
    lookAt = work.turn.now + Self.calmInterval
    // The searches of a pool that is out of service try no further address.
    let room = connectionSet.watch(room: isRetired ? 0 : room, &work.turn)
    if !heldForConnection.isEmpty { bringBack(work) }
    let awaitsRoom = maintain(room: room, &work)
    dispatch(&work)
    return awaitsRoom
  }

  /// Gives back what a crowd of pushes took that is long gone: with a thousand credentials each has one some time.
  mutating func forgetCrowd(now: UInt64) {
    guard isQuiet, queue.reserved + heldForConnection.ring.count > Self.fewPushes,
      now >= connectionSet.health.lastActivity + Self.crowdMemory
    else { return }
    releaseLines()
  }

  /// Gives the memory of its lines back, which are empty.
  private mutating func releaseLines() {
    queue.releaseMemory()
    heldForConnection = SlotQueue()
  }

  /// - Returns: whether it waits for room.
  mutating func maintain(room: Int, _ work: inout Workload) -> Bool {
    // What a loop that stops would look up is not connected to any more.
    guard !isRetired, !work.partitions.isStopping else { return false }
    return connectionSet.maintain(
      (isWaiting: !isIdle, wantsOtherConnection: !heldForConnection.isEmpty), room: room, &work.turn
    )
  }

  // MARK: What its connections and its credential are told

  /// The addresses of its gateway have come, in the order to try them; nil when it has none.
  mutating func lookedUp(_ addresses: [PeerAddress]?, _ work: inout Workload) {
    let isWanted = !isRetired && !work.partitions.isStopping
    connectionSet.lookedUp(addresses, isWanted: isWanted, &work.turn)
  }

  /// Something happened to a connection.
  mutating func handle(_ event: ConnectionEvent, of index: Int32, _ turn: inout Turn) {
    connectionSet.handle(event, of: index, &turn)
  }

  /// It gives connections up, because others need room or it has no use for them.
  mutating func giveWay(_ yield: ConnectionBudget.Yield, _ turn: inout Turn) {
    connectionSet.giveWay(yield, &turn)
  }

  /// Its credential has this provider token now, or none that may be sent.
  ///
  /// - Returns: whether that is another one.
  mutating func authorize(
    _ newest: (stamp: ProviderTokenStamp, bytes: [UInt8])?, hasOtherApps: Bool, _ turn: inout Turn
  ) -> Bool {
    guard connectionSet.authorize(newest, hasOtherApps: hasOtherApps) else { return false }
    turn.append(.authorize(pool: number))
    return true
  }

  /// Roots and certificates were replaced; false if its own is gone.
  mutating func trustRenewed(_ places: [Int?]) -> Bool {
    connectionSet.trustRenewed()
    guard case .certificate(let index) = credential else { return true }
    guard let place = places[index] else { return false }
    credential = .certificate(place)
    return true
  }

  /// It goes out of service: its connections drain.
  ///
  /// - Returns: the pushes that wait in it, to be routed again.
  mutating func retire(_ work: inout Workload) -> [UInt32] {
    isRetired = true
    work.turn.append(.retirePool(number))
    connectionSet.retire(&work.turn)
    while let slot = heldForConnection.popFirst() {
      queue.prepend(slot, work.pushes[slot].life.sendClass)
    }
    var left: [UInt32] = []
    while let slot = queue.popAny() { left.append(slot) }
    return left
  }

  /// Nothing is left of it but its number, which no other pool gets: what it has in memory goes, its token as well.
  mutating func remove() {
    isRemoved = true
    if isIdle { releaseLines() }
    connectionSet.releaseMemory()
  }

  // MARK: Pushes wait

  /// Puts a push in line, behind the others or for another try at their head.
  mutating func enqueue(_ slot: UInt32, isLast: Bool = true, _ work: inout Workload) {
    work.tell(slot) { $0.waits() }
    let sendClass = work.pushes[slot].life.sendClass
    if isLast { queue.append(slot, sendClass) } else { queue.prepend(slot, sendClass) }
  }

  /// Takes any push out that waits: the partitions are given back.
  mutating func popAny() -> UInt32? { queue.popAny() ?? heldForConnection.popFirst() }

  /// Moves so many pushes in line aside, of those that matter least.
  mutating func shed(_ surplus: Int, _ work: inout Workload) {
    for _ in 0..<surplus {
      guard let slot = queue.popLeast() else { return }
      work.divert(slot, .share)
    }
  }

  /// Takes the pushes in line out that have expired.
  ///
  /// - Parameters:
  ///   - pushes: the table alone. A closure over the workload would take a copy of it, for each of a thousand pools.
  ///   - wall: milliseconds since the epoch.
  mutating func removeExpired(_ pushes: PushStates, at wall: Int64) -> [UInt32] {
    queue.removeAll { pushes[$0].isExpired(at: wall) }
  }

  /// Takes the waiting pushes out that another credential serves, or none.
  mutating func removeUnserved(
    by credential: PoolCredential, _ credentials: borrowing Credentials,
    _ work: borrowing Workload
  ) -> [UInt32] {
    queue.removeAll { credentials.credential(for: work.pushes[$0]) != credential }
      + heldForConnection.removeAll { credentials.credential(for: work.pushes[$0]) != credential }
  }

  /// The number of further pushes of a class that would be sent now; negative when more wait than that.
  mutating func demand(for sendClass: SendClass, now: UInt64) -> Int {
    let capacity = connectionSet.connections.capacity
    let free = connectionSet.free(capacity: capacity, open: queue.open, now: now)
    return queue.demand(
      for: sendClass, free: free, capacity: capacity, others: governor.limit)
  }

  // MARK: Pushes go out

  /// Sends what waits, as far as there is stream credit and a usable provider token.
  mutating func dispatch(_ work: inout Workload) {
    if work.turn.now >= governor.lookAt {
      governor.look(
        open: queue.openOfOthers, isWanted: queue.othersWait, hasFirst: queue.hasFirst,
        now: work.turn.now)
    }
    guard !queue.isEmpty else { return }
    let capacity = connectionSet.connections.capacity
    if queue.held > 0, connectionSet.hasNewAllowance(now: work.turn.now) { queue.bringBack() }
    while let free = connectionSet.connections.mostFree {
      guard connectionSet.prepareToken(of: free, &work.turn) else {
        // A connection that may not change its token yet drains; another one may serve.
        if connectionSet.connections[free].machine.credit == 0 { continue }
        return
      }
      guard let slot = next(capacity: capacity, now: work.turn.now) else { return }
      let sendClass = work.pushes[slot].life.sendClass
      switch place(slot, free, &work) {
      case .on(let index):
        if work.paces.isInForce, !work.keepsPace(slot) {
          queue.ended(sendClass)
        } else {
          if sendClass == .first { governor.sendsFirst(now: work.turn.now) }
          send(slot, on: index, &work)
        }
      case .ended: queue.ended(sendClass)
      case .held: queue.hold(slot, sendClass)
      }
    }
  }

  /// Takes the next push that may go; it counts as open from now on.
  ///
  /// - Parameter capacity: streams that its connections may have open in all.
  mutating func next(capacity: Int, now: UInt64) -> UInt32? {
    guard connectionSet.allowsMore(capacity: capacity, open: queue.open, now: now) else {
      return nil
    }
    return queue.next(capacity: capacity, others: governor.limit)
  }

  /// The place of a push whose turn it is.
  private enum Placement {
    case on(Int32)
    /// Nowhere: it has ended, or waits elsewhere.
    case ended
    /// Beside the line, because its app has to wait.
    case held
  }

  private mutating func place(_ slot: UInt32, _ free: Int32, _ work: inout Workload) -> Placement {
    guard work.isSendable(slot) else { return .ended }
    if connectionSet.hasRefusedApps() {
      switch connectionSet.permit(of: work.pushes[slot], now: work.turn.now) {
      case .now: break
      case .held: return .held
      case .retryTopic(let tier):
        work.park(slot, tier, .app)
        return .ended
      }
    }
    if work.pushes[slot].lastFailure.connection == 0 { return .on(free) }
    let (lastFailure, app) = (work.pushes[slot].lastFailure, work.pushes[slot].app)
    guard let index = connectionSet.elsewhere(lastFailure, app, insteadOf: free, &work.turn) else {
      heldForConnection.append(slot)
      return .ended
    }
    if connectionSet.isElsewhere(index, lastFailure, app) { work.tell(slot) { $0.moveOn() } }
    return .on(index)
  }

  private mutating func send(_ slot: UInt32, on index: Int32, _ work: inout Workload) {
    let isFirst = work.pushes[slot].life.attempts == 0
    connectionSet.opened(on: index, isFirst: isFirst, now: work.turn.now, wall: work.turn.wall)
    work.send(slot, on: ConnectionID(pool: number, index: index))
  }

  /// A push could not be sent after all. Whatever the reason (stream ids used up, a GOAWAY that is still to be heard): no
  /// more streams there.
  mutating func notSent(_ slot: UInt32, on index: Int32, _ work: inout Workload) {
    let sendClass = work.pushes[slot].life.sendClass
    queue.ended(sendClass)
    queue.prepend(slot, sendClass)
    connectionSet.notSent(on: index, &work.turn)
  }

  /// Puts pushes back in line that now have another place to go to, or have waited for one long enough.
  private mutating func bringBack(_ work: borrowing Workload) {
    for _ in 0..<heldForConnection.count {
      guard let slot = heldForConnection.popFirst() else { return }
      let (lastFailure, app) = (work.pushes[slot].lastFailure, work.pushes[slot].app)
      if connectionSet.canComeBack(lastFailure, app, now: work.turn.now) {
        queue.prepend(slot, work.pushes[slot].life.sendClass)
      } else {
        heldForConnection.append(slot)
      }
    }
  }

  // MARK: Streams end

  /// APNs answered with 200.
  mutating func accepted(_ slot: UInt32, on index: Int32, _ work: inout Workload) {
    let sendClass = work.pushes[slot].life.sendClass
    queue.ended(sendClass)
    governor.answered(isOverload: false)
    if sendClass == .first {
      governor.answered(
        first: work.turn.wall &- work.pushes[slot].sentAt, timeout: work.pushes.timeout)
    }
    connectionSet.accepted(
      on: index, app: work.pushes[slot].app, sentAt: work.pushes[slot].sentAt, &work.turn)
    // What was refused was sent before. `life` is in the cache, the failure is not.
    if work.pushes[slot].life.attempts > 1, work.pushes[slot].lastFailure.findsOut {
      connectionSet.foundOut(work.pushes[slot].lastFailure, on: index, &work.turn)
    }
    work.delivered(slot, by: Self.destination(number))
  }

  /// The answer was another one: the decision table says what it means for push, connection and credential.
  ///
  /// - Parameter retryAfter: milliseconds that the answer asked to wait; 0 if it did not.
  mutating func refused(
    _ slot: UInt32, on index: Int32, _ response: GatewayResponse, retryAfter: UInt64,
    _ work: inout Workload
  ) -> Failed {
    queue.ended(work.pushes[slot].life.sendClass)
    governor.answered(isOverload: response.status == 503)
    let reaction = connectionSet.refused(
      slot, work.pushes[slot], on: index, response, retryAfter: retryAfter, &work.turn)
    if reaction.isServed { work.answered(Self.destination(number)) }
    let verdict = response.verdict(for: work.pushes[slot].target)
    switch verdict {
    case .delivered: work.finish(slot, .delivered, nil, response)
    case .rejected(aboutToken: true): work.rejectToken(slot, response)
    case .rejected(aboutToken: false): work.finish(slot, .rejected, nil, response)
    default:
      var failure = Failure(cause: .answered(verdict), answer: response)
      failure.retryAfter = Int64(retryAfter)
      failure.isLost = response.isForeign && connectionSet.connections[index].isAbandoned
      failure.isOfAddress = reaction.isOfAddress
      return retry(slot, on: index, failure, &work)
    }
    return .nothing
  }

  /// The stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed the push.
  ///   - timedOut: we have given it up.
  ///   - isLost: the connection has ended, and the stream with it.
  mutating func unanswered(
    _ slot: UInt32, on index: Int32, isUnprocessed: Bool, timedOut: Bool, isLost: Bool,
    _ work: inout Workload
  ) -> Failed {
    queue.ended(work.pushes[slot].life.sendClass)
    connectionSet.unanswered(
      on: index, isUnprocessed: isUnprocessed, timedOut: timedOut, isLost: isLost,
      timeout: work.pushes.timeout, &work.turn)
    var failure = Failure(cause: isUnprocessed ? .unprocessed : .ambiguous)
    failure.isLost = isLost
    return retry(slot, on: index, failure, &work)
  }

  private mutating func retry(
    _ slot: UInt32, on index: Int32, _ failure: Failure, _ work: inout Workload
  ) -> Failed {
    if ends(slot, on: index, failure, &work) { return .nothing }
    let topic = work.partitions.retryTopic(of: work.pushes[slot].origin)
    let retry = connectionSet.retry(work.pushes[slot], from: topic, failure, work.turn)
    return follow(retry, slot, failure, &work)
  }
}
