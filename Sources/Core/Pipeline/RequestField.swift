// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// The fields of a notification request. The order is the one that the parser's C interface uses.
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
  case collapseID
  case lane
  case apnsID
  case channel
  case expiresIn

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
    case .collapseID: "collapse_id"
    case .lane: "lane"
    case .apnsID: "apns_id"
    case .channel: "channel"
    case .expiresIn: "expires_in"
    }
  }

  /// The values of a field that has a fixed set of them; empty for the others.
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
