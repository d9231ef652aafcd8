// SPDX-License-Identifier: Apache-2.0

/// The resource that a path names, and its methods.
enum APIResource: Equatable {
  case notifications
  /// The token as it stands in the path.
  case device(token: String)
  case invalidTokens
  /// A request id or an `apns-id`, as it stands in the path.
  case notification(id: String)
  /// A user of registrations, as it stands in the path.
  case user(String)
  /// gorush's own.
  case gorush

  private static let devices = "/v1/devices/"
  private static let outcomes = "/v1/notifications/"
  private static let users = "/v1/users/"

  /// - Parameter gorush: whether gorush's path is served.
  init?(path: String, gorush: Bool) {
    switch path {
    case "/api/push" where gorush: self = .gorush
    case "/v1/notifications": self = .notifications
    case "/v1/invalid-tokens": self = .invalidTokens
    case _ where path.hasPrefix(Self.outcomes):
      // An id may have a slash.
      let id = path.dropFirst(Self.outcomes.count)
      guard !id.isEmpty else { return nil }
      self = .notification(id: String(id))
    case _ where path.hasPrefix(Self.users):
      let user = path.dropFirst(Self.users.count)
      guard !user.isEmpty else { return nil }
      self = .user(String(user))
    default:
      guard path.hasPrefix(Self.devices) else { return nil }
      let token = path.dropFirst(Self.devices.count)
      guard !token.isEmpty, !token.contains("/") else { return nil }
      self = .device(token: String(token))
    }
  }

  var methods: [String] {
    switch self {
    case .notifications, .gorush: ["POST"]
    case .device: ["GET", "PUT", "DELETE"]
    case .user, .notification: ["GET", "DELETE"]
    case .invalidTokens: ["GET"]
    }
  }
}
