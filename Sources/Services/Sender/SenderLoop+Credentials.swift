// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import HTTP2
import Pipeline
import ServiceKit
import TLS

/// Credentials are replaced while pushes are under way: connections that used the old one drain, what waited
/// for them goes on with the new one, and nothing is dropped.
extension SenderLoop {
  /// The pool of a client certificate's pushes to a gateway; made when it is first needed.
  func pool(ofCertificate index: Int, _ kind: GatewayKind) -> GatewayPool {
    let place = kind.place(index)
    while certificatePools.count <= place { certificatePools.append(-1) }
    if certificatePools[place] >= 0, let pool = pools[Int(certificatePools[place])] { return pool }
    let certificate = access.certificates[index]
    let pool = makePool(
      certificate.certificate.commonName ?? certificate.path, kind,
      access.certificateTLS[index], .certificate)
    pool.fingerprint = certificate.certificate.fingerprint
    certificatePools[place] = pool.index
    return pool
  }

  /// Certificates and roots were read again: what is new serves from now on, what is gone drains.
  func renew(_ access: GatewayAccess) {
    self.access = access
    hasNewDestinations = true
    certificates = CertificateBook(access.certificates.map(\.entry), now: wall / 1_000)
    certificatePools = Array(
      repeating: -1, count: access.certificates.count * GatewayKind.allCases.count)
    for pool in pools {
      guard let pool, !pool.isRetired else { continue }
      pool.waiting.health.trustRenewed()
      activate(pool)
      guard let fingerprint = pool.fingerprint else {
        pool.tls = access.tls
        continue
      }
      let index = access.certificates.firstIndex { $0.certificate.fingerprint == fingerprint }
      if let index {
        pool.tls = access.certificateTLS[index]
        certificatePools[pool.kind.place(index)] = pool.index
      } else {
        retire(pool)
      }
    }
    routeUnresolved()
  }

  /// Lets certificates that have expired give way.
  func refreshCertificates() {
    guard !certificates.isEmpty, certificates.refresh(now: wall / 1_000) else { return }
    for (index, entry) in certificates.entries.enumerated() where entry.expiresAt <= wall / 1_000 {
      for kind in GatewayKind.allCases {
        let place = kind.place(index)
        guard place < certificatePools.count, certificatePools[place] >= 0,
          let pool = pools[Int(certificatePools[place])]
        else { continue }
        certificatePools[place] = -1
        retire(pool)
      }
    }
    routeUnresolved()
  }

  // MARK: Provider tokens

  /// Applies some of what has come from the provider tokens' topic; after the last of it, routes the pushes that waited
  /// for a credential: once, however many there are.
  func learn() {
    guard let batch = tokenBacklog.next() else { return }
    for update in batch.updates { apply(update) }
    guard batch.isLast else { return }
    knowsAllCredentials = batch.isComplete
    hasNewDestinations = true
    routeUnresolved()
  }

  private func apply(_ update: ProviderTokenBook.Update) {
    switch book.apply(update, now: wall) {
    case .stale, .quarantined: break
    case .added(let index): authorizePools(of: index)
    case .renewed(let index, let hasOtherApps):
      authorizePools(of: index)
      // APNs knows the topics of a team as they were when a connection sent its first push.
      guard hasOtherApps else { return }
      forEachPool(of: index) { pool in
        for connection in pool.connections { connection.isAged = true }
      }
    case .removed(let index): withdrawPools(of: index)
    }
  }

  /// Lets tokens go that have become too old, and takes those whose time has come.
  func refreshTokens() {
    let changed = book.refresh(now: wall)
    guard !changed.isEmpty else { return }
    for index in changed { authorizePools(of: index) }
    routeUnresolved()
  }

  /// Gives the pools of a credential the token that it has now. Without one they open no connection and send nothing:
  /// what waits there is held as for any destination that makes no progress.
  private func authorizePools(of index: Int) {
    forEachPool(of: index) { pool in
      authorize(pool, index)
      pool.waiting.health.renewed()
    }
  }

  func authorize(_ pool: GatewayPool, _ credential: Int) {
    let entry = book.entries[credential]
    guard book.isUsable(credential, now: wall) else {
      pool.authorization = nil
      return
    }
    // The same token under another generation is no other token.
    if let known = pool.authorization, known.carries(entry.token) { return }
    pool.authorization = Authorization(stamp: entry.stamp, token: entry.token)
    touch(pool)
  }

  private func withdrawPools(of index: Int) {
    forEachPool(of: index) { pool in
      tokenPools[pool.kind.place(index)] = -1
      retire(pool)
    }
  }

  private func forEachPool(of index: Int, _ act: (GatewayPool) -> Void) {
    for kind in GatewayKind.allCases {
      let place = kind.place(index)
      guard place < tokenPools.count, tokenPools[place] >= 0,
        let pool = pools[Int(tokenPools[place])]
      else { continue }
      act(pool)
    }
  }

  /// Takes a pool out of service: its connections drain, and what waits in it is routed anew.
  private func retire(_ pool: GatewayPool) {
    pool.isRetired = true
    retiredPools.append(pool.index)
    activate(pool)
    hasNewDestinations = true
    for connection in pool.connections { perform(connection.state.retire(), on: connection) }
    context.log.info(
      "credential withdrawn; its connections drain",
      ["credential": pool.credential, "environment": "\(pool.environment)"])
    while let slot = pool.apart.popFirst() {
      pool.waiting.prepend(slot, pushes[slot].pointee.life.sendClass)
    }
    for _ in 0..<pool.waiting.count {
      guard let slot = pool.waiting.popAny() else { break }
      pushes[slot].pointee.life.leaveLine()
      route(slot)
    }
  }

  /// Puts a push back in line for another try, at the head or behind the others; of a pool that is gone, with its
  /// successor.
  func requeue(_ slot: UInt32, _ pool: GatewayPool, isLast: Bool = false) {
    if pool.isRetired { return route(slot) }
    let push = pushes[slot]
    push.pointee.life.wait()
    if isLast {
      pool.waiting.append(slot, push.pointee.life.sendClass)
    } else {
      pool.waiting.prepend(slot, push.pointee.life.sendClass)
    }
    touch(pool)
  }

  /// Forgets pools that were withdrawn and have nothing left.
  func dropRetiredPools() {
    retiredPools.removeAll { index in
      guard let pool = pools[Int(index)], pool.connections.isEmpty, pool.lookups == 0
      else { return false }
      pools[Int(index)] = nil
      return true
    }
  }
}
