// SPDX-License-Identifier: Apache-2.0

extension Group {
  public struct Member: Equatable, Sendable {
    public var id: String
    public var instance: String?
    public var client: String
    public var host: String
    public var sessionMilliseconds: Int64
    public var rebalanceMilliseconds: Int64
    public var protocols: [Proposal]
    public var assignment: ArraySlice<UInt8> = []
    /// The time at which the session expires.
    public var expires: Int64
    /// The connection whose JoinGroup or SyncGroup has not been answered yet.
    public var waiting: Waiting?

    func supports(_ name: String) -> Bool { protocols.contains { $0.name == name } }
  }

  /// An assignment protocol that a member supports, and its metadata for the leader.
  public struct Proposal: Equatable, Sendable {
    public var name: String
    public var metadata: ArraySlice<UInt8>
  }

  public enum Waiting: Equatable, Sendable {
    case join(ConnectionID)
    case sync(ConnectionID)
  }

  /// A member that wants to join.
  public struct Joining: Sendable {
    public var connection: ConnectionID
    public var member: String
    public var instance: String?
    public var client = ""
    public var host = ""
    public var session: Int64 = 10_000
    public var rebalance: Int64 = 60_000
    public var kind = "consumer"
    public var protocols: [Proposal]
    /// Whether the client (JoinGroup version 4 or later) must first get its member id and join again with it.
    public var needsID = false
    /// Whether a returning leader supports being told not to assign.
    public var skipsAssignment = false
  }
}

extension Group.Member {
  var isJoining: Bool { if case .join? = waiting { true } else { false } }
}
