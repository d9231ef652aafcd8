// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewayModel
import Glibc
import Synchronization

/// The faults of the whole gateway: one engine for all loops, so that its counts cover the gateway. Loops check
/// `concerns` first, which takes no lock: without rules the cost is one branch.
final class FaultControl: Sendable {
  private struct State: Sendable {
    var engine: FaultEngine
    /// The TLS settings that rules need, created when the rule is added.
    var contexts: [FaultTLS: TLSContext] = [:]
  }

  private let state: Mutex<State>
  /// A bit for each stage that a rule applies to.
  private let stages = Atomic<UInt8>(0)
  /// Incremented whenever the rules change.
  private let currentVersion = Atomic<Int>(0)
  private let identity: TLSIdentity?
  /// Issues the certificates of TLS faults; created with the first of them.
  private let authority = Mutex<CertificateAuthority?>(nil)
  private let loops = Mutex<[(wakeup: Wakeup, known: Int)]>([])
  private let started = MonotonicClock.milliseconds()
  let seed: UInt64

  /// - Parameter identity: The gateway's own certificate, for TLS faults that do not replace it.
  init(seed: UInt64, identity: TLSIdentity?) {
    self.seed = seed
    self.identity = identity
    state = Mutex(State(engine: FaultEngine(seed: seed)))
  }

  /// Whether any rule applies to this stage.
  func concerns(_ stage: FaultStage) -> Bool {
    stages.load(ordering: .relaxed) & 1 << stage.rawValue != 0
  }

  /// Whether there are rules.
  var isActive: Bool { stages.load(ordering: .relaxed) != 0 }

  /// The version of the rules; 0 until the first rule is added.
  var version: Int { currentVersion.load(ordering: .acquiring) }

  /// Converts a monotonic time to milliseconds since the gateway started.
  func time(_ now: UInt64) -> UInt64 { now - min(now, started) }

  /// Registers a loop to be woken when the rules change. Returns the loop's index.
  func subscribe(_ wakeup: Wakeup) -> Int {
    loops.withLock { loops in
      loops.append((wakeup, 0))
      return loops.count - 1
    }
  }

  /// Records that a loop has applied this version of the rules.
  func applied(_ version: Int, loop place: Int) { loops.withLock { $0[place].known = version } }

  /// Waits for up to a second until every loop has applied the rules, so that a client of the admin API can rely on
  /// them after the response.
  func waitForLoops() {
    for _ in 0..<20_000 {
      let version = version
      if loops.withLock({ $0.allSatisfy { $0.known >= version } }) { return }
      usleep(50)
    }
  }

  /// Adds rules that count connections after this many. Throws, and adds nothing, if a rule needs a certificate that
  /// cannot be issued.
  func add(
    _ rules: [FaultRule], after connections: UInt64 = 0, seed: UInt64? = nil
  ) throws(FaultScriptError) {
    try add(rules, after: connections, seed: seed, without: { _ in false })
  }

  /// Replaces the rules of the previous profile. Their random numbers depend on the gateway's seed alone: choosing a
  /// profile again repeats its run.
  func setProfile(_ rules: [FaultRule], after connections: UInt64) throws(FaultScriptError) {
    try add(rules, after: connections, seed: seed) { $0.profile != nil }
  }

  private func add(
    _ rules: [FaultRule], after connections: UInt64, seed: UInt64?,
    without isRemoved: (FaultRule) -> Bool
  ) throws(FaultScriptError) {
    let made = try contexts(of: rules)
    state.withLock { state in
      state.engine.remove(where: isRemoved)
      state.contexts.merge(made) { $1 }
      state.engine.add(
        rules, at: time(MonotonicClock.milliseconds()), after: connections, seed: seed)
      publish(state.engine)
    }
  }

