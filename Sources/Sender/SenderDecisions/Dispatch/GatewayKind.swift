// SPDX-License-Identifier: Apache-2.0

public import Contract

/// A gateway that the sender knows. Broadcasts go to the same one as pushes unless they were given their own.
public enum GatewayKind: UInt8, Sendable, CaseIterable {
  case production
  case sandbox
  case productionBroadcasts
  case sandboxBroadcasts

  public init(_ environment: Environment, ownForBroadcasts: Bool = false) {
    switch environment {
    case .production: self = ownForBroadcasts ? .productionBroadcasts : .production
    case .sandbox: self = ownForBroadcasts ? .sandboxBroadcasts : .sandbox
    }
  }

  public var environment: Environment {
    switch self {
    case .production, .productionBroadcasts: .production
    case .sandbox, .sandboxBroadcasts: .sandbox
    }
  }

  /// The index of a credential's pool of this kind in a table of pools.
  func place(_ credential: Int) -> Int { credential * Self.allCases.count + Int(rawValue) }
}
