// SPDX-License-Identifier: Apache-2.0

public import Delivery

/// What a pool's pushes authenticate with.
public enum PoolCredential: Sendable, Equatable {
  /// A credential of the `ProviderTokenBook`, by its index there.
  case token(Int)
  /// A certificate of the `CertificateBook`.
  case certificate(Int)
}

/// The connections of one loop that carry the pushes of one credential to one gateway, and the pushes that wait
/// for them.
///
/// APNs ties a connection to the team and key of its first push or to its client certificate, so that is what
/// connections are pooled by.
public struct Pool: Sendable {
  public let kind: GatewayKind
  public private(set) var credential: PoolCredential
  /// Pushes that wait for a stream.
  public internal(set) var queue: SendQueue
  /// How the gateway takes them, and what follows for connections and retries.
  public internal(set) var health: DestinationHealth
  /// Pushes that failed where all free connections lead, until there is another one.
  public internal(set) var apart = SlotQueue()
  /// Its connections, by number.
  public private(set) var connections: [Int32] = []
  /// Look-ups of names for connections to come.
  private(set) var lookups = 0
  /// Searches for connections to come that have their addresses.
  private(set) var races: [AddressRace] = []
  private var lastRace: UInt32 = 0
  /// The newest provider token; nil while there is none that may be sent.
  public private(set) var token: ProviderTokenStamp?
  /// The token itself: a secret.
  public private(set) var tokenBytes: [UInt8] = []
  /// Counts the tokens that it had.
  private(set) var tokenNumber: UInt32 = 0
  /// Monotonic milliseconds of the next look if it is calm until then.
  private(set) var lookAt: UInt64 = 0
  /// Something goes on: it is looked at in each upkeep, not once a second only.
  private(set) var isActive = false
  /// Something has changed since pushes were last dispatched.
  private var isTouched = false
  /// Its credential is gone: what waits here belongs elsewhere, and its connections drain.
  public private(set) var isRetired = false
  /// It was retired and is empty.
  public private(set) var isRemoved = false

  init(_ credential: PoolCredential, _ kind: GatewayKind, _ settings: DispatchSettings) {
    self.credential = credential
    self.kind = kind
    queue = SendQueue(shares: LaneShares(reserved: settings.reservedPercent))
    health = DestinationHealth(
      pool: settings.pool, retries: RetryPolicy(maximumAttempts: settings.maxAttempts),
      budget: RetryBudget(percent: settings.retryBudgetPercent))
  }

  public var authentication: ConnectionStateMachine.Authentication {
    if case .certificate = credential { .certificate } else { .providerToken }
  }

  /// Whether there is something to authenticate with.
  public var isAuthorized: Bool { token != nil || authentication == .certificate }

  /// Something cannot be sent now: no valid token, the destination is out, or an app has to wait.
  var isBlocked: Bool { !isAuthorized || !health.isUndisturbed || queue.beside > 0 }

  /// Nothing waits to be sent.
  var isIdle: Bool { queue.isEmpty && apart.isEmpty }

  /// Whether some app has to wait. `mutating`, although it only reads: otherwise it would be asked of a copy.
  mutating func hasRefusedApps() -> Bool { health.hasRefusedApps }

  // MARK: Where something goes on

  /// Something has changed.
  ///
  /// - Returns: false if that is known already.
  mutating func touch() -> Bool {
    guard !isTouched else { return false }
    isTouched = true
    return true
  }

  /// What has changed is about to be acted on.
  mutating func dispatched() { isTouched = false }

  /// Something goes on.
  ///
  /// - Returns: false if that is known already.
  mutating func activate() -> Bool {
    guard !isActive else { return false }
    isActive = true
    return true
  }

  mutating func deactivate() { isActive = false }

  /// It is looked at, and next at this time if it is calm until then.
  mutating func look(next: UInt64) { lookAt = next }

  // MARK: Connections

  mutating func beganLookUp() { lookups += 1 }
  mutating func endedLookUp() { lookups -= 1 }

  /// A search begins.
  ///
  /// - Returns: its number.
  mutating func beginRace(_ addresses: [PeerAddress]) -> UInt32 {
    lastRace = lastRace == .max ? 1 : lastRace + 1
    races.append(AddressRace(number: lastRace, addresses))
    return lastRace
  }

  /// The next address of a search; nil when all were tried.
  mutating func nextAddress(of race: UInt32, now: UInt64) -> PeerAddress? {
    races.firstIndex { $0.number == race }.flatMap { races[$0].next(now: now) }
  }

  /// An attempt of a search came nearer.
  mutating func advanced(_ race: UInt32, now: UInt64) {
    if let index = races.firstIndex(where: { $0.number == race }) {
      races[index].advanced(now: now)
    }
  }

  /// An attempt of a search has ended without a connection.
  mutating func endAttempt(of race: UInt32, isLast: Bool) {
    if let index = races.firstIndex(where: { $0.number == race }) {
      races[index].ended(isLast: isLast)
    }
  }

  /// Removes a search that is over.
  ///
  /// - Returns: whether it was there.
  mutating func removeIfOver(_ race: UInt32) -> Bool {
    guard let index = races.firstIndex(where: { $0.number == race && $0.isOver }) else {
      return false
    }
    races.remove(at: index)
    return true
  }

  /// A search has found a connection.
  mutating func remove(race: UInt32) { races.removeAll { $0.number == race } }

  mutating func add(connection number: Int32) { connections.append(number) }
  mutating func remove(connection number: Int32) { connections.removeAll { $0 == number } }

  // MARK: Its credential

  /// Its certificate has another index in the `CertificateBook` now.
  mutating func move(toCertificate index: Int) { credential = .certificate(index) }

  mutating func retire() { isRetired = true }
  mutating func remove() { isRemoved = true }

  /// Takes the provider token that its credential has now; nil for none that may be sent.
  ///
  /// - Returns: whether that is another one.
  mutating func authorize(_ newest: (stamp: ProviderTokenStamp, bytes: [UInt8])?) -> Bool {
    let hadToken = token != nil
    guard let newest else {
      token = nil
      return hadToken
    }
    // The same token under another generation is no other token.
    if hadToken, tokenBytes == newest.bytes { return false }
    token = newest.stamp
    tokenBytes = newest.bytes
    tokenNumber += 1
    return true
  }

  // MARK: Pushes

  /// Takes the next push that may go; it counts as open from now on.
  ///
  /// - Parameter capacity: streams that its connections may have open in all.
  mutating func next(capacity: Int, now: UInt64) -> UInt32? {
    if !health.isUndisturbed, queue.open >= health.allowance(capacity: capacity, now: now) {
      return nil
    }
    return queue.next(capacity: capacity)
  }

  /// How many more pushes of a class would be sent now; negative when more wait than that.
  mutating func demand(for sendClass: SendClass, credit: Int, capacity: Int, now: UInt64) -> Int {
    var free = credit
    if !health.isUndisturbed {
      free = min(free, max(0, health.allowance(capacity: capacity, now: now) - queue.open))
    }
    return queue.demand(for: sendClass, free: free, capacity: capacity)
  }

  /// The destination as `Fairness` knows it.
  static func destination(_ pool: Int32) -> Int32 { pool + 1 }
}
