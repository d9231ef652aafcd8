// SPDX-License-Identifier: Apache-2.0
import Waiting

/// A circuit breaker for what APNs refuses to serve at all: a credential, or all that comes while it is frozen.
///
/// It opens at the first refusal and knows no threshold, because what was asked before the refusal is answered
/// anyway: any push served meanwhile closes it. Half-open, one push at a time finds out whether APNs serves again. It begins
/// untried, with two pushes at a time: a credential that has never been served may be refused for every push of a first
/// burst, and one push that gets no answer must not hold up all others.
///
/// Times are milliseconds of a monotonic clock.
public struct CredentialBreaker: Sendable {
  /// The subject of a refusal.
  public enum Refusal: UInt8, Sendable, CaseIterable {
    /// A push of one app, by a 403 that may be about the app alone.
    case app
    /// The credential: by GOAWAY, or because its provider token is too old and none is newer.
    case credential
    /// Everything for a while: the provider token was changed too often.
    case frozen
    /// A push on a connection that had accepted none, for a reason that is about the connection.
    case connection
  }

  public enum State: Sendable, Equatable {
    /// Nothing is known yet: neither served nor refused. A few pushes at a time.
    case untried
    /// Every push goes out.
    case closed
    /// No push goes out before this time.
    case open(until: UInt64)
    /// One push at a time.
    case halfOpen
  }

  /// So many apps may be refused one after another before it is a matter of the credential: from then on the next
  /// one waits.
  public static let appsInRow = 3

  /// Pushes that may be open before the first answer.
  public static let untriedAllowance = 2

  /// Refusals since a push was served.
  public private(set) var refusals = 0
  /// Since then APNs itself has refused, and not something on the way to it or one of its addresses.
  public private(set) var isRefused = false
  /// Closed: nothing to ask. Until the first push is served it is not.
  public private(set) var isClosed = false
  private var until: UInt64 = 0
  private var credential = Backoff(base: 60_000, cap: 900_000)
  private var frozen = Backoff(base: 4_000, cap: 60_000)
  private var apps = Backoff(base: 2_000, cap: 60_000)

  public init() {}

  /// The state at a time.
  public func state(now: UInt64) -> State {
    if isClosed { return .closed }
    if refusals == 0 { return .untried }
    return now < until ? .open(until: until) : .halfOpen
  }

  /// Pushes that may be open.
  public func allowance(now: UInt64) -> Int {
    switch state(now: now) {
    case .untried: Self.untriedAllowance
    case .closed: .max
    case .open: 0
    case .halfOpen: 1
    }
  }

  /// APNs refused. While the breaker is open that changes nothing: it is the answer to what was under way.
  public mutating func refused(_ refusal: Refusal, now: UInt64, random: UInt64) {
    if now < until { return }
    isClosed = false
    refusals = min(refusals + 1, 1_000_000)
    isRefused = isRefused || refusal != .connection
    switch refusal {
    case .app: if refusals > Self.appsInRow { until = now + apps.failed(random: random) }
    case .credential: until = now + credential.failed(random: random)
    case .frozen: until = now + frozen.failed(random: random)
    // The wait for the next connection is enough.
    case .connection: break
    }
  }

  /// APNs served a push.
  public mutating func served() {
    isClosed = true
    refusals = 0
    isRefused = false
    until = 0
    credential.succeeded()
    frozen.succeeded()
    apps.succeeded()
  }

  /// The credential was replaced: one push may try at once.
  public mutating func renewed() {
    until = 0
    credential.succeeded()
    apps.succeeded()
  }
}
