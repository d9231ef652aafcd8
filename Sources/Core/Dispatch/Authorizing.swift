// SPDX-License-Identifier: Apache-2.0

package import Delivery
internal import Pipeline

/// Credentials come, change and go while pushes are under way: connections that used the old one drain, what waited
/// for them goes on with the new one, and nothing is dropped.
extension Dispatcher {
  // MARK: Events

  /// Records of the provider tokens' topic have come, in this order.
  ///
  /// - Parameter isComplete: all credentials that the topic held at the start are known.
  package mutating func tokensCame(_ updates: [ProviderTokenBook.Update], isComplete: Bool) {
    credentials.backlog.append(updates, isComplete: isComplete)
  }

  /// Applies some of the records that have come; after the last of what was told at once, routes the pushes that waited
  /// for a credential: once, however many there are.
  package mutating func applyTokens() {
    guard let batch = credentials.backlog.next() else { return }
    for update in batch.updates { apply(update) }
    guard batch.isLast else { return }
    credentials.knowsAll = batch.isComplete
    shares.destinationsChanged()
    routeUnresolved()
  }

  private mutating func apply(_ update: ProviderTokenBook.Update) {
    switch credentials.tokens.apply(update, now: wall) {
    case .stale, .quarantined: break
    case .added(let index): renew(index)
    case .renewed(let index, let hasOtherApps):
      renew(index)
      // APNs knows the topics of a team as they were when a connection sent its first push.
      if hasOtherApps { ageConnections(of: .token(index)) }
    case .removed(let index): retirePools(of: .token(index))
    }
  }

  /// Client certificates were read again: what is new serves from now on, what is gone drains.
  ///
  /// - Parameter places: where each of the certificates that there were stands now; nil for one that is gone.
  package mutating func certificatesCame(_ entries: [CertificateBook.Entry], places: [Int?]) {
    credentials.replaceCertificates(entries, now: wall / 1_000)
    shares.destinationsChanged()
    var gone: [Int32] = []
    for pool in pools.indices where !pools[pool].isRetired {
      pools[pool].health.trustRenewed()
      pools.activate(pool)
      guard case .certificate(let index) = pools[pool].credential else { continue }
      if let place = places[index] {
        pools[pool].credential = .certificate(place)
        credentials.set(pool, of: .certificate(place), pools[pool].kind)
      } else {
        gone.append(pool)
      }
    }
    // Their pushes may go to any of those that stay, which have to be known by then.
    for pool in gone { retire(pool) }
    routeUnresolved()
  }

  // MARK: Time goes by

  /// Lets certificates that have expired give way, and tokens that have become too old; takes tokens whose time has
  /// come.
  mutating func refreshCredentials() {
    if let expired = credentials.refreshCertificates(now: wall / 1_000) {
      for index in expired { retirePools(of: .certificate(index)) }
      routeUnresolved()
    }
    let changed = credentials.tokens.refresh(now: wall)
    guard !changed.isEmpty else { return }
    for index in changed { renew(index) }
    routeUnresolved()
  }

  /// Ends what has waited for a credential for too long, and what has expired meanwhile, also where a destination is
  /// held: four times a second.
  mutating func expireHeld() {
    guard now >= schedule.expiry else { return }
    schedule.expiry = now + 250
    expireUnresolved()
    for slot in takeExpiredHeld() { expire(slot) }
  }

  /// Takes the expired pushes out of the lines of destinations that are blocked. What is read of the pushes is let go
  /// before any of them is changed, which would copy them all.
  private mutating func takeExpiredHeld() -> [UInt32] {
    let (wall, pushes) = (self.wall, self.pushes)
    var expired: [UInt32] = []
    for pool in pools.indices where !pools[pool].queue.isEmpty && pools[pool].isBlocked {
      expired += pools[pool].queue.removeAll(where: { pushes[$0].isExpired(at: wall) })
    }
    return expired
  }

