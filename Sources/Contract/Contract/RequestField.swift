// SPDX-License-Identifier: Apache-2.0

/// The fields of a notification request, in the order of the parser's C interface: first those that it knows, then
/// those whose text is only carried, which it gets by name.
public enum RequestField: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case app
  case token
  case tokens
  case payload
  case id
  case environment
  case type
  case topic
  case priority
  case expiration
  case lane
  case apnsID
  case channel
  case expiresIn
  case headers
  case data
  case sendAt
  case user
  case users
  case activity
  case event
  case collapseID
  case supersede
  case group
  /// The campaign that it belongs to; set only by the scheduler (`RequestReader.takesCampaigns`).
  case campaign

  /// The first field whose text is only carried (`CarriedField`).
  public static let firstText = RequestField.collapseID

  /// The key in the request's JSON.
  public var name: String {
    switch self {
    case .app: "app"
    case .token: "token"
    case .tokens: "tokens"
    case .payload: "payload"
    case .id: "id"
    case .environment: "environment"
    case .type: "type"
    case .topic: "topic"
    case .priority: "priority"
    case .expiration: "expiration"
    case .lane: "lane"
    case .apnsID: "apns_id"
    case .channel: "channel"
    case .expiresIn: "expires_in"
    case .headers: "headers"
    case .data: "data"
    case .sendAt: "send_at"
    case .user: "user"
    case .users: "users"
    case .activity: "activity"
    case .event: "event"
    case .collapseID: "collapse_id"
    case .supersede: "supersede"
    case .group: "group"
    case .campaign: "campaign"
    }
  }

  /// The values of a field with a fixed set of them; empty for the others.
  public var values: [String] {
    switch self {
    case .environment: Environment.allCases.map(\.description)
    case .type: PushType.allCases.map(\.description)
    case .lane: Lanes.standard.rules.map(\.name)
    default: []
    }
  }

  public var description: String { name }
}
