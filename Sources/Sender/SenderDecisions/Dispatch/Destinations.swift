// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Contract
import Credentials

/// The destinations of pushes: the credentials that there are, the pools of connections that carry the pushes of each,
/// and the lines in which pushes wait for a stream or for a credential.
///
/// Credentials come, change and go while pushes are under way: connections that used the old one drain, what waited for
/// them goes on with the new one, and nothing is dropped.
struct Destinations: ~Copyable, Sendable {
  private(set) var pools: Pools
  private(set) var credentials: Credentials
  /// Records of the provider tokens' topic that were told and not applied yet.
  private var backlog = ProviderTokenBacklog()
  /// Pushes whose app has no credential.
  private var waiting = SlotQueue()
  private var rounds = Upkeep()
  private let settings: DispatchSettings

  init(_ settings: DispatchSettings, certificates: CertificateBook) {
    self.settings = settings
    pools = Pools(limits: settings.budget)
    credentials = Credentials(certificates: certificates)
  }

  /// The number of destinations, with those that nothing was sent to yet.
  var count: Int { pools.served + credentials.unused }

  /// When time alone makes something due, in monotonic milliseconds; nil while nothing goes on.
  func nextDue(now: UInt64) -> UInt64? {
    if !backlog.isEmpty { return now }
    return !waiting.isEmpty || pools.hasActive ? rounds.due : nil
  }

  // MARK: From a slot to a line

  /// Decides where a push goes from here: in line, aside, or to its end.
  mutating func route(_ slot: UInt32, _ work: inout Workload) {
    guard work.isSendable(slot) else { return }
    guard let credential = credentials.credential(for: work.pushes[slot]) else {
      if credentials.shouldRequestToken(of: work.pushes[slot], now: work.turn.now) {
        work.turn.append(.requestAppToken(slot: slot))
      }
      if work.hold(slot, forAllowed: Int32(Fairness.noCredential), .credential) {
        work.awaitCredential(slot)
        waiting.append(slot)
      }
      return
    }
    let pool = pool(of: credential, work.pushes[slot].kind, &work)
    guard work.hold(slot, forAllowed: Pool.destination(pool), .share) else { return }
    enqueue(slot, pool, &work)
  }

  /// Puts a push in line at its pool.
  private mutating func enqueue(_ slot: UInt32, _ pool: Int32, _ work: inout Workload) {
    work.hold(slot, for: Pool.destination(pool))
    pools.enqueue(slot, pool, &work)
  }

  /// Moves aside what a stuck destination has over its share.
  mutating func shed(_ work: inout Workload) {
    guard let (destination, surplus) = work.shares.fairness.crowded else { return }
    for _ in 0..<surplus {
      if destination == Fairness.noCredential {
        guard let slot = waiting.popFirst() else { return }
        work.divert(slot, .credential)
      } else {
        guard let slot = pools.popLeast(of: Int32(destination) - 1) else { return }
        work.divert(slot, .share)
      }
    }
  }

  /// Tells a pool what happens to it or its connections.
  mutating func tell<Result>(
    _ pool: Int32, _ work: inout Workload, _ event: (inout Pool, inout Workload) -> Result
  ) -> Result {
    pools.tell(pool, &work, event)
  }

  // MARK: A push on a stream

  /// Something came from a connection's gateway, which allows so many streams at once now.
  mutating func touch(_ id: ConnectionID, limit: Int) { pools.touch(id, limit: limit) }

  /// The addresses of a pool's gateway have come, in the order to try them; nil when it has none.
  mutating func lookedUp(
    _ pool: Int32, _ addresses: [PeerAddress]?, _ work: inout Workload
  ) {
    let isWanted = !work.partitions.isStopping
    pools.touch(pool)
    pools.tell(pool, &work) { $0.lookedUp(addresses, isWanted: isWanted, &$1.turn) }
  }

  /// The number of further pushes of a class that would be sent now.
  mutating func demand(for sendClass: SendClass, now: UInt64) -> Int {
    pools.demand(for: sendClass, now: now)
  }

  /// Sends what waits and can go now.
  mutating func dispatch(_ work: inout Workload) { pools.dispatch(&work) }

  /// A push could not be sent after all.
  mutating func notSent(_ slot: UInt32, _ work: inout Workload) {
    pools.notSent(slot, on: work.takeBack(slot), &work)
  }

  /// Gives up on answers whose time has passed.
  func expireDeadlines(_ work: inout Workload) { pools.expireDeadlines(&work) }

  /// APNs answered a push with 200.
  mutating func accepted(_ slot: UInt32, _ work: inout Workload) {
    pools.accepted(slot, on: work.close(slot), &work)
  }

