// SPDX-License-Identifier: Apache-2.0

internal import Delivery
internal import Pipeline

/// Where pushes go: the credentials that there are, the pools of connections that carry the pushes of each, and the lines
/// in which pushes wait for a stream or for a credential.
///
/// Credentials come, change and go while pushes are under way: connections that used the old one drain, what waited for
/// them goes on with the new one, and nothing is dropped.
public struct Destinations: ~Copyable, Sendable {
  public internal(set) var pools: Pools
  public internal(set) var credentials: Credentials
  private let settings: DispatchSettings

  init(_ settings: DispatchSettings, certificates: CertificateBook) {
    self.settings = settings
    pools = Pools(limits: settings.budget)
    credentials = Credentials(certificates: certificates)
  }

  /// How many there are, with those that nothing was sent to yet.
  var count: Int { pools.served + credentials.unused }

  /// Whether something goes on that has to be looked after soon.
  var isBusy: Bool { !credentials.waiting.isEmpty || pools.hasActive }

  // MARK: From a slot to a line

  /// Decides where a push goes from here: in line, aside, or to its end.
  mutating func route(_ slot: UInt32, _ work: inout Workload, _ turn: inout Turn) {
    guard work.mayGo(slot, &turn) else { return }
    guard let credential = credentials.credential(for: work.pushes[slot]) else {
      if credentials.shouldRequestToken(of: work.pushes[slot], now: turn.now) {
        turn.append(.requestAppToken(slot: slot))
      }
      if work.hold(slot, forAllowed: Int32(Fairness.noCredential), .credential, &turn) {
        waitForCredential(slot, &work, now: turn.now)
      }
      return
    }
    let pool = pool(of: credential, work.pushes[slot].kind, &work, &turn)
    guard work.hold(slot, forAllowed: Pool.destination(pool), .share, &turn) else { return }
    enqueue(slot, pool, &work)
  }

  /// Puts a push in line at its pool.
  private mutating func enqueue(_ slot: UInt32, _ pool: Int32, _ work: inout Workload) {
    work.hold(slot, for: Pool.destination(pool))
    pools.touch(pool)
    work.pushes[slot].life.wait()
    pools[pool].queue.append(slot, work.pushes[slot].life.sendClass)
  }

  /// Puts a push back in line for another try, at the head or behind the others; of a pool that is gone, with its
  /// successor.
  mutating func requeue(
    _ slot: UInt32, _ pool: Int32, isLast: Bool, _ work: inout Workload, _ turn: inout Turn
  ) {
    if pools[pool].isRetired { return route(slot, &work, &turn) }
    work.pushes[slot].life.wait()
    if isLast {
      pools[pool].queue.append(slot, work.pushes[slot].life.sendClass)
    } else {
      pools[pool].queue.prepend(slot, work.pushes[slot].life.sendClass)
    }
    pools.touch(pool)
  }

  /// Moves aside what a stuck destination has over its share.
  mutating func shed(_ work: inout Workload, _ turn: inout Turn) {
    guard let (destination, surplus) = work.shares.fairness.crowded else { return }
    for _ in 0..<surplus {
      if destination == Fairness.noCredential {
        guard let slot = credentials.waiting.popFirst() else { return }
        work.divert(slot, .credential, &turn)
      } else {
        guard let slot = pools[Int32(destination) - 1].queue.popLeast() else { return }
        work.divert(slot, .share, &turn)
      }
    }
  }

  /// The partitions are asked back: drops what waits unsent.
  mutating func handBack(_ work: inout Workload, _ turn: inout Turn) {
    for pool in pools.indices {
      while let slot = pools[pool].queue.popAny() { work.handBack(slot, &turn) }
      while let slot = pools[pool].apart.popFirst() { work.handBack(slot, &turn) }
    }
    while let slot = credentials.waiting.popFirst() { work.handBack(slot, &turn) }
  }

  // MARK: Credentials come and go

  /// Applies some of the records that have come; after the last of what was told at once, routes the pushes that waited
  /// for a credential: once, however many there are.
  mutating func applyTokens(_ work: inout Workload, _ turn: inout Turn) {
    guard let batch = credentials.backlog.next() else { return }
    for update in batch.updates { apply(update, &work, &turn) }
    guard batch.isLast else { return }
    credentials.applied(isComplete: batch.isComplete)
    work.shares.destinationsChanged()
    for index in credentials.takeReassigned() { routeAgain(.token(index), &work, &turn) }
    routeUnresolved(&work, &turn)
  }

