// SPDX-License-Identifier: Apache-2.0

/// Why a notification ended without a decisive answer from APNs: `reason` and `detail` of its receipt.
///
/// A `rejected` receipt has APNs' own reason instead; a `delivered` one has neither.
public enum ReceiptCause: UInt8, Sendable, CaseIterable {
  /// `expired`: past its expiration.
  case expiration
  /// `expired`: older than its lane allows.
  case age
  /// `suppressed`, by ingest.
  case invalidToken
  /// `suppressed`, by the sender.
  case recentlyInvalid
  /// `suppressed`, by ingest or the sender
  case removed
  case ownerChanged
  /// `deduplicated`
  case repeatedID
  case otherPayload
  /// `dead_lettered`, with the reason of the dead letter, like the following cases.
  case retries
  case noCredential
  case certificateOnly
  case certificateNeeded
  /// `superseded`
  case newerState
  /// `cancelled`
  case campaignOver
  /// `addressed`
  case noDevice

  /// The `reason` of the receipt.
  public var code: StaticString {
    switch self {
    case .expiration: "expiration_passed"
    case .age: "max_age_passed"
    case .invalidToken: "token_known_invalid"
    case .recentlyInvalid: "token_recently_invalid"
    case .removed: "removed"
    case .ownerChanged: "owner_changed"
    case .repeatedID: "apns_id_repeated"
    case .otherPayload: "other_payload"
    case .retries: "retries_exhausted"
    case .noCredential, .certificateOnly, .certificateNeeded: "no_credential"
    case .newerState: "newer_push"
    case .campaignOver: "campaign_cancelled"
    case .noDevice: "no_device"
    }
  }

  /// The detail, with the last answer if there was one.
  public func detail(after status: UInt16?, _ reason: String) -> String {
    guard let status else { return "\(detail)" }
    return "\(detail); the last answer was \(status)\(reason.isEmpty ? "" : " \(reason)")"
  }

  /// The `detail` of the receipt, in words.
  public var detail: StaticString {
    switch self {
    case .expiration: "its expiration passed before it could be delivered"
    case .age: "it was older than its lane allows (--lanes) before it could be delivered"
    case .invalidToken:
      "APNs reported the token dead, and no newer registration is known; it was not sent"
    case .recentlyInvalid:
      "APNs reported the token dead after this push was requested; it was not sent"
    case .removed:
      "the application has removed the device since this push was requested, or before; it was not sent"
    case .ownerChanged:
      "the device was registered for another user, or for none, after this push was requested; it was not sent"
    case .repeatedID: "its apns-id was taken before; it was not sent again"
    case .otherPayload:
      "its apns-id was taken before by a push with another payload; it was not sent: give it an id of its own"
    case .retries: "every attempt failed"
    case .noCredential: "no provider token serves this app and environment"
    case .certificateOnly:
      """
      this push type needs a provider token, and the app has only a client certificate: give \
      martlet-signer a key that serves it
      """
    case .certificateNeeded:
      """
      this push type needs a client certificate, and none serves this app and environment: list one in the \
      sender's --certificates
      """
    case .newerState:
      "a newer push with the same device, app and key has taken its place; it is not sent (again)"
    case .campaignOver:
      "its campaign was cancelled, or has stopped itself, before it could be delivered; it is not sent (again)"
    case .noDevice:
      "no user of the request has a registered, valid device for this app, environment, push type and activity"
    }
  }
}
