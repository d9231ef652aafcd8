// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
import Contract
import Crypto
import EventLoop
import SenderDecisions
import Settings

extension SenderSettings {
  var names: TopicNames { TopicNames(prefix: topicPrefix, lanes: lanes) }

  /// The limits of one partition.
  public var partitionBounds: PartitionBounds { PartitionBounds(openAtMost: maxOpen) }

  /// A file of roots is tried here: `--check-config` finds one that holds no certificate.
  func checkRoots(_ values: SettingValues) throws(SettingErrors) {
    guard let gatewayRoots else { return }
    do throws(TLSError) {
      _ = try TLSContext.client(roots: .file(gatewayRoots))
    } catch {
      throw values.error("gateway-roots", "\(error)")
    }
  }
}

extension SenderSettings {
  /// Connections of one loop at most.
  var connectionsPerLoop: Int { max(1, connectionsTotal / loops) }

  /// Descriptors beside connections to gateways: of the loops, of Kafka's clients (a few for each broker), of the log.
  private var otherFiles: Int { 64 + 24 * loops }

  /// Leaves no more connections than the process may have files open.
  ///
  /// - Returns: whether that is fewer than was asked for.
  mutating func fit(openFiles: Int) -> Bool {
    let room = max(loops, openFiles - otherFiles)
    guard room < connectionsTotal else { return false }
    connectionsTotal = room
    return true
  }

  /// What each loop decides by.
  var dispatch: DispatchSettings {
    var dispatch = fixed
    dispatch.maxInFlight = maxInFlight
    dispatch.lanes = lanes
    dispatch.requestTimeout = UInt64(requestTimeoutMilliseconds)
    dispatch.pool.maximum = maxConnections
    dispatch.budget.most = connectionsPerLoop
    dispatch.dedupWindow = dedupWindow
    dispatch.collapseAfter = collapseAfterMilliseconds
    dispatch.partitionBounds = partitionBounds
    dispatch.isOrdered = isOrdered
    dispatch.ownBroadcasts = (broadcastGateway != nil, sandboxBroadcastGateway != nil)
    return dispatch
  }

  func gateway(_ kind: GatewayKind) -> Endpoint {
    switch kind {
    case .production: productionGateway
    case .sandbox: sandboxGateway
    case .productionBroadcasts: broadcastGateway ?? productionGateway
    case .sandboxBroadcasts: sandboxBroadcastGateway ?? sandboxGateway
    }
  }
}
