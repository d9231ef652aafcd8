// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Decides when the signer acts on the provider token of one credential, and how: it mints, publishes again what it
/// has, or waits.
///
/// APNs wants a token to be used for 20 to 60 minutes. The schedule renews at 45 minutes, so that senders
/// have a newer one long before they stop using the old one at 55, and never mints earlier than 20 minutes
/// after the last, whichever sender asks. It starts from the newest token on the topic, so a successor that takes
/// over goes on with its predecessor's schedule.
///
/// The signer keeps the topic: what stands there last for the credential is its own current token. If it is not, the
/// schedule says what puts it right. A token whose `iat` lies more than a minute ahead was minted by a clock that
/// was wrong, or the clock is wrong now; either way the newest token of the past counts, and if there is none that is
/// young enough, another one is minted. So no step of a clock stops the renewal.
public struct MintSchedule: Sendable, Equatable {
  /// Seconds after `iat` at which a token is renewed.
  public static let renewalAge: Int64 = 45 * 60
  /// Seconds that have to lie between two tokens.
  public static let shortestInterval: Int64 = 20 * 60
  /// Seconds by which `iat` is dated back against clock differences.
  public static let backdating: Int64 = 5

  /// Seconds by which the clocks of two signers may differ: the next token may be another signer's work.
  public static let clockDifference: Int64 = 15

  /// Why a sender asks for a token.
  public enum Request: Sendable, Equatable {
    /// No token of the credential has reached the sender.
    case missing
    /// APNs refused the current token as expired or the like, or the sender finds it old.
    case refused
  }

  /// The kind of a record that was read from the topic.
  public enum Found: Sendable, Equatable {
    /// A token that the credential's key has signed. `isComplete`: its record is as it would be published now.
    case own(ProviderTokenStamp, isComplete: Bool)
    /// Sealed with a key that is not there: perhaps a good one, so none is minted early beside it while nothing else
    /// is known.
    case sealed(ProviderTokenStamp)
    /// Nothing that the credential's key has signed.
    case stranger
    /// A tombstone.
    case removed
  }

  /// The next action of the signer.
  public enum Step: Sendable, Equatable {
    /// Mint a token with this `iat` and generation.
    case mint(ProviderTokenStamp)
    /// Publish the token with this `iat` again, under the next generation.
    case publish(ProviderTokenStamp)
  }

  private struct Token: Sendable, Equatable {
    var stamp: ProviderTokenStamp
    /// False for one that cannot be opened, and so not published again.
    var isOwn: Bool
  }

  /// Tokens that are remembered: the current one, its predecessor, and what wrong clocks have minted beside them.
  private static let memory = 4

  /// By generation.
  private var tokens: [Token] = []
  private var standing = Found.removed
  /// The last record that was taken in, by partition: a topic that has got more of them has the credential in two.
  private var offsets: [Int32: Int64] = [:]
  /// The highest generation of a token of ours, 0 when there has been none.
  public private(set) var generation: UInt64 = 0
  /// The token for which a sender wants a successor early.
  private var refusedAt: Int64?

  public init() {}

  /// Takes a record of the topic in. Records below one of the partition that was taken in are ignored.
  public mutating func read(_ found: Found, at offset: Int64, in partition: Int32 = 0) {
    switch found {
    case .own(let stamp, _): remember(stamp, isOwn: true)
    case .sealed(let stamp): remember(stamp, isOwn: false)
    case .stranger, .removed: break
    }
    guard offset > offsets[partition] ?? -1 else { return }
    standing = found
    offsets[partition] = offset
  }

  /// Notes that a token was published.
  ///
  /// - Parameter offset: nil if the broker did not say; the token then counts as the last one.
  public mutating func published(
    _ stamp: ProviderTokenStamp, at offset: Int64?, in partition: Int32 = 0
  ) {
    let offset = offset ?? (offsets[partition] ?? -1) + 1
    read(.own(stamp, isComplete: true), at: offset, in: partition)
  }

  /// The topic is read again from its start, since it is another one or has lost records: nothing stands there until it
  /// is read, at whatever offset. The tokens count on, so none is minted early.
  public mutating func restart() { (standing, offsets) = (.removed, [:]) }

  /// The record on the topic is not as it would be published now: the credential has other apps.
  public mutating func outdate() {
    if case .own(let stamp, _) = standing { standing = .own(stamp, isComplete: false) }
  }

  /// Notes that a sender asks for a token. It makes the next one come sooner at most, and never sooner than
  /// 20 minutes after the last.
  ///
  /// - Parameter now: seconds since the epoch.
  public mutating func requested(_ request: Request, now: Int64) {
    if request == .refused { refusedAt = current(now: now)?.stamp.issuedAt }
  }

  /// True if the record on the topic is not ours: a tombstone goes before the next record, because senders may know it
  /// by a later time or generation than ours.
  public var mustClear: Bool { standing == .stranger }

  /// `iat` of the newest token that is not of the future, in seconds; nil when there is none.
  ///
  /// - Parameter now: seconds since the epoch.
  public func issuedAt(now: Int64) -> Int64? { current(now: now)?.stamp.issuedAt }

  /// True if the newest token that is remembered lies in the future: a clock is or was wrong.
  public func hasToken(ofFutureAt now: Int64) -> Bool {
    tokens.contains { $0.stamp.isFromFuture(now: now * 1_000) }
  }

  /// The action at `now` (seconds since the epoch); nil for nothing. It stays the same until `published(_:at:)` or
  /// `read(_:at:)` report what came of it.
  public func step(now: Int64) -> Step? {
    guard let current = current(now: now), now < dueAt(current) else {
      return .mint(ProviderTokenStamp(issuedAt: now - Self.backdating, generation: generation + 1))
    }
    if case .own(let stamp, isComplete: true) = standing, stamp.issuedAt == current.stamp.issuedAt {
      return nil
    }
    guard current.isOwn else { return nil }
    return .publish(
      ProviderTokenStamp(issuedAt: current.stamp.issuedAt, generation: generation + 1))
  }

  private func current(now: Int64) -> Token? {
    var best: Token?
    for token in tokens where !token.stamp.isFromFuture(now: now * 1_000) {
      guard let known = best else {
        best = token
        continue
      }
      if known.isOwn == token.isOwn ? token.stamp > known.stamp : token.isOwn { best = token }
    }
    return best
  }

  private func dueAt(_ token: Token) -> Int64 {
    let issuedAt = token.stamp.issuedAt
    // `iat` lies up to `backdating` before the minting: the interval is counted from the later of the two.
    return refusedAt == issuedAt
      ? issuedAt + Self.shortestInterval + Self.backdating + Self.clockDifference
      : issuedAt + Self.renewalAge
  }

  private mutating func remember(_ stamp: ProviderTokenStamp, isOwn: Bool) {
    if isOwn { generation = max(generation, stamp.generation) }
    // The same token under another generation.
    tokens.removeAll { $0.stamp.issuedAt == stamp.issuedAt && ($0.isOwn == isOwn || !$0.isOwn) }
    tokens.append(Token(stamp: stamp, isOwn: isOwn))
    tokens.sort { $0.stamp.generation < $1.stamp.generation }
    guard tokens.count > Self.memory else { return }
    // What cannot be opened says of its generation what its writer likes: it pushes none of ours out.
    tokens.remove(at: tokens.firstIndex { !$0.isOwn } ?? 0)
  }
}
