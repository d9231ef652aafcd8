// SPDX-License-Identifier: Apache-2.0

public import Contract

/// Judges whether one destination (a credential's pushes to one gateway) works, and what may be done with it: whether
/// to open a connection and to which address, how many pushes may be open, whether one app must wait, and what becomes
/// of a push that failed.
///
/// It is told of every end of a connection and of every answer, and judges each by the narrowest thing that it is
/// evidence about: the push, its app (`RefusedApps`), the credential (`CredentialBreaker`), the connection
/// (`ConnectBackoff`), its address (`AddressBook`), or the gateway as a whole (`OutageWatch`). A push that is served puts
/// right what it disproves. What follows for connections (`ConnectionPoolPolicy`) and retries (`RetryPolicy` within
/// `RetryBudget`) is asked here, so that callers need not combine these parts.
///
/// Times are monotonic milliseconds, but for when pushes were sent.
public struct DestinationHealth: Sendable {
  /// A connection whose first push is younger, in milliseconds, knows the apps that the team has now: another one would
  /// refuse an app as it does.
  public static let freshness: UInt64 = 60_000

  /// Between two requests for a newer provider token, in milliseconds.
  public static let tokenRequestInterval: UInt64 = 5_000

  var watch: OutageWatch
  var breaker = CredentialBreaker()
  public internal(set) var apps = RefusedApps()
  private(set) var refusing = RefusingAddresses()
  private var connects = ConnectBackoff()
  /// Something was served since a connect failed: an earlier connection does its work.
  private var isServedMeanwhile = false
  /// The gateway has taken a connection, and nothing has failed since.
  private var isReached = false
  private var policy: ConnectionPoolPolicy
  var addresses = AddressBook<PeerAddress>()
  let retries: RetryPolicy
  var budget: RetryBudget
  /// When a newer provider token may be asked for.
  private var nextTokenRequest: UInt64 = 0
  /// When the next answer that is not of APNs is reported.
  private var nextForeignReport: UInt64 = 0
  /// No address took the last connect.
  private var isUnreachable = false
  /// When anything was last answered.
  public internal(set) var lastActivity: UInt64 = 0

  public init(
    pool: ConnectionPoolPolicy.Limits = .init(), retries: RetryPolicy = RetryPolicy(),
    budget: RetryBudget = RetryBudget(), watch: OutageWatch = OutageWatch()
  ) {
    policy = ConnectionPoolPolicy(limits: pool)
    self.retries = retries
    self.budget = budget
    self.watch = watch
  }

  // MARK: Questions

  /// Nothing to ask or note: every push may go.
  public var isUndisturbed: Bool { watch.isUndisturbed && breaker.isClosed }

  /// nil while nothing is known to fail.
  public var trouble: Trouble? {
    // One that has said why it serves nobody has not failed with the streams that it left unanswered then.
    let hasSaidWhy = breaker.isRefused && watch.state == .closed
    if watch.isFailing, !hasSaidWhy { return isUnreachable ? .connects : .gateway }
    if breaker.refusals > 0 { return .credential }
    if connects.isFailing, !isServedMeanwhile { return .connects }
    return apps.isEmpty ? nil : .app
  }

  /// The trouble of a destination for which nothing waits and nothing is open: until there is something to send, no more
  /// can be known of a gateway that failed than that it takes connections again.
  public var idleTrouble: Trouble? {
    if case .open = watch.state { return trouble }
    guard isReached, breaker.refusals == 0 else { return trouble }
    return apps.isEmpty ? nil : .app
  }

  /// True if some app's breaker is not closed, so that `permit(app:now:)` is to be asked.
  public var hasRefusedApps: Bool { !apps.isEmpty }

  /// True if APNs refuses the credential.
  public var refusesCredential: Bool { breaker.refusals > 0 }

  /// Pushes that may be open now.
  ///
  /// - Parameter capacity: streams that the connections may have open.
  public mutating func allowance(capacity: Int, now: UInt64) -> Int {
    min(watch.allowance(capacity: capacity, now: now), breaker.allowance(now: now))
  }

  /// Connections that may be opened now.
  public func mayConnect(now: UInt64) -> ConnectionPoolPolicy.Allowed {
    guard connects.mayConnect(now: now) else { return .none }
    switch breaker.state(now: now) {
    case .open: return .none
    case .halfOpen: return .one
    // After a failure one connection at a time shows whether the gateway is well again.
    case .untried, .closed: return connects.isFailing ? .oneAtATime : .all
    }
  }

  /// Decides whether to open or close a connection now; about one at a time, and again after `.open`.
  public mutating func connection(
    for load: ConnectionPoolPolicy.Load, now: UInt64
  ) -> ConnectionPoolPolicy.Action {
    policy.decide(load, mayConnect(now: now), now: now)
  }

  /// The addresses to try for the next connection, in their order; none when the name has none. While no connection can be
  /// made they are few.
  ///
  /// - Parameter inUse: addresses of the connections that there are, one entry each.
  public func route(inUse: [PeerAddress], now: UInt64) -> [PeerAddress] {
    let most = connects.isFailing ? AddressRace.mostProbes : AddressRace.mostAttempts
    return Array(addresses.ranked(inUse: inUse, now: now).prefix(most))
  }