  private func contexts(of rules: [FaultRule]) throws(FaultScriptError) -> [FaultTLS: TLSContext] {
    var contexts: [FaultTLS: TLSContext] = [:]
    for rule in rules {
      guard case .tls(let fault) = rule.action else { continue }
      do { contexts[fault] = try context(fault) } catch {
        throw FaultScriptError("\(rule.name): \(error)")
      }
    }
    return contexts
  }

  /// Restarts the rules' connection counts after a reset of the gateway: its next connection is number 1.
  func restartConnections(after connections: UInt64) {
    state.withLock { $0.engine.restartConnections(after: connections) }
  }

  /// Removes all rules except the profile's, and returns how many there were. Connections that are already broken stay
  /// broken.
  func removeAll() -> Int {
    state.withLock { state in
      let before = state.engine.counts.count
      state.engine.remove { $0.profile == nil }
      if state.engine.isEmpty { state.contexts = [:] }
      publish(state.engine)
      return before - state.engine.counts.count
    }
  }

  /// The rules and how often each has fired.
  var counts: [FaultCount] { state.withLock { $0.engine.counts } }

  /// The certificate (PEM) of the authority that issues the certificates of TLS faults; nil while there are none.
  var root: [UInt8]? { authority.withLock { $0?.certificatePEM } }

  func decide(_ event: FaultEvent) -> [FaultDecision] { state.withLock { $0.engine.decide(event) } }

  /// Returns the standing rules that hold now, and the scope of each.
  func standing(_ event: FaultEvent) -> [(action: FaultAction, scope: FaultMatcher)] {
    state.withLock { state in
      state.engine.standing(event).map { ($0.action, state.engine.matcher(of: $0)) }
    }
  }

  func forget(connection: UInt64) { state.withLock { $0.engine.forget(connection: connection) } }

  func context(of fault: FaultTLS) -> TLSContext? { state.withLock { $0.contexts[fault] } }

  private func publish(_ engine: borrowing FaultEngine) {
    var bits: UInt8 = 0
    for stage in FaultStage.allCases where engine.concerns(stage) { bits |= 1 << stage.rawValue }
    stages.store(bits, ordering: .relaxed)
    currentVersion.add(1, ordering: .acquiringAndReleasing)
    loops.withLock { for loop in $0 { loop.wakeup.signal() } }
  }

  private func context(_ fault: FaultTLS) throws -> TLSContext? {
    switch fault.kind {
    case .expired: try .server(identity: read(fault) ?? issue(validity: .expired))
    case .wrongHost: try .server(identity: read(fault) ?? issue(names: ["elsewhere.invalid"]))
    case .unknownAuthority:
      try .server(identity: read(fault) ?? issue(by: CertificateAuthority(name: "unknown")))
    case .tls11: try .server(identity: own(), fault: .speaksOnlyTLS11)
    case .http1: try .server(identity: own(), fault: .selectsHTTP1)
    case .slow: nil
    case .certificateRequest:
      try .server(identity: own(), clientRoots: CertificateAuthority().certificatePEM)
    }
  }

  private func own() throws -> TLSIdentity {
    guard let identity else { throw FaultScriptError("the gateway has no certificate") }
    return identity
  }

  private func read(_ fault: FaultTLS) throws -> TLSIdentity? {
    guard let certificate = fault.certificate, let key = fault.key else { return nil }
    return try TLSIdentity.load(certificate: certificate, key: key)
  }

  /// Issues a certificate from this authority, or from the one whose root `GET /faults` shows.
  private func issue(
    names: [String] = ["localhost", "127.0.0.1", "::1"], validity: Validity = .years(1),
    by stranger: CertificateAuthority? = nil
  ) throws -> TLSIdentity {
    let issuer =
      try stranger
      ?? authority.withLock { known in
        let authority = try known ?? CertificateAuthority(name: "Martlet simulator fault root")
        known = authority
        return authority
      }
    let issued = try issuer.issueServer(names: names, validity: validity)
    return TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM)
  }
}
