// SPDX-License-Identifier: Apache-2.0

public import Contract

/// Credentials come, change and go while pushes are under way: connections that used the old one drain, what waited for
/// them goes on with the new one, and nothing is dropped.
extension Dispatcher {
  /// Records of the provider tokens' topic have come, in this order.
  ///
  /// - Parameter isComplete: all credentials that the topic had at the start are known.
  public mutating func updateTokens(_ updates: [ProviderTokenBook.Update], isComplete: Bool) {
    backlog.append(updates, isComplete: isComplete)
  }

  /// Applies some of the records that have come; after the last of what was told at once, routes the pushes that waited
  /// for a credential: once, however many there are.
  public mutating func applyTokens() {
    guard let batch = backlog.next() else { return }
    for update in batch.updates { apply(update) }
    guard batch.isLast else { return }
    credentials.applied(isComplete: batch.isComplete)
    intake.areDestinationsStale = true
    for index in credentials.drainReassigned() { routeAgain(.token(index)) }
    routeUnresolved()
  }

  private mutating func apply(_ update: ProviderTokenBook.Update) {
    switch credentials.apply(update, now: work.turn.wall) {
    case .stale, .quarantined: break
    case .added(let index), .lost(let index): renew(index)
    case .renewed(let index, let hasOtherApps): renew(index, hasOtherApps: hasOtherApps)
    case .removed(let index): retirePools(of: .token(index))
    }
  }

  /// Client certificates were read again: what is new serves from now on, what is gone drains.
  ///
  /// - Parameter places: where each of the certificates that there were stands now; nil for one that is gone.
  public mutating func updateCertificates(_ entries: [CertificateBook.Entry], places: [Int?]) {
    credentials.replaceCertificates(entries, now: work.turn.wall / 1_000)
    intake.areDestinationsStale = true
    var gone: [Int32] = []
    for pool in pools.indices where !pools[pool].isRetired {
      if !pools.trustRenewed(pool, places) {
        gone.append(pool)
      } else if case .certificate = pools[pool].credential {
        credentials.set(pool, of: pools[pool].credential, pools[pool].kind)
      }
    }
    // Their pushes may go to any of those that stay, which have to be known by then.
    for pool in gone { retire(pool) }
    routeUnresolved()
  }

  // MARK: Pools of credentials

  /// The pool of a credential's pushes to a gateway; made when it is first needed.
  mutating func pool(of credential: PoolCredential, _ kind: GatewayKind) -> Int32 {
    if let pool = credentials.pool(of: credential, kind) { return pool }
    let pool = pools.add(credential, kind, settings)
    credentials.set(pool, of: credential, kind)
    intake.areDestinationsStale = true
    work.turn.append(.openPool(pool))
    if case .token(let index) = credential { authorize(pool, index) }
    return pool
  }

  /// Gives the pools of a credential the token that it has now. Without one they open no connection and send nothing:
  /// what waits there is blocked as for any destination that makes no progress.
  private mutating func renew(_ index: Int, hasOtherApps: Bool = false) {
    for pool in credentials.pools(of: .token(index)) {
      authorize(pool, index, hasOtherApps: hasOtherApps)
    }
  }

  private mutating func authorize(_ pool: Int32, _ index: Int, hasOtherApps: Bool = false) {
    let isUsable = credentials.tokens.isUsable(index, now: work.turn.wall)
    let token =
      isUsable
      ? (credentials.tokens.stamp(index), credentials.tokens.entries[index].token) : nil
    let isNew = pools[pool].authorize(token, hasOtherApps: hasOtherApps, &work.turn)
    if isNew, isUsable { pools.touch(pool) }
  }

  private mutating func retirePools(of credential: PoolCredential) {
    for pool in credentials.pools(of: credential) {
      credentials.set(nil, of: credential, pools[pool].kind)
      retire(pool)
    }
  }

  /// Takes a pool out of service: its connections drain, and what waits in it is routed again.
  private mutating func retire(_ pool: Int32) {
    intake.areDestinationsStale = true
    for slot in pools.retire(pool, &work) { leaveLine(slot) }
  }

  // MARK: Time goes by

  /// Lets certificates that have expired give way, and tokens that have become too old; takes tokens whose time has
  /// come.
  mutating func refreshCredentials() {
    if let expired = credentials.refreshCertificates(now: work.turn.wall / 1_000) {
      for index in expired { retirePools(of: .certificate(index)) }
      routeUnresolved()
    }
    let changed = credentials.refreshTokens(now: work.turn.wall)
    guard !changed.isEmpty else { return }
    for index in changed {
      renew(index)
      routeAgain(.token(index))
    }
    routeUnresolved()
  }
}
