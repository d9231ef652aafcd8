// SPDX-License-Identifier: Apache-2.0
package import APNS

/// What the gateway has been told about one device token.
package struct DeclaredToken: Sendable, Equatable {
  package enum State: Sendable, Equatable {
    case active
    /// The app is gone since `timestamp` (ms); answered with 410 and one of its two reasons.
    case gone(Reason, timestamp: Int64)
    /// Not a token of this environment.
    case bad
  }

  /// Hexadecimal digits.
  package let token: [UInt8]
  package let state: State
  /// The only topic it is good for; nil is any.
  package let topic: [UInt8]?

  package init(token: String, state: State, topic: String? = nil) {
    self.token = Array(token.lowercased().utf8)
    self.state = state
    self.topic = topic.map { Array($0.utf8) }
  }
}

/// The device tokens that were declared. A value: loops have copies.
package struct DeviceRegistry: Sendable {
  private var entries: [DeclaredToken] = []
  private var places: [UInt64: Int] = [:]
  /// A token that was never declared is active, as long as it looks like one; otherwise it is bad.
  private let acceptsUnknown: Bool

  package init(acceptsUnknown: Bool = true) { self.acceptsUnknown = acceptsUnknown }

  package var count: Int { entries.count }

  /// Adds a token or changes what is known about it.
  package mutating func declare(_ token: DeclaredToken) {
    let hash = token.token.withUnsafeBytes { $0.foldedHash }
    var slot = hash
    // Different tokens with one hash take the following ones.
    while let place = places[slot] {
      if entries[place].token == token.token {
        entries[place] = token
        return
      }
      slot &+= 1
    }
    places[slot] = entries.count
    entries.append(token)
  }

  package func refusal(of push: PushFields) -> Refusal? {
    if entries.isEmpty && acceptsUnknown { return nil }
    guard let token = push.deviceToken, let entry = find(token) else {
      return acceptsUnknown ? nil : Refusal(.badDeviceToken)
    }
    if entry.state == .bad { return Refusal(.badDeviceToken) }
    if let wanted = entry.topic, let topic = push.topic, !topic.equals(wanted) {
      return Refusal(.deviceTokenNotForTopic)
    }
    guard case .gone(let reason, let timestamp) = entry.state else { return nil }
    return Refusal(reason, timestamp: timestamp)
  }

  private func find(_ token: UnsafeRawBufferPointer) -> DeclaredToken? {
    var slot = token.foldedHash
    while let place = places[slot] {
      let candidate = entries[place].token
      if candidate.count == token.count,
        zip(candidate, token).allSatisfy({ $0 == ($1 | 0x20) || $0 == $1 })
      {
        return entries[place]
      }
      slot &+= 1
    }
    return nil
  }
}
