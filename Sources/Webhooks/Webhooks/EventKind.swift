// SPDX-License-Identifier: Apache-2.0

/// The kind of event that a webhook reports: its `type`.
public enum EventKind: String, Sendable, CaseIterable {
  case delivered = "notification.delivered"
  case rejected = "notification.rejected"
  case expired = "notification.expired"
  case suppressed = "notification.suppressed"
  case deduplicated = "notification.deduplicated"
  case superseded = "notification.superseded"
  case cancelled = "notification.cancelled"
  /// A request to users: the number of their devices.
  case addressed = "notification.addressed"
  case deadLettered = "notification.dead_lettered"
  /// APNs reported the device token invalid.
  case tokenInvalidated = "token.invalidated"
  /// A later registration proves an invalid token valid.
  case tokenRevived = "token.revived"
  case tokenRegistered = "token.registered"
  case tokenRemoved = "token.removed"

  public var source: EventSource {
    switch self {
    case .delivered, .rejected, .expired, .suppressed, .deduplicated, .superseded, .cancelled,
      .addressed, .deadLettered:
      .receipts
    case .tokenInvalidated, .tokenRevived: .invalidTokens
    case .tokenRegistered, .tokenRemoved: .devices
    }
  }

  /// The kind of a receipt with this `outcome`; nil for an unknown outcome.
  public init?(outcome: String) { self.init(rawValue: "notification." + outcome) }

  /// The kinds named by a text in the subscription file: a kind, or `notification.*`, `token.*`, `*`. Empty for
  /// anything else.
  public static func named(_ text: String) -> [EventKind] {
    guard text.hasSuffix("*") else { return EventKind(rawValue: text).map { [$0] } ?? [] }
    let family = text.dropLast()
    guard family.isEmpty || family == "notification." || family == "token." else { return [] }
    return allCases.filter { $0.rawValue.hasPrefix(family) }
  }
}

public enum EventSource: Int, Sendable, CaseIterable {
  case receipts
  case invalidTokens
  case devices
}
