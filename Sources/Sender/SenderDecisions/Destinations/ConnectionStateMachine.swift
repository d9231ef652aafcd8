// SPDX-License-Identifier: Apache-2.0

public import Contract

/// One connection to APNs as the pool sees it: how many streams may be opened, with which provider token, and
/// when it has to go.
///
/// ```
/// connecting ─▶ negotiating ─▶ priming ─▶ ready ─▶ draining ─▶ closed        any state ─▶ closed
///                    └───────(certificate)─▲ │       ▲
///                                            ▼       │
///                                          suspect ──┘   (back to ready when it answers)
/// ```
///
/// Every stream that is opened ends with exactly one of `answered`, `refused` and `abandoned`. The owner draws
/// records for the connection only while `credit` > 0.
public struct ConnectionStateMachine: Sendable {
  /// The way in which the connection authenticates.
  public enum Authentication: UInt8, Sendable {
    case providerToken
    case certificate
  }

  public enum State: UInt8, Sendable, CaseIterable {
    /// No TLS yet. Leads to negotiating, draining, closed.
    case connecting
    /// TLS is up, SETTINGS are awaited. Leads to priming, ready, draining, closed.
    case negotiating
    /// One stream at a time until APNs has accepted a push: with a provider token it allows no more, whatever
    /// SETTINGS say. Leads to ready, draining, suspect, closed.
    case priming
    /// As many streams as SETTINGS allow. Leads to draining, suspect, closed.
    case ready
    /// No new streams; closes when the open ones have ended. Leads to closed.
    case draining
    /// Nothing has been heard though something should have been: no new streams until it answers. Leads to
    /// where it came from, draining, closed.
    case suspect
    /// Gone. Leads nowhere.
    case closed
  }

  /// The reason for which the connection takes no more requests.
  public enum EndReason: UInt8, Sendable {
    /// Another attempt of its search takes requests.
    case beaten
    /// It was not ready in time.
    case givenUp
    /// The owner itself has no more use for it: its end says nothing about the destination.
    case retired
    /// The peer ended it with GOAWAY, and not because of an error.
    case goAway
    /// It will not serve again, as answers say: what is open gets a short grace, then it is to be closed (`graceOver`).
    case abandoned
    /// It did not even answer a PING.
    case silent
  }

  /// The owner's next action.
  public enum Action: UInt8, Sendable, Equatable {
    case nothing
    /// Ask for a sign of life (PING).
    case ping
    /// Send GOAWAY and close: nothing is open any more, or nothing open will ever be answered.
    case close
  }

  /// Which provider token the connection's next push carries.
  public enum TokenChoice: UInt8, Sendable, Equatable {
    /// The one it carries already.
    case current
    /// The newest one; the connection now carries it.
    case newest
    /// None: the connection has to be replaced. It drains from now on.
    case none
  }

  /// Streams after which a connection is replaced, well before HTTP/2's 2³⁰ client streams run out.
  public static let maximumStreams: UInt64 = 1 << 30 - 65_536
  /// Streams refused in a row, with room below the announced limit, or reset, after which a connection is replaced.
  public static let repeatedRefusals = 100
  /// The same if nothing else is open: more than `OutageWatch.row`, so that probes find out.
  public static let repeatedRefusalsAlone = 20
  /// Answers 5xx in a row after which `closeIfRepeated` closes; streams refused or reset in a row after which a connection
  /// is replaced, if nothing else is open.
  public static let repeatedFailures = 5
  /// Milliseconds that open streams have to be answered on a connection that will not serve again.
  public static let grace: UInt64 = 2_000
  /// Requests in a row without any answer after which a connection is suspect.
  public static let repeatedSilence = 3

  public let authentication: Authentication
  public internal(set) var state = State.connecting
  /// MAX_CONCURRENT_STREAMS as last announced; 1 before the first SETTINGS.
  public internal(set) var limit = 1
  public internal(set) var openStreams = 0
  /// Streams opened since the connection began.
  public internal(set) var streamsOpened: UInt64 = 0
  private var carriedToken = CarriedToken()
  /// Streams that ended otherwise than with a 200.
  private var failures: UInt64 = 0
  private var failuresInRow = 0
  private var silencesInRow = 0
  /// Streams that were refused or reset.
  private var refusalsInRow = 0
  /// Streams after which this connection is replaced.
  let streamLimit: UInt64
  /// True if a push was accepted: priming is over, also after being suspect.
  public private(set) var hasAccepted = false
  /// nil while it takes requests or will, and when it ends for any other reason.
  public private(set) var endReason: EndReason?

