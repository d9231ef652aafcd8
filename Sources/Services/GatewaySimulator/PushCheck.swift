// SPDX-License-Identifier: Apache-2.0
package import APNS

/// Why a push is refused.
package struct Refusal: Equatable, Sendable {
  package let reason: Reason
  /// With a 410: when the token was last known to be invalid, in ms.
  package let timestamp: Int64?

  package init(_ reason: Reason, timestamp: Int64? = nil) {
    self.reason = reason
    self.timestamp = timestamp
  }
}

/// The gateway's checks of a device push. The first that fails decides the answer.
package enum PushCheck: CaseIterable, Sendable {
  case duplicateHeaders
  case path
  case method
  case identifier
  case providerToken
  case topic
  case pushType
  case priority
  case expiration
  case collapseID
  case payload
  case deviceToken
  case registration

  /// Apple does not document the order; this is the one place that says ours.
  package static let order: [PushCheck] = [
    .duplicateHeaders, .path, .method, .identifier, .providerToken, .topic, .pushType, .priority,
    .expiration, .collapseID, .payload, .deviceToken, .registration,
  ]
}

/// What a connection has been bound to by its first valid provider token.
package struct ConnectionBinding: Equatable, Sendable {
  package var team: String?

  package init() {}
}

/// Applies the checks. Owned by one loop; holds its copy of the keys and of the declared tokens.
package struct PushValidator {
  package var providerTokens: ProviderTokenCheck
  package var devices: DeviceRegistry

  package init(providerTokens: ProviderTokenCheck, devices: DeviceRegistry) {
    self.providerTokens = providerTokens
    self.devices = devices
  }

  /// What is wrong with a push, or nil. `now` is in ms since the epoch. The binding changes with the
  /// first valid provider token; `isAuthenticated` says whether this push carried one.
  package mutating func refusal(
    of push: PushFields, binding: inout ConnectionBinding, isAuthenticated: inout Bool, now: Int64
  ) -> Refusal? {
    isAuthenticated = false
    for check in PushCheck.order {
      let refusal: Refusal?
      switch check {
      case .duplicateHeaders: refusal = push.hasDuplicate ? Refusal(.duplicateHeaders) : nil
      case .path: refusal = path(push)
      case .method: refusal = push.method.spells("POST") ? nil : Refusal(.methodNotAllowed)
      case .identifier: refusal = identifier(push)
      case .providerToken:
        refusal = providerTokens.refusal(of: push.authorization, binding: &binding, now: now)
        isAuthenticated = refusal == nil
      case .topic: refusal = topic(push)
      case .pushType: refusal = pushType(push)
      case .priority: refusal = priority(push)
      case .expiration: refusal = expiration(push)
      case .collapseID: refusal = (push.collapseID?.count ?? 0) > 64 ? Refusal(.badCollapseId) : nil
      case .payload: refusal = payload(push)
      case .deviceToken: refusal = deviceToken(push)
      case .registration: refusal = devices.refusal(of: push)
      }
      if let refusal { return refusal }
    }
    return nil
  }

  private func path(_ push: PushFields) -> Refusal? {
    guard let token = push.deviceToken else { return Refusal(.badPath) }
    return token.count == 0 ? Refusal(.missingDeviceToken) : nil
  }

  private func identifier(_ push: PushFields) -> Refusal? {
    guard let text = push.identifier else { return nil }
    let isCanonical = text.count == NotificationID.textLength && text.id != nil
    return isCanonical ? nil : Refusal(.badMessageId)
  }

  private func topic(_ push: PushFields) -> Refusal? {
    guard let topic = push.topic, topic.count > 0 else { return Refusal(.missingTopic) }
    guard topic.count <= 256, topic.allSatisfy({ Self.isTopicByte[Int($0)] }) else {
      return Refusal(.badTopic)
    }
    return providerTokens.allows(topic: topic) ? nil : Refusal(.topicDisallowed)
  }

  private func pushType(_ push: PushFields) -> Refusal? {
    guard let name = push.pushType else { return nil }
    guard let type = name.pushType else { return Refusal(.invalidPushType) }
    guard let topic = push.topic else { return nil }
    return topic.hasSuffix(type.topicSuffix) ? nil : Refusal(.badTopic)
  }

  private func priority(_ push: PushFields) -> Refusal? {
    // APNs takes an absent priority for 10, which a background push must not have.
    let type = push.pushType?.pushType ?? .alert
    guard let text = push.priority else {
      return type == .background ? Refusal(.badPriority) : nil
    }
    guard let priority = text.decimal, type.allows(priority: priority) else {
      return Refusal(.badPriority)
    }
    return nil
  }

  private func expiration(_ push: PushFields) -> Refusal? {
    guard let text = push.expiration else { return nil }
    return text.decimal == nil ? Refusal(.badExpirationDate) : nil
  }

  private func payload(_ push: PushFields) -> Refusal? {
    guard push.bodyCount > 0 else { return Refusal(.payloadEmpty) }
    let limit = (push.pushType?.pushType ?? .alert).payloadLimit
    return push.bodyCount > limit ? Refusal(.payloadTooLarge) : nil
  }

  private func deviceToken(_ push: PushFields) -> Refusal? {
    guard let token = push.deviceToken else { return Refusal(.badDeviceToken) }
    return token.isDeviceToken ? nil : Refusal(.badDeviceToken)
  }

  /// Letters, digits, `.`, `-` and `_`: what bundle ids and Apple's suffixes are made of.
  private static let isTopicByte: [Bool] = (0..<256).map { byte in
    let scalar = UnicodeScalar(UInt8(byte))
    return scalar.isASCII
      && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || ".-_".unicodeScalars.contains(scalar))
  }
}