  /// A push was answered with anything else.
  ///
  /// - Parameter retryAfter: milliseconds that the answer asked to wait; 0 if it did not.
  mutating func refused(
    _ slot: UInt32, _ response: GatewayResponse, retryAfter: UInt64, _ work: inout Workload
  ) {
    let id = work.close(slot)
    let routesAgain = pools.ended(on: id.pool, &work) {
      $0.refused(slot, on: id.index, response, retryAfter: retryAfter, &$1)
    }
    if routesAgain { route(slot, &work) }
  }

  /// A push's stream ended without an answer.
  ///
  /// - Parameters:
  ///   - isUnprocessed: APNs has certainly not processed it.
  ///   - isLost: the connection has ended, and the stream with it.
  mutating func unanswered(
    _ slot: UInt32, isUnprocessed: Bool, isLost: Bool, _ work: inout Workload
  ) {
    let timedOut = work.pushes[slot].life.state == .timedOut
    let id = work.close(slot, isUnprocessed: isUnprocessed)
    let routesAgain = pools.ended(on: id.pool, &work) {
      $0.unanswered(
        slot, on: id.index, isUnprocessed: isUnprocessed, timedOut: timedOut, isLost: isLost, &$1)
    }
    if routesAgain { route(slot, &work) }
  }

  /// The partitions are asked back: drops what waits unsent.
  mutating func handBack(_ work: inout Workload) {
    for pool in pools.indices {
      while let slot = pools.popAny(of: pool) { work.handBack(slot) }
    }
    while let slot = waiting.popFirst() { work.handBack(slot) }
  }

  // MARK: Credentials come and go

  /// Records of the provider tokens' topic have come, in this order.
  mutating func updateTokens(_ updates: [ProviderTokenBook.Update], isComplete: Bool) {
    backlog.append(updates, isComplete: isComplete)
  }

  /// Applies some of the records that have come; after the last of what was told at once, routes the pushes that waited
  /// for a credential: once, however many there are.
  mutating func applyTokens(_ work: inout Workload) {
    guard let batch = backlog.next() else { return }
    for update in batch.updates { apply(update, &work) }
    guard batch.isLast else { return }
    credentials.applied(isComplete: batch.isComplete)
    work.destinationsChanged()
    for index in credentials.drainReassigned() { routeAgain(.token(index), &work) }
    routeUnresolved(&work)
  }

  private mutating func apply(
    _ update: ProviderTokenBook.Update, _ work: inout Workload
  ) {
    switch credentials.apply(update, now: work.turn.wall) {
    case .stale, .quarantined: break
    case .added(let index), .lost(let index): renew(index, &work)
    case .renewed(let index, let hasOtherApps):
      renew(index, &work)
      // APNs knows the topics of a team as they were when a connection sent its first push.
      if hasOtherApps { ageConnections(of: .token(index), &work) }
    case .removed(let index): retirePools(of: .token(index), &work)
    }
  }

  /// Client certificates were read again: what is new serves from now on, what is gone drains.
  ///
  /// - Parameter places: where each of the certificates that there were stands now; nil for one that is gone.
  mutating func updateCertificates(
    _ entries: [CertificateBook.Entry], places: [Int?], _ work: inout Workload
  ) {
    credentials.replaceCertificates(entries, now: work.turn.wall / 1_000)
    work.destinationsChanged()
    var gone: [Int32] = []
    for pool in pools.indices where !pools[pool].isRetired {
      pools.tell(pool, &work) { pool, _ in pool.trustRenewed() }
      pools.activate(pool)
      guard case .certificate(let index) = pools[pool].credential else { continue }
      if let place = places[index] {
        pools.tell(pool, &work) { pool, _ in pool.move(toCertificate: place) }
        credentials.set(pool, of: .certificate(place), pools[pool].kind)
      } else {
        gone.append(pool)
      }
    }
    // Their pushes may go to any of those that stay, which have to be known by then.
    for pool in gone { retire(pool, &work) }
    routeUnresolved(&work)
  }

  // MARK: Pools of credentials

  /// The pool of a credential's pushes to a gateway; made when it is first needed.
  private mutating func pool(
    of credential: PoolCredential, _ kind: GatewayKind, _ work: inout Workload
  ) -> Int32 {
    if let pool = credentials.pool(of: credential, kind) { return pool }
    let pool = pools.add(credential, kind, settings)
    credentials.set(pool, of: credential, kind)
    work.destinationsChanged()
    work.turn.append(.openPool(pool))
    if case .token(let index) = credential { authorize(pool, index, &work) }
    return pool
  }

  /// Gives the pools of a credential the token that it has now. Without one they open no connection and send nothing:
  /// what waits there is blocked as for any destination that makes no progress.
  private mutating func renew(_ index: Int, _ work: inout Workload) {
    for pool in credentials.pools(of: .token(index)) {
      authorize(pool, index, &work)
      pools.tell(pool, &work) { pool, _ in pool.renewed() }
    }
  }