  /// - Parameter maximumStreams: streams after which the connection is replaced.
  public init(
    authentication: Authentication,
    maximumStreams: UInt64 = ConnectionStateMachine.maximumStreams
  ) {
    self.authentication = authentication
    streamLimit = min(maximumStreams, Self.maximumStreams)
  }

  /// Streams that ended with a 200.
  public var acceptedStreams: UInt64 { streamsOpened - failures - UInt64(openStreams) }

  /// Streams that may be opened now.
  public var credit: Int {
    switch state {
    case .ready: max(0, limit - openStreams)
    case .priming: max(0, min(limit, 1) - openStreams)
    case .connecting, .negotiating, .draining, .suspect, .closed: 0
    }
  }

  /// Streams that may be open at once in this state.
  public var capacity: Int {
    switch state {
    case .ready: limit
    case .priming: min(limit, 1)
    case .connecting, .negotiating, .draining, .suspect, .closed: 0
    }
  }

  /// True if the peer owes a sign of life: it has streams to answer, or has allowed none, in which case nothing that
  /// could be sent would ever show that it is gone.
  public var owesSignOfLife: Bool {
    openStreams > 0 || (limit == 0 && (state == .ready || state == .priming))
  }

  // MARK: - Events

  /// TLS is up.
  public mutating func secured() { if state == .connecting { state = .negotiating } }

  /// Another attempt of its search takes requests.
  public mutating func beaten() { end(.beaten) }

  /// It was not ready in time.
  public mutating func giveUp() { end(.givenUp) }

  /// TLS and HTTP/2 are up.
  public mutating func connected() {
    guard state == .connecting || state == .negotiating else { return }
    state = authentication == .certificate ? .ready : .priming
  }

  /// SETTINGS announced a limit, possibly below what is open: those streams stay.
  public mutating func settings(limit: Int) {
    self.limit = max(0, limit)
    refusalsInRow = 0
  }