  private mutating func apply(
    _ update: ProviderTokenBook.Update, _ work: inout Workload, _ turn: inout Turn
  ) {
    switch credentials.tokens.apply(update, now: turn.wall) {
    case .stale, .quarantined: break
    case .added(let index), .lost(let index): renew(index, &turn)
    case .renewed(let index, let hasOtherApps):
      renew(index, &turn)
      // APNs knows the topics of a team as they were when a connection sent its first push.
      if hasOtherApps {
        ageConnections(of: .token(index))
        credentials.noteReassigned(index)
      }
    case .removed(let index): retirePools(of: .token(index), &work, &turn)
    }
  }

  /// Client certificates were read again: what is new serves from now on, what is gone drains.
  ///
  /// - Parameter places: where each of the certificates that there were stands now; nil for one that is gone.
  mutating func updateCertificates(
    _ entries: [CertificateBook.Entry], places: [Int?], _ work: inout Workload, _ turn: inout Turn
  ) {
    credentials.replaceCertificates(entries, now: turn.wall / 1_000)
    work.shares.destinationsChanged()
    var gone: [Int32] = []
    for pool in pools.indices where !pools[pool].isRetired {
      pools[pool].health.trustRenewed()
      pools.activate(pool)
      guard case .certificate(let index) = pools[pool].credential else { continue }
      if let place = places[index] {
        pools[pool].move(toCertificate: place)
        credentials.set(pool, of: .certificate(place), pools[pool].kind)
      } else {
        gone.append(pool)
      }
    }
    // Their pushes may go to any of those that stay, which have to be known by then.
    for pool in gone { retire(pool, &work, &turn) }
    routeUnresolved(&work, &turn)
  }

  // MARK: Pools of credentials

  /// The pool of a credential's pushes to a gateway; made when it is first needed.
  private mutating func pool(
    of credential: PoolCredential, _ kind: GatewayKind, _ work: inout Workload, _ turn: inout Turn
  ) -> Int32 {
    if let pool = credentials.pool(of: credential, kind) { return pool }
    let pool = pools.add(Pool(credential, kind, settings))
    credentials.set(pool, of: credential, kind)
    work.shares.destinationsChanged()
    turn.append(.openPool(pool))
    if case .token(let index) = credential { authorize(pool, index, &turn) }
    return pool
  }

  /// Gives the pools of a credential the token that it has now. Without one they open no connection and send nothing:
  /// what waits there is blocked as for any destination that makes no progress.
  private mutating func renew(_ index: Int, _ turn: inout Turn) {
    for pool in credentials.pools(of: .token(index)) {
      authorize(pool, index, &turn)
      pools[pool].health.renewed()
    }
  }

  private mutating func authorize(_ pool: Int32, _ index: Int, _ turn: inout Turn) {
    let isUsable = credentials.tokens.isUsable(index, now: turn.wall)
    let token =
      isUsable
      ? (credentials.tokens.stamp(index), credentials.tokens.entries[index].token) : nil
    guard pools[pool].authorize(token) else { return }
    turn.append(.authorize(pool: pool))
    if isUsable { pools.touch(pool) }
  }

  private mutating func ageConnections(of credential: PoolCredential) {
    for pool in credentials.pools(of: credential) {
      for number in pools[pool].connections { pools.connections[number].age() }
    }
  }

  /// Routes the pushes again that wait for a credential and that it does not serve any more: another one may.
  private mutating func routeAgain(
    _ credential: PoolCredential, _ work: inout Workload, _ turn: inout Turn
  ) {
    for pool in credentials.pools(of: credential) {
      let moved = Self.unserved(&pools[pool].queue, by: credential, credentials, work)
      for slot in moved {
        work.pushes[slot].life.leaveLine()
        route(slot, &work, &turn)
      }
    }
  }

