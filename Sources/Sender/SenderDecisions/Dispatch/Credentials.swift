// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The credentials that the sender knows, and which pool serves which of them.
struct Credentials: ~Copyable, Sendable {
  private(set) var tokens = ProviderTokenBook()
  private(set) var certificates: CertificateBook
  /// The pool of a credential and of a client certificate, by `GatewayKind.place`; −1 for none yet.
  private var tokenPools: [Int32] = []
  private var certificatePools: [Int32] = []
  /// True if all credentials that the topic had at the start are known: no app is unknown before.
  private(set) var knowsAll = false
  /// Credentials that serve other apps than before, according to the records that are being applied.
  private var reassigned: [Int] = []
  /// Apps for which a provider token was asked for a moment ago.
  private var wanted = ThrottleTable(capacity: 256)
  /// The number of requests in the current second, which began at `since` (monotonic milliseconds).
  private var asked = (since: UInt64(0), count: 0)
  /// Most requests per second: anyone may write notifications of apps that nobody has.
  static let mostRequests = 256

  init(certificates: CertificateBook) { self.certificates = certificates }

  // MARK: Which credential serves a push

  /// The credential that serves a push; nil while none is known that does.
  // Inlined, for the push would be copied as a whole.
  @inline(__always)
  func credential(for push: borrowing PushState) -> PoolCredential? {
    let environment = push.kind.environment
    // APNs takes location pushes and some others with provider tokens only.
    if !certificates.isEmpty, push.authentication != .providerToken,
      let certificate = certificates.resolve(appHash: push.app, environment: environment)
    {
      return .certificate(certificate)
    }
    if case .certificate = push.authentication { return nil }
    return tokens.resolve(appHash: push.app, environment: environment).map { .token($0) }
  }

  /// True if a credential may yet turn out to serve the push: not all of them are known, or it is a certificate whose
  /// time is over and that has to be renewed.
  func mayServe(_ push: borrowing PushState) -> Bool {
    if push.authentication != .providerToken,
      certificates.knows(appHash: push.app, environment: push.kind.environment)
    {
      return true
    }
    if push.authentication == .certificate { return false }
    return !knowsAll || tokens.entries.isEmpty && certificates.isEmpty
  }

  /// Why no credential serves a push.
  func cause(of push: borrowing PushState) -> ReceiptCause {
    if push.authentication == .certificate { return .certificateNeeded }
    guard push.authentication == .providerToken else { return .noCredential }
    let certificate = certificates.resolve(
      appHash: push.app, environment: push.kind.environment)
    return certificate != nil ? .certificateOnly : .noCredential
  }

  /// Decides whether to ask now for an app's provider token: once per second for each, and for a bounded number of
  /// apps, because a backlog must not become a flood of messages. What is left out is asked for with a later push.
  mutating func shouldRequestToken(of push: borrowing PushState, now: UInt64) -> Bool {
    guard push.authentication != .certificate else { return false }
    let app = push.app &+ UInt64(push.kind.environment.rawValue)
    guard wanted.remaining(app, now: now) == 0 else { return false }
    if now >= asked.since + 1_000 { asked = (now, 0) }
    guard asked.count < Self.mostRequests else { return false }
    asked.count += 1
    wanted.throttle(app, until: now + 1_000)
    return true
  }

  /// The records that were told at once have been applied.
  ///
  /// - Parameter isComplete: all credentials that the topic had at the start are known.
  mutating func applied(isComplete: Bool) { knowsAll = isComplete }

  /// Applies one record of the provider tokens' topic.
  mutating func apply(
    _ update: ProviderTokenBook.Update, now: Int64
  ) -> ProviderTokenBook.Change {
    let change = tokens.apply(update, now: now)
    if case .renewed(let index, hasOtherApps: true) = change { reassigned.append(index) }
    return change
  }

  /// Credentials that serve other apps than before, according to the records that were applied since the last call.
  mutating func drainReassigned() -> [Int] {
    defer { reassigned = [] }
    return reassigned
  }

  // MARK: Pools

  /// The pool of a credential's pushes to a gateway, if there is one.
  func pool(of credential: PoolCredential, _ kind: GatewayKind) -> Int32? {
    let pool =
      switch credential {
      case .token(let index): Self.find(kind.place(index), in: tokenPools)
      case .certificate(let index): Self.find(kind.place(index), in: certificatePools)
      }
    return pool >= 0 ? pool : nil
  }

  private static func find(_ place: Int, in pools: [Int32]) -> Int32 {
    place < pools.count ? pools[place] : -1
  }

  /// Notes the pool of a credential; nil for none any more.
  mutating func set(_ pool: Int32?, of credential: PoolCredential, _ kind: GatewayKind) {
    switch credential {
    case .token(let index): Self.set(pool ?? -1, at: kind.place(index), in: &tokenPools)
    case .certificate(let index): Self.set(pool ?? -1, at: kind.place(index), in: &certificatePools)
    }
  }

  private static func set(_ pool: Int32, at place: Int, in pools: inout [Int32]) {
    while pools.count <= place { pools.append(-1) }
    pools[place] = pool
  }

  /// The pools of a credential.
  func pools(of credential: PoolCredential) -> [Int32] {
    GatewayKind.allCases.compactMap { pool(of: credential, $0) }
  }

  /// Credentials that no pool was made for yet: destinations, too.
  var unused: Int {
    var count = 0
    for index in tokens.entries.indices
    where tokens.isKnown(index) && !hasPool(of: .token(index)) { count += 1 }
    for index in certificates.entries.indices where !hasPool(of: .certificate(index)) {
      count += 1
    }
    return count
  }

  private func hasPool(of credential: PoolCredential) -> Bool {
    GatewayKind.allCases.contains { pool(of: credential, $0) != nil }
  }

  // MARK: What time changes

  /// Lets provider tokens that have become too old give way, and takes those whose time has come.
  ///
  /// - Parameter now: milliseconds since the epoch.
  /// - Returns: the credentials concerned.
  mutating func refreshTokens(now: Int64) -> [Int] { tokens.refresh(now: now) }

  /// Certificates were read again; no pool serves any of them until it is `set`.
  mutating func replaceCertificates(_ entries: [CertificateBook.Entry], now: Int64) {
    certificates = CertificateBook(entries, now: now)
    certificatePools = []
  }

  /// Lets certificates that have expired give way; nil when none has.
  ///
  /// - Parameter now: seconds since the epoch.
  mutating func refreshCertificates(now: Int64) -> [Int]? {
    guard !certificates.isEmpty, certificates.refresh(now: now) else { return nil }
    return certificates.entries.indices.filter { certificates.entries[$0].expiresAt <= now }
  }
}
