// SPDX-License-Identifier: Apache-2.0
import APNS

/// What to do about a refusal of channel management, for the person at the keyboard.
enum ChannelAdvice {
  /// Words for every reason of APNs that channel management may give, or for the status of an unknown one.
  static func text(_ response: GatewayResponse) -> String {
    guard let reason = response.reason else { return text(status: response.status) }
    switch reason {
    case .featureNotEnabled:
      return "Broadcasts are not enabled for this app. Enable the Broadcast Capability of its App"
        + " ID in Apple's developer portal."
    case .channelNotRegistered:
      return "There is no such channel in this environment; it may have been deleted, or belong to"
        + " the other environment. martlet channels list shows those there are."
    case .badChannelId, .missingChannelId:
      return "Give the id as martlet channels create or list printed it."
    case .cannotCreateChannelConfig:
      return "The app has reached its limit of 10,000 channels. Delete channels that are not used."
    case .topicDisallowed, .topicMismatch:
      return "The credential is not for this app. Is the bundle id right, and without a suffix such"
        + " as .push-type.liveactivity? Does the key or certificate cover it?"
    case .expiredProviderToken:
      return "The provider token is too old. Does martlet-signer run, and are the clocks right?"
    case .invalidProviderToken, .badEnvironmentKeyIdInToken, .badEnvironmentKeyInToken,
      .unrelatedKeyIdInToken, .forbidden:
      return "APNs does not accept the provider token. Check team id, key id, the key's"
        + " environment and whether it was revoked."
    case .missingProviderToken:
      return "The request carried neither a provider token nor a certificate."
    case .badCertificate, .badCertificateEnvironment:
      return "APNs does not accept the client certificate. Is it valid, and for this environment?"
    case .tooManyProviderTokenUpdates:
      return "The provider token was changed too often. Wait 20 minutes; do not restart the signer."
    case .tooManyRequests: return "Too many requests. Wait a little and try again."
    case .internalServerError, .serviceUnavailable, .serviceUnavailableSpaced, .shutdown:
      return "APNs has a fault of its own. Try again in 15 minutes."
    case .idleTimeout: return "The connection was idle for too long. Try again."
    case .missingChannelQueueSize:
      return "The gateway does not know the storage policy. This may be a fault of Martlet."
    case .badRequestParams, .badRequestPayload, .missingPushType, .invalidPushType, .payloadEmpty,
      .payloadTooLarge, .badMessageId, .badExpirationDate, .badPriority, .badPath,
      .methodNotAllowed, .badCollapseId, .badDeviceToken, .badTopic, .deviceTokenNotForTopic,
      .duplicateHeaders, .missingDeviceToken, .missingTopic, .expiredToken, .unregistered:
      return "The gateway does not take the request as Martlet makes it. Is the address that of"
        + " channel management, and not of pushes?"
    }
  }

  private static func text(status: UInt16) -> String {
    switch status {
    case 429: "Too many requests. Wait a little and try again."
    case 500...599: "The gateway has a fault of its own. Try again later."
    default: "The gateway gave no reason that Martlet knows. Is its address right?"
    }
  }
}
