// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
public import GatewayModel
import Synchronization

/// The state of the whole gateway, for all requests.
public enum ServiceState: String, Sendable, CaseIterable {
  case normal
  /// 500 InternalServerError.
  case failing
  /// 503 ServiceUnavailable.
  case unavailable
  /// 503 Shutdown.
  case shutdown
}

/// The declared state of a client certificate.
public enum CertificateState: String, Sendable, CaseIterable {
  case active
  /// Refused in the TLS handshake.
  case revoked
  /// BadCertificate.
  case bad
}

/// The gateway's state, shared by its loops and the admin API. Loops check the version each turn and copy the state
/// when it has changed, so the hot path takes no lock.
public final class GatewayWorld: Sendable {
  /// The state that loops copy.
  struct Knowledge: Sendable {
    var keys: [GatewayKey]
    var devices = DeviceRegistry()
    var rules: GatewayRules
    var latency: LatencyModel
    var service = ServiceState.normal
    /// Client certificate states by fingerprint.
    var certificates: [String: CertificateState] = [:]
  }

  /// The state that loops change; only for what is rare or was switched on.
  struct Exchange: Sendable {
    var store = NotificationStore()
    /// Deliveries of notifications that had been stored.
    var deliveries: [Delivery] = []
    var updates: [String: TokenUpdates] = [:]
    var tokenRate = TokenRate()
    var connectionRate = ConnectionRate()
    var work = WorkQueue()
    var budgets = DeviceBudgets()
    /// The identities of valid provider tokens.
    var seenTokens: Set<UInt64> = []
  }

  private let knowledge: Mutex<Knowledge>
  private let exchange = Mutex(Exchange())
  let channels = Mutex(ChannelRegistry())
  private let currentVersion = Atomic(1)
  private let connectionIDs = Atomic<UInt64>(0)
  /// The number of connections accepted before the last reset.
  private let connectionsBefore = Atomic<UInt64>(0)
  /// The keys, rules and latency that the gateway was started with.
  private let standard: (keys: [GatewayKey], rules: GatewayRules, latency: LatencyModel)
  /// The offset of the gateway's clock from the machine's, in milliseconds; negative if it is behind.
  private let clockOffset = Atomic<Int64>(0)
  /// Verifies client certificates in the handshake; nil if none are requested.
  private let trust: ClientTrust?

  /// The number of deliveries of stored notifications that are remembered.
  private static let deliveryLimit = 1_000_000
  /// The number of provider tokens that are remembered; others do not expire on command.
  private static let tokenLimit = 100_000
  /// The number of teams or addresses that are tracked.
  private static let scopeLimit = 100_000

  public convenience init() {
    self.init(keys: [], tokens: [], rules: GatewayRules(), latency: .none, trust: nil)
  }

  init(
    keys: [GatewayKey], tokens: [DeclaredToken], rules: GatewayRules, latency: LatencyModel,
    trust: ClientTrust?
  ) {
    var known = Knowledge(keys: keys, rules: rules, latency: latency)
    for token in tokens { known.devices.declare(token) }
    knowledge = Mutex(known)
    standard = (keys, rules, latency)
    self.trust = trust
  }

  func nextConnectionID() -> UInt64 { connectionIDs.add(1, ordering: .relaxed).newValue }

  /// The number of connections accepted since the start.
  var connectionCount: UInt64 { connectionIDs.load(ordering: .relaxed) }

  /// Returns the reported number of the connection with this id: from 1 since the start or the last reset; 0 for one
  /// accepted before the reset.
  func number(ofConnection id: UInt64) -> UInt64 {
    let before = connectionsBefore.load(ordering: .relaxed)
    return id > before ? id - before : 0
  }

  var version: Int { currentVersion.load(ordering: .acquiring) }
  var known: Knowledge { knowledge.withLock { $0 } }
  var clockAhead: Int64 { clockOffset.load(ordering: .relaxed) }

  /// Moves the gateway's clock ahead, or back if negative.
  func moveClock(milliseconds: Int64) { clockOffset.add(milliseconds, ordering: .relaxed) }

  /// Changes the state that loops copy, and notifies them.
  @discardableResult
  func change<Result: Sendable, Failure: Error>(
    _ body: (inout Knowledge) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result = knowledge.withLock { known in
      // `withLock` does not pass a typed error through a generic parameter.
      Swift.Result { () throws(Failure) in try body(&known) }
    }
    currentVersion.add(1, ordering: .acquiringAndReleasing)
    return try result.get()
  }

  /// Sets behaviours. Throws for the first invalid one, and changes nothing then.
  func set(_ choices: [(name: String, value: String)]) throws(BehaviourError) {
    let rules = try change { known throws(BehaviourError) in
      var rules = known.rules
      for choice in choices { try rules.set(choice.name, choice.value) }
      known.rules = rules
      return rules
    }
    trust?.admitBroken(rules.badCertificate != .alert)
  }

  /// Restores the initial behaviours, latency and service state. Expired provider tokens stay expired.
  func restoreBehaviours() {
    change { known in
      let expired = known.rules.expiredTokens
      known.rules = standard.rules
      known.rules.expiredTokens = expired
      known.latency = standard.latency
      known.service = .normal
    }
    trust?.admitBroken(standard.rules.badCertificate != .alert)
  }