  private mutating func authorize(
    _ pool: Int32, _ index: Int, _ work: inout Workload
  ) {
    let isUsable = credentials.tokens.isUsable(index, now: work.turn.wall)
    let token =
      isUsable
      ? (credentials.tokens.stamp(index), credentials.tokens.entries[index].token) : nil
    guard pools.tell(pool, &work, { pool, _ in pool.authorize(token) }) else { return }
    work.turn.append(.authorize(pool: pool))
    if isUsable { pools.touch(pool) }
  }

  private mutating func ageConnections(of credential: PoolCredential, _ work: inout Workload) {
    for pool in credentials.pools(of: credential) {
      pools.tell(pool, &work) { pool, _ in pool.age() }
    }
  }

  /// Routes the pushes again that wait for a credential and that it does not serve any more: another one may.
  private mutating func routeAgain(
    _ credential: PoolCredential, _ work: inout Workload
  ) {
    for pool in credentials.pools(of: credential) {
      for slot in Self.withoutConnection(by: credential, credentials, in: pool, &pools, work) {
        work.tell(slot) { $0.leaveLine() }
        route(slot, &work)
      }
    }
  }

  /// Takes the pushes out of a pool's line that another credential serves, or none.
  private static func withoutConnection(
    by credential: PoolCredential, _ credentials: borrowing Credentials, in pool: Int32,
    _ pools: inout Pools, _ work: borrowing Workload
  ) -> [UInt32] {
    pools.removeAll(of: pool) { credentials.credential(for: work.pushes[$0]) != credential }
  }

  private mutating func retirePools(
    of credential: PoolCredential, _ work: inout Workload
  ) {
    for pool in credentials.pools(of: credential) {
      credentials.set(nil, of: credential, pools[pool].kind)
      retire(pool, &work)
    }
  }

  /// Takes a pool out of service: its connections drain, and what waits in it is routed again.
  private mutating func retire(_ pool: Int32, _ work: inout Workload) {
    work.destinationsChanged()
    for slot in pools.retire(pool, &work) {
      work.tell(slot) { $0.leaveLine() }
      route(slot, &work)
    }
  }

  // MARK: Pushes that wait for a credential

  /// Puts the pushes in line that a credential now serves; the others keep their order and their time.
  private mutating func routeUnresolved(_ work: inout Workload) {
    for _ in 0..<waiting.count {
      guard let slot = waiting.popFirst() else { return }
      guard let credential = credentials.credential(for: work.pushes[slot]) else {
        waiting.append(slot)
        continue
      }
      work.gotCredential(slot)
      enqueue(slot, pool(of: credential, work.pushes[slot].kind, &work), &work)
    }
  }

  // MARK: Time goes by

  /// Looks after pools, connections and credentials.
  ///
  /// - Returns: false when that is not due yet.
  mutating func upkeep(_ work: inout Workload) -> Bool {
    guard let due = rounds.begin(now: work.turn.now) else { return false }
    let unresolved = waiting.count
    work.turn.set(.waiting, unresolved + pools.lookAfterActive(&work))
    if due.isRound {
      pools.lookAfterIdle(&work)
      refreshCredentials(&work)
      pools.closeIdle(&work.turn)
    }
    pools.removeRetired(&work.turn)
    if due.isExpiry { expireWaiting(&work) }
    return true
  }

  /// Lets certificates that have expired give way, and tokens that have become too old; takes tokens whose time has
  /// come.
  private mutating func refreshCredentials(_ work: inout Workload) {
    if let expired = credentials.refreshCertificates(now: work.turn.wall / 1_000) {
      for index in expired { retirePools(of: .certificate(index), &work) }
      routeUnresolved(&work)
    }
    let changed = credentials.refreshTokens(now: work.turn.wall)
    guard !changed.isEmpty else { return }
    for index in changed {
      renew(index, &work)
      routeAgain(.token(index), &work)
    }
    routeUnresolved(&work)
  }

  /// Ends what has waited for a credential for too long, and what has expired meanwhile, also where a destination takes
  /// nothing.
  private mutating func expireWaiting(_ work: inout Workload) {
    expireUnresolved(&work)
    for pool in pools.indices where !pools[pool].queue.isEmpty && pools[pool].isBlocked {
      let expired = pools.removeAll(of: pool) { work.pushes[$0].isExpired(at: work.turn.wall) }
      for slot in expired { work.expire(slot) }
    }
  }

  private mutating func expireUnresolved(_ work: inout Workload) {
    // Not in the order in which they began to wait: some come back from a retry topic.
    for _ in 0..<waiting.count {
      guard let slot = waiting.popFirst() else { return }
      if work.pushes[slot].isExpired(at: work.turn.wall) {
        work.expire(slot)
      } else if work.turn.now - work.pushes[slot].waitingSince >= settings.credentialWait,
        !credentials.mayServe(work.pushes[slot])
      {
        work.deadLetter(slot, .noCredential, credentials.cause(of: work.pushes[slot]))
      } else {
        waiting.append(slot)
      }
    }
  }
}
