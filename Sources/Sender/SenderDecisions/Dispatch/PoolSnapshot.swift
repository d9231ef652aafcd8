// SPDX-License-Identifier: Apache-2.0

/// The state of a pool, for status pages and tests.
public struct PoolSnapshot: Sendable {
  public let kind: GatewayKind
  public let credential: PoolCredential
  /// Its credential is gone: its connections drain.
  public let isRetired: Bool
  /// True with a valid provider token or a certificate.
  public let isAuthorized: Bool
  public let health: DestinationHealth
  /// Pushes that may be sent, those whose apps have to wait, and those that wait for another connection.
  public let inLine: Int
  public let heldForApp: Int
  public let heldForConnection: Int
  /// Pushes that have a stream.
  public let open: Int
  /// Its gateway allows no streams.
  let isShut: Bool
  /// The streams that lanes behind the first one may have; nil while nothing holds them back.
  public let streamsOfOthers: Int?

  /// Pushes that wait.
  public var waiting: Int { inLine + heldForApp + heldForConnection }

  /// Why nothing can be sent, as far as that can be known.
  public var trouble: DestinationHealth.Trouble? {
    if waiting == 0 && open == 0 { return health.idleTrouble }
    let trouble = health.trouble
    return isShut && inLine > 0 && (trouble == nil || trouble == .app) ? .gateway : trouble
  }
}

extension Pool {
  /// Something cannot be sent now: no valid token, no connection that allows a stream, the destination is out, or an app
  /// has to wait.
  var isBlocked: Bool {
    !connectionSet.isAuthorized || connectionSet.connections.capacity == 0
      || !connectionSet.health.isUndisturbed || queue.held > 0
  }

  /// It was retired, and nothing is left of it.
  var isOver: Bool {
    isRetired && connectionSet.connections.isEmpty && connectionSet.connectAttempts.lookUps == 0
  }

  /// Its state; nil if it was removed.
  var standing: PoolSnapshot? {
    isRemoved
      ? nil
      : PoolSnapshot(
        kind: kind, credential: credential, isRetired: isRetired,
        isAuthorized: connectionSet.isAuthorized, health: connectionSet.health,
        inLine: queue.inLine, heldForApp: queue.held, heldForConnection: heldForConnection.count,
        open: queue.open, isShut: connectionSet.connections.areShut,
        streamsOfOthers: governor.limit == .max ? nil : governor.limit)
  }

  /// Its provider token, a secret; nil while there is none that may be sent.
  var token: [UInt8]? { connectionSet.token.bytes }

  subscript(_ index: Int32) -> Connection { connectionSet.connections[index] }

  var allConnections: [Connection] {
    connectionSet.connections.indices.map { connectionSet.connections[$0] }
  }

  /// Its entry in the budget of all pools; nil without a connection that stays.
  var holder: ConnectionBudget.Holder? {
    let staying = connectionSet.connections.staying.map { connectionSet.connections[$0].startedAt }
    guard let since = staying.min(), let last = staying.max() else { return nil }
    return .init(
      pool: number, connections: staying.count, since: since,
      idleSince: isQuiet ? max(connectionSet.health.lastActivity, last) : nil)
  }
}