  /// True if there is an address that has not refused it.
  public func hasUntried(_ app: UInt64, now: UInt64) -> Bool {
    addresses.usable(now: now).contains { !refusing.contains(app, at: $0) }
  }

  /// Decides whether to ask the signer for a newer provider token now: once in a while, however many answers call for
  /// one.
  public mutating func asksForToken(now: UInt64) -> Bool {
    guard now >= nextTokenRequest else { return false }
    nextTokenRequest = now + Self.tokenRequestInterval
    return true
  }

  /// Decides whether to ask for one now that an answer calls for it.
  ///
  /// - Parameter hasToken: connections carry a provider token, not a certificate.
  public mutating func asksForToken(
    after response: GatewayResponse, _ reaction: Reaction, hasToken: Bool, now: UInt64
  ) -> Bool {
    switch response.credential {
    case .refresh: hasToken && asksForToken(now: now)
    // Only the signer can tell whether the token is the one that it has signed.
    case .stop: hasToken && !reaction.isOfAddress && asksForToken(now: now)
    case .none, .freeze: false
    }
  }

  /// Decides whether to tell the operator now that an answer is not of APNs: once in a while, however many there are.
  public mutating func reportsForeignAnswer(now: UInt64) -> Bool {
    guard now >= nextForeignReport else { return false }
    nextForeignReport = now + ProblemReminder.interval
    return true
  }

  /// Decides whether a push of the app goes out now; to be asked only if `hasRefusedApps`.
  ///
  /// - Parameter findsOut: it was refused, and another address is to say whether that is the app's fault.
  public mutating func permit(
    app: UInt64, findsOut: Bool = false, now: UInt64
  ) -> RefusedApps.AppPermit {
    findsOut && apps.isInDoubt(app) ? .now : apps.permit(app, now: now)
  }

  // MARK: Pushes

  /// Immediate retries that are left.
  public var retriesLeft: Int { budget.left }

  /// Something was answered.
  public mutating func noteActivity(now: UInt64) { lastActivity = now }

  /// A push of the app was accepted.
  ///
  /// - Parameter sentAt: when it was sent, in monotonic milliseconds.
  public mutating func served(app: UInt64, sentAt: UInt64) {
    works(sentAt: sentAt)
    if hasRefusedApps { serves(app) }
  }

  /// A push that was sent then was answered, and the destination works.
  @inline(__always)
  mutating func works(sentAt: UInt64) {
    watch.succeeded(sentAt: sentAt)
    if connects.isFailing { isServedMeanwhile = true }
    if !breaker.isClosed {
      breaker.served()
      refusing.served(nil)
    }
  }

  mutating func serves(_ app: UInt64) {
    refusing.served(app)
    apps.served(app)
    apps.accepted(app)
  }

  /// Handles an answer other than APNs' 200, and decides what it is evidence about.
  ///
  /// - Parameter random: any 64 random bits.
  public mutating func answered(_ answer: Answer, now: UInt64, random: UInt64) -> Reaction {
    let (response, place) = (answer.response, answer.place)
    var reaction = Reaction(connection: response.connection)
    switch response.credential {
    case .stop where isOfAddress(answer.app, place, now: now):
      reaction.isOfAddress = true
      apps.doubted(answer.app, now: now)
      breaker.refused(.connection, now: now, random: random)
    case .stop:
      reaction.isNewRefusal = apps.refused(
        answer.app, isMomentary: apps.hasServed, now: now, random: random)
      if reaction.isNewRefusal { breaker.refused(.app, now: now, random: random) }
    case .freeze: refuse(.frozen, &reaction, now: now, random: random)
    case .refresh where place.hasNewestToken && isOfAddress(nil, place, now: now):
      reaction.isOfAddress = true
      breaker.refused(.connection, now: now, random: random)
    case .refresh where place.hasNewestToken:
      refuse(.credential, &reaction, now: now, random: random)
    case .refresh: break
    case .none:
      reaction.isServed = isAboutPushAlone(answer, now: now, random: random)
      // Whoever answers there has never answered as APNs does.
      if response.isForeign, !place.hasAccepted { reaction.connection = .close }
    }
    if response.credential == .stop, now - place.firstPushAt < Self.freshness,
      place.hasAccepted || (!reaction.isOfAddress && isOfAppAlone(answer.app))
    {
      reaction.connection = .keep
    }
    return reaction
  }

  /// True if a refusal is about this app: others were served before, and not so many refused since that it would be the
  /// credential. A connection that has accepted nothing yet serves those, too.
  private func isOfAppAlone(_ app: UInt64) -> Bool {
    apps.servesOther(than: app) && breaker.refusals <= CredentialBreaker.appsInRow
  }

  /// True if a refusal is evidence about its address only: another one may accept.
  private mutating func isOfAddress(_ app: UInt64?, _ place: AnsweringConnection, now: UInt64)
    -> Bool
  {
    refusing.refused(
      app, at: place.address, isAgain: place.isAgain, usable: addresses.usable(now: now))
  }