  /// Applies the fields of `PUT /profile`, except the profile itself.
  func apply(_ change: ProfileChange) throws(GatewayFileError) {
    do throws(BehaviourError) { try set(change.choices) } catch {
      throw GatewayFileError(description: error.description)
    }
    self.change { known in
      if let latency = change.latency { known.latency = latency }
      if let service = change.service { known.service = service }
    }
  }

  func withExchange<Result: Sendable>(_ body: (inout sending Exchange) -> sending Result) -> Result
  {
    exchange.withLock { body(&$0) }
  }

  /// Adds keys; an existing key with the same id is replaced.
  public func add(_ keys: [GatewayKey]) {
    change { known in known.keys = Self.keys(known.keys, without: keys) + keys }
  }

  /// The keys whose ids are not among the others.
  private static func keys(_ keys: [GatewayKey], without others: [GatewayKey]) -> [GatewayKey] {
    keys.filter { key in !others.contains { $0.facts.keyID == key.facts.keyID } }
  }

  public func declare(_ tokens: [DeclaredToken]) {
    change { known in
      for token in tokens { known.devices.declare(token) }
    }
  }

  /// Sets the states of certificates by fingerprint.
  func declare(certificates: [String: CertificateState]) {
    let revoked = change { known in
      known.certificates.merge(certificates) { $1 }
      return Set(known.certificates.filter { $0.value == .revoked }.keys)
    }
    trust?.revoke(revoked)
  }

  /// Forgets declared tokens and certificates, stored and delivered notifications, and channels. Restores the initial
  /// behaviours, latency, clock, connection numbers and keys; keys that were added stay.
  public func reset() {
    clockOffset.store(0, ordering: .relaxed)
    connectionsBefore.store(connectionCount, ordering: .relaxed)
    change { known in
      known.devices = DeviceRegistry()
      known.certificates = [:]
      known.service = .normal
      known.rules = standard.rules
      known.latency = standard.latency
      known.keys = standard.keys + Self.keys(known.keys, without: standard.keys)
    }
    trust?.revoke([])
    trust?.admitBroken(standard.rules.badCertificate != .alert)
    withExchange { $0 = Exchange() }
    channels.withLock { $0 = ChannelRegistry() }
  }

  // MARK: Devices

  /// Accepts a push to a device that the loop considers unreachable.
  func accept(_ push: AcceptedPush, roll: UInt64) -> PushFate {
    let (state, rules) = knowledge.withLock {
      ($0.devices.find(push.token.span)?.state ?? .active, $0.rules)
    }
    return withExchange { $0.store.accept(push, state: state, rules, roll: roll) }
  }

  /// Whether a reachable device accepts this push.
  func takes(
    token: [UInt8], app: [UInt8], _ kind: BudgetKind, _ limits: BudgetLimits?, now: Int64
  ) -> Bool {
    let rules = known.rules
    return withExchange { $0.budgets.takes(token: token, app: app, kind, limits, rules, now: now) }
  }

  /// Expires every provider token that was valid so far. Returns how many.
  func expireSeenTokens() -> Int {
    let seen = withExchange { $0.seenTokens }
    change { $0.rules.expiredTokens.formUnion(seen) }
    return seen.count
  }

  /// Changes a token's state and delivers what was stored for it. Returns how many were delivered.
  func set(_ token: String, _ state: DeclaredToken.State, now: Int64) -> Int {
    let entry = DeclaredToken(token: token, state: state)
    let (rules, limits) = change { known in
      let old = known.devices.find(entry.token.span)
      known.devices.declare(old?.with(state) ?? entry)
      return (known.rules, old?.budgets)
    }
    return withExchange { exchange in
      switch state {
      case .active:
        let waiting = exchange.store.release(entry.token, now: now)
        let room = max(0, Self.deliveryLimit - exchange.deliveries.count)
        for push in waiting.prefix(room) {
          let kind = BudgetKind(
            push.type, priority: push.priority, isStart: BodyFacts(push.body).event == .start)
          let isTaken =
            kind.map {
              exchange.budgets.takes(token: push.token, app: push.app, $0, limits, rules, now: now)
            } ?? true
          exchange.deliveries.append(
            Delivery(push, deliveredAt: now, overBudget: isTaken ? nil : kind))
        }
        return waiting.count
      case .gone, .bad: exchange.store.drop(entry.token)
      case .offline, .powerRestricted: break
      }
      return 0
    }
  }

  // MARK: Rules wider than a connection

  var sharedChecks: SharedChecks {
    SharedChecks(
      tokenUpdate: { [self] scope, token, now in
        let rules = known.rules
        return withExchange { exchange in
          guard exchange.updates.count < Self.scopeLimit || exchange.updates[scope] != nil else {
            return .accepted
          }
          return exchange.updates[scope, default: TokenUpdates()].judge(token, rules, now: now)
        }
      },
      tokenRate: { [self] token, now in
        let rules = known.rules
        return withExchange { $0.tokenRate.admits(token, rules, now: now) }
      },
      tokenSeen: { [self] identity in
        withExchange { exchange in
          guard exchange.seenTokens.count < Self.tokenLimit else { return }
          exchange.seenTokens.insert(identity)
        }
      })
  }
}
