// SPDX-License-Identifier: Apache-2.0

/// Decides when a device token is invalid: only on proof.
///
/// A 410 has the time at which APNs last saw the token invalid for the topic. An app that registers the same token
/// later revives it, so an answer older than the newest registration proves nothing. A configuration mistake (wrong
/// topic, wrong environment) looks like a bad token, so those answers only raise a suspicion and never invalidate.
///
/// A known reason decides by its class, whatever the status: `410` with `BadDeviceToken` is a suspicion, too.
///
/// Source: Apple, "Handling notification responses from APNs" and the older guide's rule "until the device
/// registers a token with a later timestamp".
public enum TokenInvalidation {
  /// The reason why an answer does not affect the token.
  public enum Kept: UInt8, Equatable, Sendable {
    /// The device registered after APNs saw the token invalid, or after the push was sent.
    case registeredLater
    /// The answer says nothing about the token.
    case notAboutToken
  }

  /// The consequence of an answer.
  public enum Verdict: Equatable, Sendable {
    /// The token is invalid for its app since this time (milliseconds since the epoch).
    case invalidate(since: Int64)
    case keep(Kept)
    /// Either invalid or a mistake of ours: counted, but never acted upon alone.
    case suspect
  }

  /// Applies the rule.
  ///
  /// - Parameters:
  ///   - status: the answer's HTTP status. 410 counts also with an unknown or missing reason.
  ///   - reason: the answer's reason, if it is known.
  ///   - timestamp: APNs' own time in the answer, milliseconds since the epoch; nil when there was none.
  ///   - sentAt: when the push was sent, milliseconds since the epoch.
  ///   - registeredAt: the newest registration of this token that is known *now*; nil for none.
  ///   - answeredAt: when the answer arrived. APNs cannot know of a later time, so times in the answer are capped by
  ///     it.
  ///   - skew: how far APNs' clock may be behind ours, in milliseconds, 0 … a few thousand.
  public static func verdict(
    status: UInt16, reason: Reason?, timestamp: Int64?, sentAt: Int64, registeredAt: Int64?,
    answeredAt: Int64 = .max, skew: Int64 = 0
  ) -> Verdict {
    if reason?.rule.kind == .suspect { return .suspect }
    guard
      GatewayResponse(status: status, body: reason.map { .reason($0) } ?? .otherReason)
        .isAboutInvalidToken
    else { return .keep(.notAboutToken) }
    let revival = earliestRevival(
      timestamp: timestamp, sentAt: sentAt, answeredAt: answeredAt, skew: skew)
    guard let registeredAt, registeredAt >= revival else {
      return .invalidate(since: min(timestamp ?? sentAt, answeredAt))
    }
    return .keep(.registeredLater)
  }

  /// The earliest registration that proves the token of a 410 valid, in milliseconds since the epoch, for a caller that
  /// stores the answer and learns of registrations later. Parameters as for `verdict`.
  public static func earliestRevival(
    timestamp: Int64?, sentAt: Int64, answeredAt: Int64 = .max, skew: Int64 = 0
  ) -> Int64 {
    // Without APNs' time, the push itself is the latest time at which the token can have been found invalid.
    guard let timestamp else { return min(sentAt, answeredAt) }
    let (moment, overflow) = timestamp.addingReportingOverflow(skew)
    let latest = min(overflow ? .max : moment, answeredAt)
    return latest == .max ? .max : latest + 1
  }
}