  /// Takes the pushes out of a queue that another credential serves, or none.
  private static func unserved(
    _ queue: inout SendQueue, by credential: PoolCredential, _ credentials: borrowing Credentials,
    _ work: borrowing Workload
  ) -> [UInt32] {
    queue.removeAll { credentials.credential(for: work.pushes[$0]) != credential }
  }

  private mutating func retirePools(
    of credential: PoolCredential, _ work: inout Workload, _ turn: inout Turn
  ) {
    for pool in credentials.pools(of: credential) {
      credentials.set(nil, of: credential, pools[pool].kind)
      retire(pool, &work, &turn)
    }
  }

  /// Takes a pool out of service: its connections drain, and what waits in it is routed again.
  private mutating func retire(_ pool: Int32, _ work: inout Workload, _ turn: inout Turn) {
    pools.retire(pool)
    work.shares.destinationsChanged()
    turn.append(.retirePool(pool))
    for number in pools[pool].connections { pools.connections.retire(number, &turn) }
    while let slot = pools[pool].apart.popFirst() {
      pools[pool].queue.prepend(slot, work.pushes[slot].life.sendClass)
    }
    for _ in 0..<pools[pool].queue.count {
      guard let slot = pools[pool].queue.popAny() else { break }
      work.pushes[slot].life.leaveLine()
      route(slot, &work, &turn)
    }
  }

  // MARK: Pushes that wait for a credential

  /// A push waits until there is a credential for its app.
  private mutating func waitForCredential(
    _ slot: UInt32, _ work: inout Workload, now: UInt64
  ) {
    work.pushes[slot].life.putAside()
    work.pushes[slot].awaitCredential(now: now)
    credentials.waiting.append(slot)
  }

  /// Puts the pushes in line that a credential now serves; the others keep their order and their time.
  private mutating func routeUnresolved(_ work: inout Workload, _ turn: inout Turn) {
    for _ in 0..<credentials.waiting.count {
      guard let slot = credentials.waiting.popFirst() else { return }
      guard let credential = credentials.credential(for: work.pushes[slot]) else {
        credentials.waiting.append(slot)
        continue
      }
      work.pushes[slot].life.resume()
      work.pushes[slot].gotCredential()
      work.shares.answered(Int32(Fairness.noCredential))
      enqueue(slot, pool(of: credential, work.pushes[slot].kind, &work, &turn), &work)
    }
  }

  // MARK: Time goes by

  /// Lets certificates that have expired give way, and tokens that have become too old; takes tokens whose time has
  /// come.
  mutating func refreshCredentials(_ work: inout Workload, _ turn: inout Turn) {
    if let expired = credentials.refreshCertificates(now: turn.wall / 1_000) {
      for index in expired { retirePools(of: .certificate(index), &work, &turn) }
      routeUnresolved(&work, &turn)
    }
    let changed = credentials.tokens.refresh(now: turn.wall)
    guard !changed.isEmpty else { return }
    for index in changed {
      renew(index, &turn)
      routeAgain(.token(index), &work, &turn)
    }
    routeUnresolved(&work, &turn)
  }

  /// Ends what has waited for a credential for too long, and what has expired meanwhile, also where a destination takes
  /// nothing.
  mutating func expireWaiting(_ work: inout Workload, _ turn: inout Turn) {
    expireUnresolved(&work, &turn)
    for pool in pools.indices where !pools[pool].queue.isEmpty && pools[pool].isBlocked {
      let expired = pools[pool].queue.removeAll { work.pushes[$0].isExpired(at: turn.wall) }
      for slot in expired { work.expire(slot, &turn) }
    }
  }

  private mutating func expireUnresolved(_ work: inout Workload, _ turn: inout Turn) {
    // Not in the order in which they began to wait: some come back from a retry topic.
    for _ in 0..<credentials.waiting.count {
      guard let slot = credentials.waiting.popFirst() else { return }
      if work.pushes[slot].isExpired(at: turn.wall) {
        work.expire(slot, &turn)
      } else if turn.now - work.pushes[slot].waitingSince >= settings.credentialWait,
        !credentials.mayServe(work.pushes[slot])
      {
        work.deadLetter(slot, .noCredential, credentials.cause(of: work.pushes[slot]), &turn)
      } else {
        credentials.waiting.append(slot)
      }
    }
  }
}
