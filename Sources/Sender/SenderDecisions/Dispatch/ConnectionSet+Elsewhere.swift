// SPDX-License-Identifier: Apache-2.0

/// What failed in one place goes out in another.
extension ConnectionSet {
  /// The connection for a push that failed before: to another address of the gateway where there is one, another
  /// connection otherwise. Nil when it should wait for one to be opened elsewhere.
  mutating func elsewhere(
    _ lastFailure: PushState.LastFailure, _ app: UInt64, insteadOf chosen: Int32, _ turn: inout Turn
  ) -> Int32? {
    var index = chosen
    if connections[chosen].serial == lastFailure.connection
      || !isElsewhere(chosen, lastFailure, app),
      let other = another(lastFailure, app), prepareToken(of: other, &turn)
    {
      index = other
    }
    guard !isElsewhere(index, lastFailure, app) else {
      turn.count(.movedAddress)
      return index
    }
    return mayWait(lastFailure, app, for: index, now: turn.now) ? nil : index
  }

  /// True if a connection leads to another address than where a push failed, and not to one that has refused its app.
  func isElsewhere(_ index: Int32, _ lastFailure: PushState.LastFailure, _ app: UInt64) -> Bool {
    let address = connections[index].address
    guard address != lastFailure.address else { return false }
    return !lastFailure.findsOut || !health.refusing.contains(app, at: address)
  }

  /// A connection with free streams that a push has not failed on, to another address if there is one.
  private func another(_ lastFailure: PushState.LastFailure, _ app: UInt64) -> Int32? {
    var found: Int32?
    for index in connections.indices where connections[index].machine.credit > 0 {
      guard connections[index].serial != lastFailure.connection else { continue }
      if isElsewhere(index, lastFailure, app) { return index }
      found = index
    }
    return found
  }

  /// True if a better place than this connection may yet be found.
  private func mayWait(
    _ lastFailure: PushState.LastFailure, _ app: UInt64, for index: Int32, now: UInt64
  ) -> Bool {
    guard lastFailure.connection != 0, !isPatienceOver(lastFailure, now: now) else { return false }
    // With all connections that there may be, none is opened elsewhere.
    let load = load
    let most = settings.pool.maximum
    guard load.connecting > 0 || load.serving - load.aged < most else { return false }
    if lastFailure.findsOut { return health.hasUntried(app, now: now) }
    return health.addresses.hasOther(than: connections[index].address, now: now)
      || (connections[index].serial == lastFailure.connection && most > 1)
  }

  /// A better place is waited for as long as one connect may take.
  private func isPatienceOver(_ lastFailure: PushState.LastFailure, now: UInt64) -> Bool {
    now - lastFailure.at >= settings.connectTimeout
  }

  /// True if a push that waits for another connection has one now, or has waited long enough.
  func canComeBack(_ lastFailure: PushState.LastFailure, _ app: UInt64, now: UInt64) -> Bool {
    if isPatienceOver(lastFailure, now: now) { return true }
    var first: Int32?
    for index in connections.indices where connections[index].machine.credit > 0 {
      if isElsewhere(index, lastFailure, app) { return true }
      if first == nil { first = index }
    }
    return first.map { !mayWait(lastFailure, app, for: $0, now: now) } ?? false
  }
}
