// SPDX-License-Identifier: Apache-2.0

/// The gateway's checks of a device push. The first that fails decides the response; injected faults and the acceptance
/// come after the last.
public enum PushCheck: String, CaseIterable, Sendable {
  /// A repeated header of APNs' own: DuplicateHeaders.
  case duplicateHeaders = "duplicate-headers"
  /// `/3/device/TOKEN`: BadPath, MissingDeviceToken.
  case path
  /// POST: MethodNotAllowed.
  case method
  /// `apns-id` is a UUID: BadMessageId.
  case identifier = "apns-id"
  /// A certificate or a provider token: the 403s and TooManyProviderTokenUpdates.
  case credential
  /// Present, well-formed, allowed for the credential: MissingTopic, BadTopic, TopicDisallowed.
  case topic
  /// Known, and the topic has its suffix: InvalidPushType, BadTopic.
  case pushType = "push-type"
  /// 1, 5 or 10, and 5 for background: BadPriority.
  case priority
  /// A decimal integer: BadExpirationDate.
  case expiration
  /// At most 64 bytes: BadCollapseId.
  case collapseID = "collapse-id"
  /// Not empty, not too large: PayloadEmpty, PayloadTooLarge.
  case payload
  /// The content of the body, as `json-check` requires: PayloadEmpty, InvalidPushType.
  case json
  /// Hexadecimal and of this environment: BadDeviceToken.
  case deviceToken = "device-token"
  /// The token belongs to the topic: DeviceTokenNotForTopic.
  case tokenTopic = "token-topic"
  /// The token is active: Unregistered, ExpiredToken.
  case tokenState = "token-state"
  /// Not too many pushes to one token: TooManyRequests.
  case tokenRate = "token-rate"

  /// The default order, which Apple does not document. Observed: without a credential `GET /3/device/` is a
  /// MethodNotAllowed and `POST /3/device/` a MissingProviderToken.
  public static let standardOrder: [PushCheck] = [
    .duplicateHeaders, .method, .identifier, .credential, .path, .topic, .pushType, .priority,
    .expiration, .collapseID, .payload, .json, .deviceToken, .tokenTopic, .tokenState, .tokenRate,
  ]

  /// Reads names separated by commas: a different order, or fewer checks.
  public static func order(_ text: String) throws(BehaviourError) -> [PushCheck] {
    var order: [PushCheck] = []
    for name in text.split(separator: ",") {
      guard let check = PushCheck(rawValue: String(name)) else {
        throw BehaviourError(name: "checks", problem: "there is no check \(name)")
      }
      guard !order.contains(check) else {
        throw BehaviourError(name: "checks", problem: "\(name) is named twice")
      }
      order.append(check)
    }
    return order
  }

  public static func text(_ order: [PushCheck]) -> String {
    order.map(\.rawValue).joined(separator: ",")
  }
}
