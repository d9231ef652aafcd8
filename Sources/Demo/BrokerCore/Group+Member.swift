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

    public init(name: String, metadata: ArraySlice<UInt8>) {
      self.name = name
      self.metadata = metadata
    }
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
    public var client: String
    public var host: String
    public var session: Int64
    public var rebalance: Int64
    public var kind: String
    public var protocols: [Proposal]
    /// Whether the client (JoinGroup version 4 or later) must first get its member id and join again with it.
    public var needsID: Bool
    /// Whether a returning leader supports being told not to assign.
    public var skipsAssignment: Bool

    public init(
      connection: ConnectionID, member: String, instance: String? = nil, client: String = "",
      host: String = "", session: Int64 = 10_000, rebalance: Int64 = 60_000,
      kind: String = "consumer", protocols: [Proposal], needsID: Bool = false,
      skipsAssignment: Bool = false
    ) {
      self.connection = connection
      self.member = member
      self.instance = instance
      self.client = client
      self.host = host
      self.session = session
      self.rebalance = rebalance
      self.kind = kind
      self.protocols = protocols
      self.needsID = needsID
      self.skipsAssignment = skipsAssignment
    }
  }
}

extension Group.Member {
  var isJoining: Bool { if case .join? = waiting { true } else { false } }
}
