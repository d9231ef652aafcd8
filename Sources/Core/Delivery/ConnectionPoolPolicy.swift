// SPDX-License-Identifier: Apache-2.0

/// How many connections a pool keeps, and when it opens or closes one.
///
/// APNs wants few connections that live long. The pool opens its minimum when there is something to send, one
/// more at a time when stream credit has been short for a while, and closes one at a time when fewer would
/// have carried the load for minutes. Failed connects and connections that die before they deliver anything
/// back off; a refused credential opens a breaker.
///
/// Times are milliseconds of a monotonic clock.
package struct ConnectionPoolPolicy: Sendable {
  /// The pool's bounds.
  package struct Limits: Sendable, Equatable {
    /// Connections opened as soon as there is work.
    package var minimum: Int
    package var maximum: Int
    /// How long credit has to be short before another connection is opened.
    package var starvation: UInt64
    /// How long fewer connections have to be enough before one is closed.
    package var surplus: UInt64
    /// The first and the longest wait after failed connects.
    package var backoffBase: UInt64
    package var backoffCap: UInt64

    package init(
      minimum: Int = 2, maximum: Int = 8, starvation: UInt64 = 1_000, surplus: UInt64 = 300_000,
      backoffBase: UInt64 = 1_000, backoffCap: UInt64 = 60_000
    ) {
      precondition(minimum >= 1 && maximum >= minimum)
      self.minimum = minimum
      self.maximum = maximum
      self.starvation = starvation
      self.surplus = surplus
      self.backoffBase = backoffBase
      self.backoffCap = backoffCap
    }
  }

  /// The pool as it is now.
  package struct Load: Sendable, Equatable {
    /// Connections on their way.
    package var connecting: Int
    /// Connections that take or will take pushes: priming, ready, suspect.
    package var serving: Int
    /// Streams that may be opened now, over all connections.
    package var credit: Int
    package var openStreams: Int
    /// Streams that all serving connections could carry together.
    package var capacity: Int
    /// Records that want to be sent and find no credit (or no connection).
    package var isWaiting: Bool
    /// Of the serving ones those that are due for replacement: they serve until another one does.
    package var aged = 0
    /// Records that must not go out where they went out before, and find no other connection.
    package var wantsElsewhere = false

    package init(
      connecting: Int, serving: Int, credit: Int, openStreams: Int, capacity: Int, isWaiting: Bool
    ) {
      self.connecting = connecting
      self.serving = serving
      self.credit = credit
      self.openStreams = openStreams
      self.capacity = capacity
      self.isWaiting = isWaiting
    }
  }

  package enum Action: Sendable, Equatable {
    case nothing
    /// Start one connect.
    case open
    /// Retire the connection with the fewest open streams.
    case closeOne
  }

  package let limits: Limits
  package private(set) var breaker: CredentialBreaker
  private var backoff: Backoff
  /// No connect before this time.
  private var connectAt: UInt64 = 0
  private var starvedSince: UInt64?
  /// No further connection for records that avoid the present ones before this time.
  private var elsewhereAt: UInt64 = 0
  private var surplusSince: UInt64?
  /// A pool that was never asked for anything opens nothing.
  private var hadWork = false
  /// A connect failed or the credential was refused since the last accepted push.
  @usableFromInline var isTroubled = false

  package init(limits: Limits = Limits(), breaker: CredentialBreaker = CredentialBreaker()) {
    self.limits = limits
    self.breaker = breaker
    backoff = Backoff(base: limits.backoffBase, cap: limits.backoffCap)
  }

  /// Decides about one connection. The owner asks once per loop turn or timer, and again after `.open`.
  package mutating func decide(_ load: Load, now: UInt64) -> Action {
    hadWork = hadWork || load.isWaiting
    let total = load.connecting + load.serving - load.aged
    note(load, now: now)
    if shouldClose(load, now: now) { return .closeOne }
    guard hadWork, now >= connectAt, total < limits.maximum else { return .nothing }
    if let allowance = breaker.allowance(now: now), total >= allowance { return .nothing }
    // After a failure one connect at a time: the gateway may be down.
    if backoff.failures > 0 && load.connecting > 0 { return .nothing }
    if total < limits.minimum { return .open }
    if load.connecting == 0, let since = starvedSince, now - since >= limits.starvation {
      starvedSince = nil
      return .open
    }
    if load.wantsElsewhere, load.connecting == 0, now >= elsewhereAt {
      elsewhereAt = now + limits.starvation
      return .open
    }
    return .nothing
  }

  /// When `decide` may next want to open although nothing happens: for the owner's timer.
  package var wakeAt: UInt64? {
    var wake = connectAt
    if case .open(let until) = breaker.state { wake = max(wake, until) }
    return wake == 0 ? nil : wake
  }

  /// A connect failed, or a connection was lost before a push was accepted on it.
  package mutating func connectFailed(now: UInt64, random: UInt64) {
    isTroubled = true
    connectAt = max(connectAt, now + backoff.failed(random: random))
  }

  /// A push was accepted on some connection: called for each of them.
  @inlinable package mutating func accepted() {
    if isTroubled { recover() }
  }

  @usableFromInline mutating func recover() {
    isTroubled = false
    backoff.succeeded()
    connectAt = 0
    breaker.accepted()
  }

  /// APNs refused the credential (403, or GOAWAY with a reason about it).
  package mutating func credentialRefused(now: UInt64, random: UInt64) {
    isTroubled = true
    breaker.refused(now: now, random: random)
  }

  /// The credential was replaced.
  package mutating func credentialChanged() {
    breaker.credentialChanged()
  }

  private mutating func note(_ load: Load, now: UInt64) {
    let isStarved = load.isWaiting && load.credit == 0
    starvedSince = isStarved ? starvedSince ?? now : nil
    let fewer = load.serving - 1
    // What all but one connection carry, with a third to spare.
    let isSurplus =
      load.connecting == 0 && fewer >= limits.minimum && !isStarved
      && load.openStreams * 3 < load.capacity / load.serving * fewer * 2
    surplusSince = isSurplus ? surplusSince ?? now : nil
  }

  private mutating func shouldClose(_ load: Load, now: UInt64) -> Bool {
    if load.serving - load.aged > limits.maximum { return true }
    guard let since = surplusSince, now - since >= limits.surplus else { return false }
    surplusSince = now
    return true
  }
}