  /// A stream was opened.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public mutating func opened(now: Int64) {
    carriedToken.goesOut(now: now)
    openStreams += 1
    streamsOpened += 1
    if streamsOpened >= streamLimit { retireNow() }
  }

  /// A stream ended with a 200.
  public mutating func accepted() -> Action {
    if state == .ready && openStreams > 0 && isUndisturbed {
      openStreams -= 1
      return .nothing
    }
    return answered(status: 200, connection: .keep)
  }

  /// A stream ended with an answer.
  ///
  /// - Parameter connection: what the decision table says about the connection.
  public mutating func answered(status: UInt16, connection: ConnectionAction) -> Action {
    endStream()
    silencesInRow = 0
    refusalsInRow = 0
    if status == 200 {
      failures -= 1
      failuresInRow = 0
      hasAccepted = true
    }
    recover()
    switch connection {
    case .keep:
      if status < 500 { failuresInRow = 0 }
    case .drain: drain()
    case .close:
      abandon()
    case .closeIfRepeated:
      failuresInRow += 1
      if failuresInRow >= Self.repeatedFailures { abandon() }
    }
    return closeWhenDrained()
  }

  /// A stream was refused, unprocessed: it crossed a lowered limit. A peer that goes on refusing what its
  /// own limit allows is left.
  public mutating func refused() -> Action {
    endStream()
    if openStreams < limit {
      refusalsInRow += 1
      let most = openStreams == 0 ? Self.repeatedRefusalsAlone : Self.repeatedRefusals
      if refusalsInRow >= most { drain() }
    }
    return closeWhenDrained()
  }

  /// A stream was reset by either side; its fate is unknown. A peer that goes on resetting whatever is open is left: each
  /// push would be sent here and again elsewhere.
  ///
  /// - Parameter isLost: the connection has ended, and the stream with it.
  public mutating func reset(isLost: Bool = false) -> Action {
    endStream()
    if !isLost {
      refusalsInRow += 1
      let most = openStreams == 0 ? Self.repeatedFailures : Self.repeatedRefusals
      if refusalsInRow >= most { drain() }
    }
    return closeWhenDrained()
  }

  /// A request's deadline passed and its stream was given up.
  public mutating func timedOut() -> Action {
    endStream()
    silencesInRow += 1
    guard silencesInRow >= Self.repeatedSilence else { return closeWhenDrained() }
    if state == .suspect {
      drain()
    } else if state == .ready || state == .priming {
      state = .suspect
      return .ping
    }
    return closeWhenDrained()
  }

  /// Nothing was heard for the agreed time although streams are open.
  public mutating func silent() -> Action {
    guard state == .ready || state == .priming else { return .nothing }
    state = .suspect
    return .ping
  }

  /// The peer answered a PING.
  public mutating func ponged() -> Action {
    // An answer to a PING shows that the peer lives, not that it answers requests.
    if silencesInRow < Self.repeatedSilence { recover() }
    return closeWhenDrained()
  }

  /// A PING was not answered in time.
  public mutating func pingTimedOut() -> Action {
    end(.silent)
    return state == .closed ? .nothing : close()
  }

  /// The peer sent GOAWAY. Streams above its last-stream-id end as refused, the others are awaited.
  ///
  /// - Parameter isInOrder: without an error or a reason.
  public mutating func goAway(isInOrder: Bool = false) -> Action {
    if isInOrder { end(.goAway) }
    drain()
    return closeWhenDrained()
  }

  /// The owner wants the connection gone: age, a smaller pool, an address that left the DNS.
  public mutating func retire() -> Action {
    retireNow()
    return closeWhenDrained()
  }

  /// The stream that was opened last could not be opened, for a reason that is still to be heard: none can.
  public mutating func notOpened() -> Action {
    endStream()
    drain()
    return closeWhenDrained()
  }

  /// The grace of an abandoned connection is over.
  public mutating func graceOver() -> Action {
    endReason == .abandoned && state == .draining ? close() : .nothing
  }

  /// The socket is gone. The owner ends each open stream first or afterwards.
  public mutating func closed() { state = .closed }

  // MARK: - Provider token

  /// The token that the connection carries, if any push has gone out.
  public var token: ProviderTokenStamp? { carriedToken.stamp }

  /// Chooses the token for the next push; rather than break a rule of `CarriedToken` the connection is given up.
  ///
  /// - Parameters:
  ///   - newest: the newest token of the connection's credential.
  ///   - now: milliseconds since the epoch.
  public mutating func chooseToken(newest: ProviderTokenStamp, now: Int64) -> TokenChoice {
    if _fastPath(token == newest && newest.isUsable(now: now)) { return .current }
    let choice = carriedToken.choose(newest, now: now)
    // It cannot wait for the newest one's time: what it carries is too old.
    if choice == .none, let token, newest > token, newest.isUsable(now: now) { retireNow() }
    return choice
  }

  // MARK: - Transitions

  var isUndisturbed: Bool {
    failuresInRow == 0 && silencesInRow == 0 && refusalsInRow == 0 && hasAccepted
  }

  private mutating func endStream() {
    precondition(openStreams > 0, "a stream ended that was not open")
    openStreams -= 1
    failures += 1
  }

  /// An answer ends suspicion and, if it was the first 200, priming.
  private mutating func recover() {
    switch state {
    case .suspect:
      state = authentication == .certificate || hasAccepted ? .ready : .priming
    case .priming:
      if hasAccepted { state = .ready }
    case .connecting, .negotiating, .ready, .draining, .closed:
      break
    }
  }

  mutating func drain() { if state != .closed { state = .draining } }

  mutating func retireNow() {
    if state != .draining && state != .closed { end(.retired) }
    drain()
  }

  private mutating func abandon() {
    end(.abandoned)
    drain()
  }

  /// The first reason stays; but one that was not ready in time may be dismissed, one that drains may be found dead, and
  /// of an attempt that lost its race nothing else matters.
  private mutating func end(_ reason: EndReason) {
    switch (endReason, reason) {
    case (nil, _), (_, .beaten), (.givenUp, .retired): endReason = reason
    case (.retired, .silent), (.goAway, .silent), (.abandoned, .silent): endReason = reason
    case (.retired, .abandoned), (.goAway, .abandoned): endReason = reason
    default: break
    }
  }

  private mutating func close() -> Action {
    guard state != .closed else { return .nothing }
    state = .closed
    return .close
  }

  private mutating func closeWhenDrained() -> Action {
    guard openStreams == 0 else { return .nothing }
    // When requests keep timing out the next one drains the connection, and no other way of its end leaves it suspect.
    if state == .suspect, silencesInRow >= Self.repeatedSilence { drain() }
    return state == .draining ? close() : .nothing
  }
}