  private mutating func refuse(
    _ refusal: CredentialBreaker.Refusal, _ reaction: inout Reaction, now: UInt64, random: UInt64
  ) {
    if case .open = breaker.state(now: now) { return }
    breaker.refused(refusal, now: now, random: random)
    reaction.isNewRefusal = true
  }

  /// True if an answer is about the push alone: if not, the destination fails.
  private mutating func isAboutPushAlone(
    _ answer: Answer, now: UInt64, random: UInt64
  ) -> Bool {
    let (response, verdict) = (answer.response, answer.response.verdict)
    guard response.status >= 500 || verdict == .retryElsewhere || verdict == .foreign else {
      works(sentAt: answer.sentAt)
      if hasRefusedApps { apps.served(answer.app) }
      return true
    }
    isReached = false
    watch.failed(now: now, random: random)
    if response.status < 500 || verdict == .foreign, !answer.place.hasAccepted {
      breaker.refused(.connection, now: now, random: random)
    }
    if answer.retryAfter > 0 { watch.pause(for: answer.retryAfter, now: now) }
    return false
  }

  // MARK: Credentials

  /// The credential was replaced: what was refused may be tried again at once.
  public mutating func renewed() {
    breaker.renewed()
    apps.removeAll()
    refusing = RefusingAddresses()
    connects.reset()
    nextTokenRequest = 0
  }

  /// The certificates that connections trust or show were replaced: the next connect need not wait.
  public mutating func trustRenewed() { connects.reset() }

  // MARK: Connections

  /// A connection was made, with TLS.
  public mutating func connected() {
    isUnreachable = false
    watch.reachable()
  }

  /// A connection has the gateway's settings, and takes pushes.
  public mutating func reached() { isReached = true }

  /// A connection accepted its first push, one of this app.
  public mutating func connectionAccepted(app: UInt64, at address: PeerAddress) {
    connects.succeeded()
    addresses.succeeded(address)
    apps.accepted(app)
  }

  /// The gateway is leaving.
  ///
  /// - Parameter place: the connection on which it says so.
  public mutating func goAway(
    _ reason: Reason?, on place: AnsweringConnection, now: UInt64, random: UInt64
  ) -> GoAwayVerdict {
    var verdict = GoAwayVerdict()
    var reaction = Reaction(connection: .drain)
    let action = reason?.rule.credential
    if action == .refresh { verdict.asksForToken = asksForToken(now: now) }
    switch action {
    case .stop where isOfAddress(nil, place, now: now),
      .refresh where place.hasNewestToken && isOfAddress(nil, place, now: now):
      breaker.refused(.connection, now: now, random: random)
      verdict.isTrouble = true
    case .stop,
      .refresh where place.hasNewestToken:
      refuse(.credential, &reaction, now: now, random: random)
    case .freeze: refuse(.frozen, &reaction, now: now, random: random)
    case .refresh: break
    // The host is stopping, or turned us away before it did anything for us: not a place to come back to.
    default: verdict.isTrouble = reason == .shutdown || !place.hasAccepted
    }
    verdict.isNewRefusal = reaction.isNewRefusal
    return verdict
  }

  /// A connection that was made takes no more pushes, and not because its owner had no more use for it. Once for each.
  public mutating func connectionEnded(_ end: ConnectionEnd, now: UInt64, random: UInt64) {
    // Opened again at once it would end so again, and again: the next one is for the next push.
    if end.isUnused { return policy.closedIdle() }
    let hasOther = end.isAddressAside && addresses.hasOther(now: now)
    if end.hasAccepted {
      connects.ended(
        lived: end.lived, hasServed: end.isInOrder && end.accepted >= ConnectBackoff.work,
        hasOtherAddress: hasOther, now: now, random: random)
    } else {
      (isServedMeanwhile, isReached) = (false, false)
      connects.failed(hasOtherAddress: hasOther, now: now, random: random)
    }
  }

  /// The pool's connections were closed because it had no use for them: it opens the next one when it has.
  public mutating func closedIdle() { policy.closedIdle() }

  /// No connection could be made: the name has no address, or none of those that were tried took one.
  public mutating func connectFailed(now: UInt64, random: UInt64) {
    isUnreachable = true
    (isServedMeanwhile, isReached) = (false, false)
    connects.failed(now: now, random: random)
  }

  /// A connection is lost, or was not made.
  ///
  /// - Parameter isLast: no other connection serves.
  public mutating func lost(isLast: Bool, now: UInt64, random: UInt64) {
    isReached = false
    if isLast {
      watch.unreachable(now: now, random: random)
    } else {
      watch.failed(now: now, random: random)
    }
  }

  /// A connection left requests without an answer, or refused them; once for each connection and moment.
  ///
  /// - Parameter isSilent: nothing at all was heard from the destination for as long as they may take.
  public mutating func failed(isSilent: Bool = false, now: UInt64, random: UInt64) {
    isReached = false
    watch.failed(weight: isSilent ? OutageWatch.row : 1, now: now, random: random)
  }
}
