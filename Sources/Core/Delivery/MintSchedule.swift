// SPDX-License-Identifier: Apache-2.0

/// When the signer mints the next provider token of one credential.
///
/// APNs wants a token to be used for 20 to 60 minutes. The schedule renews at 45 minutes, so that senders
/// have a newer one long before they stop using the old one at 55, and never mints earlier than 20 minutes
/// after the last, whoever asks. It starts from the newest token on the topic, so a successor that takes
/// over goes on with its predecessor's schedule.
package struct MintSchedule: Sendable, Equatable {
  /// Seconds after `iat` at which a token is renewed.
  package static let renewalAge: Int64 = 45 * 60
  /// Seconds that have to lie between two tokens.
  package static let shortestInterval: Int64 = 20 * 60
  /// Seconds by which `iat` is dated back against clock differences.
  package static let backdating: Int64 = 5

  /// Seconds by which the clocks of two signers may differ: the next token may be another signer's work.
  package static let clockDifference: Int64 = 15

  /// Why a sender asks for a token.
  package enum Request: Sendable, Equatable {
    /// No token of the credential has reached the sender.
    case missing
    /// APNs refused the current token as expired or the like.
    case refused
  }

  /// What to mint.
  package struct Order: Sendable, Equatable {
    /// `iat` of the new token, in seconds since the epoch.
    package let issuedAt: Int64
    package let generation: UInt64
  }

  /// `iat` of the newest token known, in seconds since the epoch; nil when there has been none.
  package private(set) var issuedAt: Int64?
  /// The generation of the newest token known, 0 when there has been none.
  package private(set) var generation: UInt64 = 0
  private var wantedEarly = false

  package init() {}

  /// Notes a token seen on the topic, or just minted. Older ones are ignored.
  package mutating func published(issuedAt: Int64, generation: UInt64) {
    self.generation = max(self.generation, generation)
    guard issuedAt > self.issuedAt ?? .min else { return }
    self.issuedAt = issuedAt
    wantedEarly = false
  }

  /// Notes that a sender asks for a token. It makes the next one come sooner at most, and never sooner than
  /// 20 minutes after the last.
  package mutating func requested(_ request: Request) {
    guard issuedAt != nil else { return }
    if request == .refused { wantedEarly = true }
  }

  /// When the next token is due, in seconds since the epoch; `.min` when there has been none.
  package var dueAt: Int64 {
    guard let issuedAt else { return .min }
    // `iat` lies up to `backdating` before the minting: the interval is counted from the later of the two.
    let interval =
      wantedEarly
      ? Self.shortestInterval + Self.backdating + Self.clockDifference : Self.renewalAge
    return issuedAt + interval
  }

  /// The token to mint at `now` (seconds since the epoch), if one is due. The schedule stays as it is until
  /// `published(issuedAt:generation:)` reports the token.
  package func order(now: Int64) -> Order? {
    guard now >= dueAt else { return nil }
    return Order(issuedAt: now - Self.backdating, generation: generation + 1)
  }
}
