// SPDX-License-Identifier: Apache-2.0
import Contract

enum ChannelAdvice {
  /// Returns advice for every reason that channel management can give, or for the status of an unknown one.
  static func text(_ response: GatewayResponse) -> String {
    guard let reason = response.reason else { return text(status: response.status) }
    switch reason {
    case .featureNotEnabled:
      return "Broadcasts are not enabled for this app. Enable the Broadcast Capability of its App"
        + " ID in Apple's developer portal."
    case .channelNotRegistered:
      return
        "This channel does not exist in this environment; it may have been deleted, or belong to"
        + " the other environment. martlet channels list shows the existing ones."
    case .badChannelId, .missingChannelId:
      return "Pass the id as martlet channels create or list printed it."
    case .cannotCreateChannelConfig:
      return "The app has reached its limit of 10,000 channels. Delete unused channels."
    case .topicDisallowed, .topicMismatch:
      return
        "The credential does not serve this app. Check that the bundle id is correct, without a suffix such"
        + " as .push-type.liveactivity, and that the key or certificate covers it."
    case .expiredProviderToken:
      return "The provider token is too old. Is martlet-signer running, and are the clocks correct?"
    case .invalidProviderToken, .badEnvironmentKeyIdInToken, .badEnvironmentKeyInToken,
      .unrelatedKeyIdInToken, .forbidden:
      return "APNs does not accept the provider token. Check team id, key id, the key's"
        + " environment and whether it was revoked."
    case .missingProviderToken:
      return "The request carried neither a provider token nor a certificate."
    case .badCertificate, .badCertificateEnvironment:
      return
        "APNs does not accept the client certificate. Check that it is valid, and for this environment."
    case .tooManyProviderTokenUpdates:
      return "The provider token was changed too often. Wait 20 minutes; do not restart the signer."
    case .tooManyRequests: return "Too many requests. Wait a moment and try again."
    case .internalServerError, .serviceUnavailable, .serviceUnavailableSpaced, .shutdown:
      return "APNs has an internal error. Try again in 15 minutes."
    case .idleTimeout: return "The connection was idle for too long. Try again."
    case .missingChannelQueueSize:
      return "The gateway does not know the storage policy. This may be a bug in Martlet."
    case .badRequestParams, .badRequestPayload, .missingPushType, .invalidPushType, .payloadEmpty,
      .payloadTooLarge, .badMessageId, .badExpirationDate, .badPriority, .badPath,
      .methodNotAllowed, .badCollapseId, .badDeviceToken, .badTopic, .deviceTokenNotForTopic,
      .duplicateHeaders, .missingDeviceToken, .missingTopic, .expiredToken, .unregistered:
      return "The gateway refuses the form of the request. Check that the address is that of"
        + " channel management, not of pushes."
    }
  }

  private static func text(status: UInt16) -> String {
    switch status {
    case 429: "Too many requests. Wait a moment and try again."
    case 500...599: "The gateway has an internal error. Try again later."
    default: "The gateway gave no known reason. Check its address."
    }
  }
}