  private mutating func expireUnresolved() {
    // Not in the order in which they began to wait: some come back from a retry topic.
    for _ in 0..<credentials.waiting.count {
      guard let slot = credentials.waiting.popFirst() else { return }
      if pushes[slot].isExpired(at: wall) {
        expire(slot)
      } else if now - pushes[slot].waitingSince >= settings.credentialWait,
        !credentials.mayServe(pushes[slot])
      {
        deadLetter(slot, .noCredential, credentials.cause(of: pushes[slot]))
      } else {
        credentials.waiting.append(slot)
      }
    }
  }

  // MARK: Pools of credentials

  /// The pool of a credential's pushes to a gateway; made when it is first needed.
  mutating func pool(of credential: PoolCredential, _ kind: GatewayKind) -> Int32 {
    if let pool = credentials.pool(of: credential, kind) { return pool }
    let pool = pools.add(Pool(credential, kind, settings))
    credentials.set(pool, of: credential, kind)
    shares.destinationsChanged()
    actions.append(.openPool(pool))
    if case .token(let index) = credential { authorize(pool, index) }
    return pool
  }

  /// Gives the pools of a credential the token that it has now. Without one they open no connection and send nothing:
  /// what waits there is blocked as for any destination that makes no progress.
  private mutating func renew(_ index: Int) {
    for pool in credentials.pools(of: .token(index)) {
      authorize(pool, index)
      pools[pool].health.renewed()
    }
  }

  private mutating func authorize(_ pool: Int32, _ index: Int) {
    let hadToken = pools[pool].token != nil
    guard credentials.tokens.isUsable(index, now: wall) else {
      pools[pool].token = nil
      if hadToken { actions.append(.authorize(pool: pool)) }
      return
    }
    // The same token under another generation is no other token.
    let bytes = credentials.tokens.entries[index].token
    if hadToken, pools[pool].tokenBytes == bytes { return }
    pools[pool].token = credentials.tokens.stamp(index)
    pools[pool].tokenBytes = bytes
    pools[pool].tokenNumber += 1
    actions.append(.authorize(pool: pool))
    pools.touch(pool)
  }

  private mutating func ageConnections(of credential: PoolCredential) {
    for pool in credentials.pools(of: credential) {
      for number in pools[pool].connections { pools.connections[number].isAged = true }
    }
  }

  private mutating func retirePools(of credential: PoolCredential) {
    for pool in credentials.pools(of: credential) {
      credentials.set(nil, of: credential, pools[pool].kind)
      retire(pool)
    }
  }

  /// Takes a pool out of service: its connections drain, and what waits in it is routed anew.
  private mutating func retire(_ pool: Int32) {
    pools.retire(pool)
    shares.destinationsChanged()
    actions.append(.retirePool(pool))
    for number in pools[pool].connections {
      perform(pools.connections[number].machine.retire(), on: number)
    }
    while let slot = pools[pool].apart.popFirst() {
      pools[pool].queue.prepend(slot, pushes[slot].life.sendClass)
    }
    for _ in 0..<pools[pool].queue.count {
      guard let slot = pools[pool].queue.popAny() else { break }
      pushes[slot].life.leaveLine()
      route(slot)
    }
  }

  // MARK: Pushes that wait for a credential

  /// A push's app is served by no known credential: asks for a token.
  mutating func requestAppToken(_ slot: UInt32) {
    guard credentials.shouldRequestToken(of: pushes[slot], now: now) else { return }
    actions.append(.requestAppToken(slot: slot))
  }

  /// Holds a push until there is a credential for its app.
  mutating func waitForCredential(_ slot: UInt32) {
    pushes[slot].life.putAside()
    if pushes[slot].waitingSince == 0 { pushes[slot].waitingSince = now }
    credentials.waiting.append(slot)
  }

  /// Puts the pushes in line that a credential now serves; the others keep their order and their time.
  private mutating func routeUnresolved() {
    for _ in 0..<credentials.waiting.count {
      guard let slot = credentials.waiting.popFirst() else { return }
      guard let credential = credentials.credential(for: pushes[slot]) else {
        credentials.waiting.append(slot)
        continue
      }
      pushes[slot].life.resume()
      pushes[slot].waitingSince = 0
      shares.answered(Int32(Fairness.noCredential))
      enqueue(slot, pool(of: credential, pushes[slot].kind))
    }
  }
}
