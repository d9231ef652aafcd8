// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
package import Delivery
import Dispatch
import Glibc
package import Kafka
import Pipeline
package import ServiceKit
package import Settings
import TLS

/// The sender's settings after validation.
package struct SenderSettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var instanceID: String?
  /// The gateway that production notifications go to, and the one for the sandbox.
  package var productionGateway: Endpoint
  package var sandboxGateway: Endpoint
  /// Where broadcasts go, if not to those.
  package var broadcastGateway: Endpoint?
  package var sandboxBroadcastGateway: Endpoint?
  /// A PEM file of roots to trust instead of the system's, or nil.
  package var gatewayRoots: String?
  /// The name in the gateway's certificate if it is not the host that is connected to.
  package var gatewayName: String?
  /// A hosts file that is asked before the name servers, or nil.
  package var gatewayHosts: String?
  /// Where the list of client certificates stands, read again on SIGHUP; nil without any.
  package var certificatesPath: String?
  package var certificates: [ClientCertificate] = []
  package var proxy: SenderProxy?
  /// What opens provider tokens that are sealed on their topic.
  package var seal: TokenSeal
  /// TCP, TLS and the gateway's SETTINGS together.
  package var connectTimeoutMilliseconds: Int64
  /// Silence with open streams until a PING, an idle connection's silence until one, and how long its answer
  /// may take.
  package var pingAfterMilliseconds: Int64
  package var idlePingMilliseconds: Int64
  package var pingTimeoutMilliseconds: Int64
  /// A connection is replaced at a random age between half of this and all of it.
  package var connectionAgeMilliseconds: Int64
  /// Requests after which a connection is replaced.
  package var connectionRequests: Int
  /// Event loops, each a thread with connections of its own.
  package var loops: Int
  /// Connections of one loop to one gateway for one credential.
  package var connections: ClosedRange<Int>
  /// Connections of the whole process at most.
  package var connectionsTotal: Int
  /// How long nothing is sent through a destination's connections before they close, if there are many.
  package var idleCloseMilliseconds: Int64
  /// Notifications that one loop holds at most, from being read to their outcome.
  package var maxInFlight: Int
  /// From sending a request to giving up on its answer.
  package var requestTimeoutMilliseconds: Int64
  /// What a stop or a rebalance waits for what is in flight.
  package var drainTimeoutMilliseconds: Int64
  /// How long a notification waits for a provider token of its app.
  package var credentialWaitMilliseconds: Int64
  /// Older notifications end as `expired`.
  package var maxAgeMilliseconds: (transactional: Int64, bulk: Int64)
  /// Sends of one notification, the first included.
  package var maxAttempts: Int
  /// `apns-id`s that one partition remembers.
  package var dedupWindow: Int
  /// What one partition may have unfinished.
  package var partitionBounds: PartitionBounds
  /// How long a partition waits at most for its window of `apns-id`s after an assignment; 0 does not rebuild it.
  package var dedupRebuildMilliseconds: Int64
  /// Percent of stream credit that only transactional notifications use.
  package var reservedPercent: Int
  /// Prompt retries for 100 first sends to one destination.
  package var retryBudgetPercent: Int
  /// One notification in flight per device.
  package var isOrdered: Bool
  /// Between two commits of offsets.
  package var commitIntervalMilliseconds: Int64

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix, CommonSettings.instanceID,
      .endpoint(
        "gateway", default: "api.push.apple.com:443",
        "APNs gateway for production notifications. Apple also accepts port 2197."),
      .endpoint(
        "sandbox-gateway", default: "api.sandbox.push.apple.com:443",
        "APNs gateway for sandbox notifications."),
      .endpoint(
        "broadcast-gateway",
        "Gateway for production broadcasts, such as api-broadcast.push.apple.com:443; without it broadcasts"
          + " use the connections for notifications."),
      .endpoint(
        "sandbox-broadcast-gateway",
        "Gateway for sandbox broadcasts; without it they use the connections for notifications."),
      .path(
        "gateway-roots", placeholder: "FILE",
        "PEM file of certificate authorities to trust instead of the system's, for a simulator."
      ),
      .text(
        "gateway-name", placeholder: "NAME",
        "Host name in the gateway's certificate, if it differs from the one connected to."
      ),
      .path(
        "gateway-hosts", placeholder: "FILE",
        "Addresses of gateways in the format of /etc/hosts, read before each connect and preferred to DNS."
      ),
      .path(
        "certificates", placeholder: "FILE",
        "JSON list of client certificates, for apps that authenticate with one instead of provider tokens:"
          + " certificate_file and key_file (PEM, relative to this file, the key readable by its owner only),"
          + " apps and environment to narrow what the certificate serves. SIGHUP reloads it."),
      .text(
        "proxy", secret: true, placeholder: "URL",
        "HTTP proxy for the gateways (CONNECT): http://host:port or http://user:password@host:port,"
          + " percent-encoded. Prefer proxy-credentials for the password."),
      .path(
        "proxy-credentials", placeholder: "FILE",
        "File with one line user:password for the proxy, readable by its owner only."),
      CommonSettings.tokenKey,
      .duration(
        "connect-timeout", default: "10s", in: 100...120_000,
        "Longest time for TCP, TLS and the gateway's SETTINGS together; then another address is tried."
      ),
      .duration(
        "ping-after", default: "10s", in: 100...600_000,
        "Silence with open requests after which a PING is sent."),
      .duration(
        "idle-ping", default: "45m", in: 1_000...86_400_000,
        "Silence without open requests after which a PING is sent; APNs asks for at most one per hour or so."
      ),
      .duration(
        "ping-timeout", default: "10s", in: 100...120_000,
        "Longest time for the answer to a PING; then the connection is closed and its requests are sent elsewhere."
      ),
      .duration(
        "connection-age", default: "24h", in: 1_000...2_592_000_000,
        "Longest age of a connection; each is replaced at a random age between half of this and this."
      ),
      .integer(
        "connection-requests", default: 1_000_000_000, in: 1...1_073_000_000,
        "Requests after which a connection is replaced; HTTP/2 allows at most 1,073,741,824."),
      .integer(
        "loops", default: 0, in: 0...64,
        "Event loops, each a thread with its own connections; 0 means one per processor core."),
      .integer(
        "min-connections", default: 1, in: 1...64,
        "Connections that a loop keeps open per gateway and credential once the credential is used."
      ),
      .integer(
        "max-connections", default: 4, in: 1...64,
        "Most connections that a loop opens per gateway and credential."),
      .integer(
        "max-connections-total", default: 4_096, in: 1...1_000_000,
        "Connections of the process at most, shared evenly by its loops: above that credentials take turns. Fewer if"
          + " the limit of open files allows fewer."),
      .duration(
        "idle-close", default: "10m", in: 1_000...86_400_000,
        "With more than 64 connections on a loop, those of a credential close after this time without a notification."
      ),
      .integer(
        "max-in-flight", default: 4_000, in: 1...100_000,
        "Most notifications in a loop, from reading them to their outcome."),
      .duration(
        "request-timeout", default: "30s", in: 100...600_000,
        "How long a request waits for its answer before it is sent again elsewhere."),
      .duration(
        "drain-timeout", default: "10s", in: 0...600_000,
        "How long a stop waits for answers to requests in flight; a rebalance waits at most 3s."),
      .duration(
        "credential-wait", default: "1m", in: 0...3_600_000,
        "How long a notification waits for a credential of its app before it becomes a dead letter."
      ),
      .duration(
        "max-age", default: "1h", in: 1_000...2_592_000_000,
        "Transactional notifications older than this are not sent and end as expired."),
      .duration(
        "max-age-bulk", default: "24h", in: 1_000...2_592_000_000,
        "Bulk notifications older than this are not sent and end as expired."),
      .integer(
        "max-attempts", default: 8, in: 1...1_000,
        "Most sends of a notification before it becomes a dead letter."),
      .integer(
        "dedup-window", default: 20_000, in: 0...10_000_000,
        "apns-ids that each partition remembers, at most 32 bytes each; a repeated id is not sent again."
      ),
      .integer(
        "reserved-streams", default: 20, in: 0...90,
        "Percent of each gateway's stream credit that is reserved for transactional first sends."),
      .integer(
        "retry-budget", default: 20, in: 0...1_000,
        "Immediate retries per 100 first sends to one gateway and credential; further retries go to a retry topic."
      ),
      .boolean(
        "ordered", default: false,
        "Keep one notification in flight per device, in the order of its partition."),
      .duration(
        "dedup-rebuild", default: "5s", in: 0...60_000,
        "Longest time that a newly assigned partition waits for its apns-id window; 0s does not wait."
      ),
      .integer(
        "max-open", default: 2_000, in: 1...1_000_000,
        "Most incomplete notifications of a partition; at this number the partition waits in Kafka."
      ),
      .duration(
        "commit-interval", default: "200ms", in: 10...60_000,
        "Interval between two commits of Kafka offsets; a crash repeats at most this much."),
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-sender")
    topicPrefix = values.text("topic-prefix")
    instanceID = values.optionalText("instance-id")
    productionGateway = values.endpoint("gateway")
    sandboxGateway = values.endpoint("sandbox-gateway")
    broadcastGateway = values.optionalEndpoint("broadcast-gateway")
    sandboxBroadcastGateway = values.optionalEndpoint("sandbox-broadcast-gateway")
    gatewayRoots = try Self.roots(values)
    gatewayName = values.optionalText("gateway-name")
    gatewayHosts = values.optionalText("gateway-hosts")
    connectTimeoutMilliseconds = values.milliseconds("connect-timeout")
    pingAfterMilliseconds = values.milliseconds("ping-after")
    idlePingMilliseconds = values.milliseconds("idle-ping")
    pingTimeoutMilliseconds = values.milliseconds("ping-timeout")
    connectionAgeMilliseconds = values.milliseconds("connection-age")
    connectionRequests = values.integer("connection-requests")
    let asked = values.integer("loops")
    loops = asked > 0 ? asked : max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    let least = values.integer("min-connections")
    let most = values.integer("max-connections")
    guard least <= most else {
      throw values.error("min-connections", "\(least) is more than max-connections (\(most))")
    }
    connections = least...most
    connectionsTotal = values.integer("max-connections-total")
    idleCloseMilliseconds = values.milliseconds("idle-close")
    maxInFlight = values.integer("max-in-flight")
    requestTimeoutMilliseconds = values.milliseconds("request-timeout")
    drainTimeoutMilliseconds = values.milliseconds("drain-timeout")
    credentialWaitMilliseconds = values.milliseconds("credential-wait")
    maxAgeMilliseconds = (values.milliseconds("max-age"), values.milliseconds("max-age-bulk"))
    maxAttempts = values.integer("max-attempts")
    dedupWindow = values.integer("dedup-window")
    partitionBounds = PartitionBounds(openAtMost: values.integer("max-open"))
    dedupRebuildMilliseconds = values.milliseconds("dedup-rebuild")
    reservedPercent = values.integer("reserved-streams")
    retryBudgetPercent = values.integer("retry-budget")
    isOrdered = values.boolean("ordered")
    commitIntervalMilliseconds = values.milliseconds("commit-interval")
    seal = try TokenSeal(values)
    certificatesPath = values.optionalText("certificates")
    if let certificatesPath {
      do throws(CertificatesError) {
        certificates = try CertificatesFile.load(certificatesPath)
      } catch {
        throw values.error("certificates", error.description)
      }
    }
    proxy = try Self.proxy(values)
  }

  /// A file of roots is tried here: `--check-config` finds one that holds no certificate.
  private static func roots(_ values: SettingValues) throws(SettingErrors) -> String? {
    guard let path = values.optionalText("gateway-roots") else { return nil }
    do throws(TLSError) {
      _ = try TLSContext.client(roots: .file(path))
    } catch {
      throw values.error("gateway-roots", "\(error)")
    }
    return path
  }

  private static func proxy(_ values: SettingValues) throws(SettingErrors) -> SenderProxy? {
    let file = values.optionalText("proxy-credentials")
    guard let text = values.optionalText("proxy") else {
      guard file == nil else { throw values.error("proxy-credentials", "needs proxy") }
      return nil
    }
    let url: ProxyURL
    do throws(ValueProblem) {
      url = try ProxyURL(parsing: text)
    } catch {
      throw values.error("proxy", error.text)
    }
    guard let file else { return SenderProxy(endpoint: url.endpoint, credentials: url.credentials) }
    guard url.credentials == nil else {
      throw values.error("proxy-credentials", "the proxy's URL has credentials already")
    }
    return SenderProxy(endpoint: url.endpoint, credentials: try credentials(file, values))
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
    var dispatch = DispatchSettings()
    dispatch.maxInFlight = maxInFlight
    dispatch.reservedPercent = reservedPercent
    dispatch.retryBudgetPercent = retryBudgetPercent
    dispatch.maxAttempts = maxAttempts
    dispatch.requestTimeout = UInt64(requestTimeoutMilliseconds)
    dispatch.connectTimeout = UInt64(connectTimeoutMilliseconds)
    dispatch.pingAfter = UInt64(pingAfterMilliseconds)
    dispatch.idlePing = UInt64(idlePingMilliseconds)
    dispatch.pingTimeout = UInt64(pingTimeoutMilliseconds)
    dispatch.connectionAge = UInt64(connectionAgeMilliseconds)
    dispatch.connectionRequests = UInt64(connectionRequests)
    dispatch.pool = .init(minimum: connections.lowerBound, maximum: connections.upperBound)
    dispatch.budget = .init(most: connectionsPerLoop, idle: UInt64(idleCloseMilliseconds))
    dispatch.credentialWait = UInt64(credentialWaitMilliseconds)
    dispatch.maxAge = maxAgeMilliseconds
    dispatch.dedupWindow = dedupWindow
    dispatch.partitionBounds = partitionBounds
    dispatch.isOrdered = isOrdered
    dispatch.ownBroadcasts = (broadcastGateway != nil, sandboxBroadcastGateway != nil)
    dispatch.commitInterval = UInt64(commitIntervalMilliseconds)
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
