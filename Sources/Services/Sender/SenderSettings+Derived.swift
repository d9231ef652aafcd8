// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
public import ConsumerGroup
import Contract
import Gateways
import Settings
import TLS

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

  func readProxy(_ values: SettingValues) throws(SettingErrors) -> SenderProxy? {
    let file = proxyCredentialsFile
    guard let proxyURL else {
      guard file == nil else { throw values.error("proxy-credentials", "needs proxy") }
      return nil
    }
    let url: ProxyURL
    do throws(ValueProblem) {
      url = try ProxyURL(parsing: proxyURL)
    } catch {
      throw values.error("proxy", error.text)
    }
    guard let file else { return SenderProxy(endpoint: url.endpoint, credentials: url.credentials) }
    guard url.credentials == nil else {
      throw values.error("proxy-credentials", "the proxy's URL has credentials already")
    }
    return SenderProxy(endpoint: url.endpoint, credentials: try Self.credentials(file, values))
  }

  private static func credentials(
    _ path: String, _ values: SettingValues
  ) throws(SettingErrors) -> String {
    let problem: String?
    let bytes: [UInt8]
    do throws(SystemError) {
      problem = try File.exposure(of: path)
      bytes = try File.read(path, limit: 4_096)
    } catch {
      throw values.error("proxy-credentials", "\(error)")
    }
    if let problem { throw values.error("proxy-credentials", problem) }
    let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard let text = String(validating: line, as: UTF8.self), text.contains(":"),
      text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { throw values.error("proxy-credentials", "\(path) is not one line user:password") }
    return text
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
    dispatch.pileAge = pileAgeMilliseconds
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
