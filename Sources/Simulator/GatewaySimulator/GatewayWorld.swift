// SPDX-License-Identifier: Apache-2.0
import APNS
public import GatewayModel
import Synchronization
import TLS

/// The state of the whole gateway, whatever the request.
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

/// The gateway's knowledge, shared by its loops and the admin port. Loops look at the version each turn and take a copy
/// when it has changed: the hot path takes no lock.
public final class GatewayWorld: Sendable {
  /// The part that loops copy.
  struct Knowledge: Sendable {
    var keys: [GatewayKey]
    var devices = DeviceRegistry()
    var rules: GatewayRules
    var latency: LatencyModel
    var service = ServiceState.normal
    /// By fingerprint.
    var certificates: [String: CertificateState] = [:]
  }

  /// The part that loops change; only for what is rare or was switched on.
  struct Exchange: Sendable {
    var store = NotificationStore()
    /// Of notifications that had waited.
    var deliveries: [Delivery] = []
    var updates: [String: TokenUpdates] = [:]
    var tokenRate = TokenRate()
    var connectionRate = ConnectionRate()
    var work = WorkQueue()
    var budgets = DeviceBudgets()
    /// The identities of provider tokens that were right.
    var seenTokens: Set<UInt64> = []
  }

  private let knowledge: Mutex<Knowledge>
  private let exchange = Mutex(Exchange())
  let channels = Mutex(ChannelRegistry())
  private let currentVersion = Atomic(1)
  private let connectionIDs = Atomic<UInt64>(0)
  /// Connections accepted before the last reset.
  private let connectionsBefore = Atomic<UInt64>(0)
  /// Keys, rules and latency as the gateway was started.
  private let standard: (keys: [GatewayKey], rules: GatewayRules, latency: LatencyModel)
  /// Milliseconds that the gateway's clock is ahead of the machine's, or behind if it is negative.
  private let clockOffset = Atomic<Int64>(0)
  /// Judges client certificates in the handshake; nil when none are asked for.
  private let trust: ClientTrust?

  /// So many deliveries of waiting notifications are remembered.
  private static let deliveryLimit = 1_000_000
  /// So many provider tokens are remembered; further ones do not expire on command.
  private static let tokenLimit = 100_000
  /// So many teams or addresses are told apart.
  private static let scopeLimit = 100_000

  public init(
    keys: [GatewayKey] = [], tokens: [DeclaredToken] = [], rules: GatewayRules = GatewayRules(),
    latency: LatencyModel = .none
  ) {
    var known = Knowledge(keys: keys, rules: rules, latency: latency)
    for token in tokens { known.devices.declare(token) }
    knowledge = Mutex(known)
    standard = (keys, rules, latency)
    trust = nil
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

  /// An id for a new connection, from 1 on.
  func nextConnectionID() -> UInt64 {
    connectionIDs.add(1, ordering: .relaxed).newValue
  }

  /// Connections accepted since the start.
  var connectionCount: UInt64 { connectionIDs.load(ordering: .relaxed) }

  /// The number of the connection with this id as reports show it: from 1 since the start or the last
  /// reset; 0 for one that was there before the reset.
  func number(ofConnection id: UInt64) -> UInt64 {
    let before = connectionsBefore.load(ordering: .relaxed)
    return id > before ? id - before : 0
  }

  var version: Int { currentVersion.load(ordering: .acquiring) }
  var known: Knowledge { knowledge.withLock { $0 } }
  var clockAhead: Int64 { clockOffset.load(ordering: .relaxed) }

  /// Moves the gateway's clock ahead, or back if the number is negative.
  func moveClock(milliseconds: Int64) { clockOffset.add(milliseconds, ordering: .relaxed) }

  /// Changes what loops copy, and tells them.
  @discardableResult
  func change<Result: Sendable, Failure: Error>(
    _ body: (inout Knowledge) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result = knowledge.withLock { known in
      // withLock does not carry a typed error through a generic parameter.
      Swift.Result { () throws(Failure) in try body(&known) }
    }
    currentVersion.add(1, ordering: .acquiringAndReleasing)
    return try result.get()
  }

  /// Switches behaviours. Throws the first that cannot be, and changes nothing then.
  func set(_ choices: [(name: String, value: String)]) throws(BehaviourError) {
    let rules = try change { known throws(BehaviourError) in
      var rules = known.rules
      for choice in choices { try rules.set(choice.name, choice.value) }
      known.rules = rules
      return rules
    }
    trust?.admitBroken(rules.badCertificate != .alert)
  }

  /// Behaviours, latency and service as at the start. Provider tokens that have expired stay so.
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

  /// Makes a change that was read from `PUT /profile`; its profile is not looked at.
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

  /// Adds keys; one with a known id replaces it.
  public func add(_ keys: [GatewayKey]) {
    change { known in known.keys = Self.keys(known.keys, without: keys) + keys }
  }

  /// The keys whose ids no other one has.
  private static func keys(_ keys: [GatewayKey], without others: [GatewayKey]) -> [GatewayKey] {
    keys.filter { key in !others.contains { $0.facts.keyID == key.facts.keyID } }
  }

  public func declare(_ tokens: [DeclaredToken]) {
    change { known in
      for token in tokens { known.devices.declare(token) }
    }
  }

  /// Declares certificates by their fingerprints.
  func declare(certificates: [String: CertificateState]) {
    let revoked = change { known in
      known.certificates.merge(certificates) { $1 }
      return Set(known.certificates.filter { $0.value == .revoked }.keys)
    }
    trust?.revoke(revoked)
  }

  /// Forgets declared tokens and certificates, what waits, what was delivered, and channels; behaviours,
  /// latency, clock, connection numbers and the keys of the start are as they were. Keys that were added stay.
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

  /// A push to a device that cannot be reached now, as the loop sees it.
  func accept(_ push: AcceptedPush, roll: UInt64) -> PushFate {
    let (state, rules) = knowledge.withLock {
      ($0.devices.find(push.token.span)?.state ?? .active, $0.rules)
    }
    return withExchange { $0.store.accept(push, state: state, rules, roll: roll) }
  }

  /// True if a device that can be reached takes this push.
  func takes(
    token: [UInt8], app: [UInt8], _ kind: BudgetKind, _ limits: BudgetLimits?, now: Int64
  ) -> Bool {
    let rules = known.rules
    return withExchange {
      $0.budgets.takes(token: token, app: app, kind, limits, rules, now: now)
    }
  }

  /// Every provider token that was right so far has expired. Returns how many.
  func expireSeenTokens() -> Int {
    let seen = withExchange { $0.seenTokens }
    change { $0.rules.expiredTokens.formUnion(seen) }
    return seen.count
  }

  /// Changes a token's state and delivers what has waited for it. Returns how many.
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
              exchange.budgets.takes(
                token: push.token, app: push.app, $0, limits, rules, now: now)
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
