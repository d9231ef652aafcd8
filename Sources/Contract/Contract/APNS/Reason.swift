// SPDX-License-Identifier: Apache-2.0

/// The reason of a refusal by APNs: the `reason` of its error bodies and GOAWAY frames.
///
/// Each has one row in `ReasonRule.table`.
public enum Reason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case badCollapseId, badDeviceToken, badExpirationDate, badMessageId, badPriority, badTopic
  case deviceTokenNotForTopic, duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken
  case missingTopic, payloadEmpty, topicDisallowed
  case badCertificate, badCertificateEnvironment, expiredProviderToken, forbidden
  case invalidProviderToken, missingProviderToken, unrelatedKeyIdInToken
  case badEnvironmentKeyIdInToken, badEnvironmentKeyInToken, topicMismatch
  case badPath, methodNotAllowed, expiredToken, unregistered, payloadTooLarge
  case tooManyProviderTokenUpdates, tooManyRequests
  case internalServerError, serviceUnavailable, serviceUnavailableSpaced, shutdown
  case featureNotEnabled, missingChannelId, badChannelId, channelNotRegistered, badRequestParams
  case badRequestPayload, missingPushType, cannotCreateChannelConfig, missingChannelQueueSize

  public var rule: ReasonRule { ReasonRule.table[Int(rawValue)] }

  /// The spelling that APNs uses.
  public var name: String { rule.name }

  public var description: String { name }

  /// The reason with this spelling, or `nil` if unknown.
  public init?(_ name: Span<UInt8>) {
    let hash = ReasonRule.hash(name)
    for (index, candidate) in ReasonRule.hashes.enumerated() where candidate == hash {
      guard name.spells(ReasonRule.table[index].name) else { continue }
      self = ReasonRule.table[index].reason
      return
    }
    return nil
  }

  /// The reason with this spelling, or `nil` if unknown.
  public init?(_ name: String) { self.init(name.utf8.span) }
}
