// SPDX-License-Identifier: Apache-2.0
import Contract

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
  /// All paces that the key may see.
  case paces
  /// The pace of an app, a lane, a group or devices, by its name as it stands in the path.
  case pace(PaceSubject.Kind, String)
  /// All campaigns that the key may see.
  case campaigns
  /// A campaign, by its name as it stands in the path.
  case campaign(String)
  case campaignChange(String, CampaignChange)
  /// gorush's own.
  case gorush

  /// What a path asks of a campaign.
  enum CampaignChange: String {
    case pause, resume
  }

  private static let devices = "/v1/devices/"
  private static let outcomes = "/v1/notifications/"
  private static let users = "/v1/users/"
  private static let pacesOf = "/v1/paces/"
  private static let campaignsOf = "/v1/campaigns/"

  /// - Parameter gorush: whether gorush's path is served.
  init?(path: String, gorush: Bool) {
    switch path {
    case "/api/push" where gorush: self = .gorush
    case "/v1/notifications": self = .notifications
    case "/v1/invalid-tokens": self = .invalidTokens
    case "/v1/paces": self = .paces
    case "/v1/campaigns": self = .campaigns
    case _ where path.hasPrefix(Self.outcomes):
      // An id may have a slash.
      let id = path.dropFirst(Self.outcomes.count)
      guard !id.isEmpty else { return nil }
      self = .notification(id: String(id))
    case _ where path.hasPrefix(Self.users):
      let user = path.dropFirst(Self.users.count)
      guard !user.isEmpty else { return nil }
      self = .user(String(user))
    case _ where path.hasPrefix(Self.pacesOf):
      // A group may have a slash.
      let parts = path.dropFirst(Self.pacesOf.count).split(
        separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[1].isEmpty,
        let kind = PaceSubject.Kind(rawValue: String(parts[0]))
      else { return nil }
      self = .pace(kind, String(parts[1]))
    case _ where path.hasPrefix(Self.campaignsOf):
      let parts = path.dropFirst(Self.campaignsOf.count).split(
        separator: "/", omittingEmptySubsequences: false)
      guard let name = parts.first, !name.isEmpty, parts.count <= 2 else { return nil }
      if parts.count == 1 {
        self = .campaign(String(name))
      } else {
        guard let change = CampaignChange(rawValue: String(parts[1])) else { return nil }
        self = .campaignChange(String(name), change)
      }
    default:
      guard path.hasPrefix(Self.devices) else { return nil }
      let token = path.dropFirst(Self.devices.count)
      guard !token.isEmpty, !token.contains("/") else { return nil }
      self = .device(token: String(token))
    }
  }

  var methods: [String] {
    switch self {
    case .notifications, .gorush, .campaignChange: ["POST"]
    case .campaigns: ["GET", "POST"]
    case .device, .pace: ["GET", "PUT", "DELETE"]
    case .user, .notification, .campaign: ["GET", "DELETE"]
    case .invalidTokens, .paces: ["GET"]
    }
  }
}
