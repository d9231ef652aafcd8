// SPDX-License-Identifier: Apache-2.0

package import APNS

/// Whether one destination (a credential's pushes to one gateway) works, and what may be done with it: how many
/// connections may be opened, how many pushes may be open, whether one app must wait, and whether a failed attempt
/// counts.
///
/// It is told of every end of a connection and of every answer, and judges each by the narrowest thing that it is
/// evidence about: the push, its app (`RefusedApps`), the credential (`CredentialBreaker`), the connection
/// (`ConnectBackoff`), or the gateway as a whole (`OutageWatch`). A push that is served puts right what it disproves.
///
/// Times are monotonic milliseconds, but for when pushes were sent.
package struct DestinationHealth: Sendable {
  /// How many connections may be opened now.
  package enum Connects: UInt8, Sendable, Equatable {
    case none
    /// One if there is none.
    case one
    /// As many as the pool wants.
    case all
  }

  /// The connection that an answer came on.
  package struct Place: Sendable {
    /// Whether it had accepted a push.
    package var hasAccepted: Bool
    /// Since when it is there.
    package var startedAt: UInt64
    /// Whether it carries the newest provider token.
    package var hasNewestToken: Bool

    package init(hasAccepted: Bool, startedAt: UInt64, hasNewestToken: Bool) {
      self.hasAccepted = hasAccepted
      self.startedAt = startedAt
      self.hasNewestToken = hasNewestToken
    }
  }

  /// What an answer other than 200 leads to.
  package struct Reaction: Sendable, Equatable {
    /// What to do with the connection.
    package var connection: ConnectionAction
    /// Something is refused that was not before: somebody should know.
    package var isNewRefusal = false
    /// It is about the push alone: the destination works.
    package var isServed = false
  }

  /// A connection that is younger, in milliseconds, was opened with the apps that the team has now: another one would
  /// refuse an app as it does.
  package static let freshness: UInt64 = 60_000

  /// Between two requests for a newer provider token, in milliseconds.
  package static let tokenRequestInterval: UInt64 = 5_000

  @usableFromInline var watch: OutageWatch
  @usableFromInline var breaker = CredentialBreaker()
  @usableFromInline var apps = RefusedApps()
  private var connects = ConnectBackoff()
  /// When a newer provider token may be asked for.
  private var nextTokenRequest: UInt64 = 0
  /// Two apps that APNs has accepted pushes of: enough to say whether it serves another one than a given app.
  private var accepted: (first: UInt64?, second: UInt64?) = (nil, nil)

  package init(watch: OutageWatch = OutageWatch()) { self.watch = watch }

  // MARK: Questions

  /// Nothing to ask or note: every push may go.
  @inlinable package var isUndisturbed: Bool { watch.isUndisturbed && breaker.isClosed }

  /// What keeps pushes back, for people who look: the widest trouble first.
  package enum Trouble: String, Sendable, CaseIterable {
    /// The gateway as a whole fails.
    case gateway
    /// APNs refuses the credential.
    case credential
    /// The last connects failed.
    case connects
    /// APNs refuses some apps with this credential.
    case app
  }

  /// nil while nothing is known to fail.
  package var trouble: Trouble? {
    if !watch.isUndisturbed { return .gateway }
    if breaker.refusals > 0 { return .credential }
    if connects.isFailing { return .connects }
    return apps.isEmpty ? nil : .app
  }

  /// Whether some app's breaker is not closed, so that `wait(app:now:)` and `served(app:)` matter.
  @inlinable package var hasRefusedApps: Bool { !apps.isEmpty }

  /// Pushes that may be open now.
  ///
  /// - Parameter capacity: streams that the connections may have open.
  package mutating func allowance(capacity: Int, now: UInt64) -> Int {
    min(watch.allowance(capacity: capacity, now: now), breaker.allowance(now: now))
  }

  /// Connections that may be opened now.
  package func mayConnect(now: UInt64) -> Connects {
    guard connects.mayConnect(now: now) else { return .none }
    switch breaker.state(now: now) {
    case .untried, .closed: return .all
    case .open: return .none
    case .halfOpen: return .one
    }
  }

  /// Whether the last connects failed, and not because of one address among several.
  package var isConnectFailing: Bool { connects.isFailing }

  /// Whether to ask the signer for a newer provider token now: once in a while, however many answers call for one.
  package mutating func asksForToken(now: UInt64) -> Bool {
    guard now >= nextTokenRequest else { return false }
    nextTokenRequest = now + Self.tokenRequestInterval
    return true
  }

  /// How long a push of the app has to wait; 0 when it is to be sent now. See `RefusedApps`.
  package mutating func wait(app: UInt64, now: UInt64) -> UInt64 { apps.wait(app, now: now) }

  /// Whether APNs has served another app with this credential: then a refusal says nothing about the credential.
  package func servesOther(than app: UInt64) -> Bool {
    (accepted.first ?? app) != app || (accepted.second ?? app) != app
  }

  /// Whether the destination has answered a push that was sent after this time (milliseconds since the epoch).
  package func works(since time: Int64) -> Bool { watch.works(since: time) }

  /// Whether a push that just failed is kept, and its attempt not counted, because it failed with the destination.
  ///
  /// - Parameter failingSince: when it first failed, in milliseconds since the epoch.
  package func keeps(
    _ life: PushLife, failingSince: Int64, _ cause: RetryPolicy.Cause
  ) -> Bool {
    switch cause {
    case .unprocessed, .ambiguous, .answered(.retryLater(.quarterHour)):
      watch.keeps(life, failingSince: failingSince)
    case .answered(.retryElsewhere), .answered(.refreshToken):
      watch.keeps(life, failingSince: failingSince)
        || (breaker.refusals > 0
          && (life.spared < OutageWatch.mostSpared || !works(since: failingSince)))
    case .answered: false
    }
  }

  // MARK: Answers

  /// A push was accepted.
  ///
  /// - Parameter sentAt: when it was sent, in milliseconds since the epoch.
  @inlinable package mutating func served(sentAt: Int64) {
    watch.succeeded(sentAt: sentAt)
    if !breaker.isClosed { breaker.served() }
  }

  /// Of which app that push was; needed only if `hasRefusedApps`.
  package mutating func served(app: UInt64) {
    apps.served(app)
    remember(app)
  }

  /// An answer other than 200: what it is evidence about.
  ///
  /// - Parameters:
  ///   - app: the hash of its push's bundle id.
  ///   - sentAt: when that was sent, in milliseconds since the epoch.
  ///   - retryAfter: milliseconds that the answer asked to wait, 0 if it did not.
  ///   - random: any 64 random bits.
  package mutating func answered(
    _ response: GatewayResponse, app: UInt64, on place: Place, sentAt: Int64, retryAfter: UInt64,
    now: UInt64, random: UInt64
  ) -> Reaction {
    var reaction = Reaction(connection: response.connection)
    switch response.credential {
    case .stop:
      reaction.isNewRefusal = apps.refused(
        app, isMomentary: accepted.first != nil, now: now, random: random)
      if reaction.isNewRefusal { breaker.refused(.app, now: now, random: random) }
      // The others on this connection are served.
      if place.hasAccepted, now - place.startedAt < Self.freshness { reaction.connection = .keep }
    case .freeze: refuse(.frozen, &reaction, now: now, random: random)
    case .refresh where place.hasNewestToken:
      refuse(.credential, &reaction, now: now, random: random)
    case .refresh: break
    case .none, .refreshIfOld:
      reaction.isServed = judge(response, app, on: place, sentAt, retryAfter, now, random)
    }
    return reaction
  }

  private mutating func refuse(
    _ refusal: CredentialBreaker.Refusal, _ reaction: inout Reaction, now: UInt64, random: UInt64
  ) {
    if case .open = breaker.state(now: now) { return }
    breaker.refused(refusal, now: now, random: random)
    reaction.isNewRefusal = true
  }

  /// Whether an answer is about the push alone, or the destination fails.
  private mutating func judge(
    _ response: GatewayResponse, _ app: UInt64, on place: Place, _ sentAt: Int64,
    _ retryAfter: UInt64, _ now: UInt64, _ random: UInt64
  ) -> Bool {
    guard response.status >= 500 || response.verdict == .retryElsewhere else {
      served(sentAt: sentAt)
      if hasRefusedApps { apps.served(app) }
      return true
    }
    watch.failed(now: now, random: random)
    if response.status < 500, !place.hasAccepted {
      breaker.refused(.connection, now: now, random: random)
    }
    if retryAfter > 0 { watch.pause(for: retryAfter, now: now) }
    return false
  }

  /// GOAWAY refused the credential.
  ///
  /// - Returns: whether that is news.
  package mutating func refusedByGoAway(now: UInt64, random: UInt64) -> Bool {
    var reaction = Reaction(connection: .drain)
    refuse(.credential, &reaction, now: now, random: random)
    return reaction.isNewRefusal
  }

  /// The credential was replaced: what was refused may be tried again at once.
  package mutating func renewed() {
    breaker.renewed()
    apps.removeAll()
    connects.reset()
    nextTokenRequest = 0
  }

  /// What connections trust or show was replaced: the next connect need not wait.
  package mutating func trustRenewed() { connects.reset() }

  // MARK: Connections

  /// A connection was made, with TLS.
  package mutating func connected() { watch.reachable() }

  /// A connection accepted its first push, one of this app.
  package mutating func connectionAccepted(app: UInt64) {
    connects.succeeded()
    remember(app)
  }

  /// A connection takes no more pushes, and not because its owner had no more use for it. Once for each.
  ///
  /// - Parameters:
  ///   - hasAccepted: whether it had accepted a push.
  ///   - lived: how long it was there, in milliseconds.
  ///   - hasOtherAddress: its address is what failed, and the gateway has one that has not.
  package mutating func connectionEnded(
    hasAccepted: Bool, lived: UInt64, hasOtherAddress: Bool, now: UInt64, random: UInt64
  ) {
    if hasAccepted {
      connects.ended(lived: lived, hasOtherAddress: hasOtherAddress, now: now, random: random)
    } else {
      connects.failed(hasOtherAddress: hasOtherAddress, now: now, random: random)
    }
  }

  /// No connection could even be begun: the name has no address, or the system has no socket.
  package mutating func connectFailed(now: UInt64, random: UInt64) {
    connects.failed(now: now, random: random)
  }

  /// A connection is lost, or was not made.
  ///
  /// - Parameter isLast: no other connection serves.
  package mutating func lost(isLast: Bool, now: UInt64, random: UInt64) {
    if isLast {
      watch.unreachable(now: now, random: random)
    } else {
      watch.failed(now: now, random: random)
    }
  }

  /// A connection left requests without an answer, or refused them; once for each connection and moment.
  ///
  /// - Parameter isSilent: nothing at all was heard from the destination for as long as they may take.
  package mutating func failed(isSilent: Bool = false, now: UInt64, random: UInt64) {
    watch.failed(weight: isSilent ? OutageWatch.row : 1, now: now, random: random)
  }

  private mutating func remember(_ app: UInt64) {
    guard let first = accepted.first else {
      accepted.first = app
      return
    }
    if first != app, accepted.second == nil { accepted.second = app }
  }
}
