// SPDX-License-Identifier: Apache-2.0

/// One of Apple's two gateways. A device token is valid in only one of them.
public enum Environment: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case production
  case sandbox

  /// The spelling in requests, envelopes and records.
  public var name: StaticString {
    switch self {
    case .production: "production"
    case .sandbox: "sandbox"
    }
  }

  public var description: String { name.description }

  /// The environment with this name, or `nil`.
  public init?(_ name: Span<UInt8>) {
    switch name.count {
    case 10 where name.spells("production"): self = .production
    case 7 where name.spells("sandbox"): self = .sandbox
    default: return nil
    }
  }

  /// The environment with this name, or `nil`.
  public init?(_ name: String) { self.init(name.utf8.span) }
}
