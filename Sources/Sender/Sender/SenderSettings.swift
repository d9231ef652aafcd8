// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
public import Contract
import Glibc
public import HTTP2
public import Kafka
public import SenderDecisions
public import ServiceKit
public import Settings

/// What a loop decides by that no setting changes, and the defaults of those that do.
private let standard = DispatchSettings()

/// The sender's settings after validation.
public struct SenderSettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-sender")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String
  @Declared(CommonSettings.instanceID) public var instanceID: String?
  @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]
  public var pushTypes = PushTypes.builtIn

  @Declared(CommonSettings.lanes) private var laneTexts: [String]
  public var lanes = Lanes.standard

  @Declared(
    .endpoint(
      "gateway", default: "api.push.apple.com:443",
      "APNs gateway for production notifications. Apple also accepts port 2197.")
  ) public var productionGateway: Endpoint

  @Declared(
    .endpoint(
      "sandbox-gateway", default: "api.sandbox.push.apple.com:443",
      "APNs gateway for sandbox notifications.")
  ) public var sandboxGateway: Endpoint

  @Declared(
    .endpoint(
      "broadcast-gateway",
      "Gateway for production broadcasts, such as api-broadcast.push.apple.com:443; without it broadcasts"
        + " use the connections for notifications.")
  ) public var broadcastGateway: Endpoint?

  @Declared(
    .endpoint(
      "sandbox-broadcast-gateway",
      "Gateway for sandbox broadcasts; without it they use the connections for notifications.")
  ) public var sandboxBroadcastGateway: Endpoint?

  @Declared(
    .path(
      "gateway-roots", placeholder: "FILE",
      "PEM file of certificate authorities to trust instead of the system's, for a simulator."
    )
  ) public var gatewayRoots: String?

  @Declared(
    .text(
      "gateway-name", placeholder: "NAME",
      "Host name in the gateway's certificate, if it differs from the one connected to."
    )
  ) public var gatewayName: String?

  @Declared(
    .path(
      "gateway-hosts", placeholder: "FILE",
      "Addresses of gateways in the format of /etc/hosts, read before each connect and preferred to DNS. While"
        + " it cannot be read, no name is resolved."
    )
  ) public var gatewayHosts: String?

  @Declared(
    .text(
      "tls-groups", placeholder: "LIST",
      "TLS groups to offer to gateways, as OpenSSL lists them, if not OpenSSL's own choice. X25519:P-256 keeps the"
        + " ClientHello in one packet, for a firewall or path that drops a larger one."
    )
  ) public var tlsGroups: String?

  @Declared(
    .path(
      "certificates", placeholder: "FILE",
      "JSON list of client certificates, for apps that authenticate with one instead of provider tokens:"
        + " certificate_file and, if the key is in a file of its own, key_file (PEM, relative to this file, the key"
        + " readable by its owner only),"
        + " apps and environment to narrow what the certificate serves. Changes of these files are noticed within 1s,"
        + " of 10,000 files within 4s; SIGHUP reloads them at once.")
  ) public var certificatesPath: String?

  @Declared(CommonSettings.proxy) private var proxyURL: String?
  @Declared(CommonSettings.proxyCredentials) private var proxyCredentialsFile: String?

  @Declared(CommonSettings.tokenKey) private var tokenKey: String?

  @Declared(
    .choice(
      "http2", of: HTTP2Implementation.allCases.map(\.rawValue),
      default: HTTP2Implementation.engine.rawValue,
      "HTTP/2 client for the gateways: Martlet's own engine or, until the next release, nghttp2, which costs more CPU."
    )
  ) private var http2Name: String

  @Declared(
    .choice(
      "hpack-authorization", of: ["index", "literal"], default: "index",
      "How the engine writes provider tokens: once into the gateway's compression table (HPACK), which saves some"
        + " 150 bytes per push, or as a literal with each push, as Apple's older documentation asks."
    )
  ) private var hpackAuthorization: String

  @Declared(
    .integer(
      "loops", default: 0, in: 0...64,
      "Event loops, each a thread with its own connections; 0 means one per processor core.")
  ) public var loops: Int

  @Declared(
    .integer(
      "max-connections", default: standard.pool.maximum, in: 1...64,
      "Most connections that a loop opens per gateway and credential.")
  ) var maxConnections: Int

  @Declared(
    .integer(
      "max-connections-total", default: standard.budget.most, in: 1...1_000_000,
      "Most connections of the process, shared evenly by its loops; above that credentials take turns. Fewer if"
        + " the limit of open files allows fewer.")
  ) public var connectionsTotal: Int

  @Declared(
    .integer(
      "max-in-flight", default: standard.maxInFlight, in: 1...100_000,
      "Most notifications in a loop, from reading them to their outcome.")
  ) public var maxInFlight: Int

  @Declared(
    .duration(
      "request-timeout", default: standard.requestTimeout, in: 100...600_000,
      "How long a request waits for its answer before it is sent again elsewhere.")
  ) public var requestTimeoutMilliseconds: Int64

  @Declared(
    CommonSettings.drainTimeout(
      "How long a stop waits for answers to requests in flight; a rebalance waits at most"
        + " \(SenderControl.rebalanceDrainMilliseconds)ms.")
  ) public var drainTimeoutMilliseconds: Int64

  @Declared(
    .integer(
      "dedup-window", default: standard.dedupWindow, in: 0...10_000_000,
      "apns-ids that each partition remembers, at most 32 bytes each; a repeated id is not sent again."
    )
  ) public var dedupWindow: Int

  @Declared(
    .boolean(
      "ordered", default: standard.isOrdered,
      "Keep one notification in flight per device, in the order of its partition.")
  ) public var isOrdered: Bool

  @Declared(
    .duration(
      "dedup-rebuild", default: "5s", in: 0...60_000,
      "Longest time that a newly assigned partition waits for its apns-id window; 0s does not wait."
    )
  ) public var dedupRebuildMilliseconds: Int64

  @Declared(
    .integer(
      "max-open", default: standard.partitionBounds.openAtMost, in: 1...1_000_000,
      "Most incomplete notifications of a partition; at this number the partition waits in Kafka."
    )
  ) var maxOpen: Int

  @Declared(
    .duration(
      "collapse-after", default: "5s", in: 0...3_600_000,
      "Of unsent notifications with the same device, app and collapse id that are at least as old when they are read, as"
        + " after an outage, only the newest is sent; 0s sends all.")
  ) public var collapseAfterMilliseconds: Int64

  /// What opens provider tokens that are sealed on their topic.
  public var seal = TokenSeal.none
  /// Read again on SIGHUP.
  public var certificates: [ClientCertificate] = []
  /// The files as they were when they were read: Kafka may be away for long before they are watched.
  private(set) var files = FileWatch([])
  public var proxy: GatewayProxy?
  /// What no setting changes, for tests to change.
  public var fixed = standard

  public var http2: HTTP2Implementation {
    get { HTTP2Implementation(rawValue: http2Name) ?? .engine }
    set { http2Name = newValue.rawValue }
  }
  /// Provider tokens enter the compression table.
  var indexesAuthorization: Bool { hpackAuthorization == "index" }

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-sender")
    pushTypes = try PushTypes(values)
    lanes = try Lanes(values)
    if loops == 0 { loops = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }
    files.follow([certificatesPath, gatewayRoots, tokenKey].compactMap(\.self))
    try checkRoots(values)
    if http2 == .nghttp2, indexesAuthorization, values.isGiven("hpack-authorization") {
      throw values.error(
        "hpack-authorization", "nghttp2 only writes literals; leave it out, or set http2 to engine")
    }
    seal = try TokenSeal(values)
    if let certificatesPath {
      do throws(CertificatesError) {
        certificates = try CertificatesFile.load(certificatesPath)
      } catch {
        throw values.error("certificates", error.description)
      }
    }
    files.follow(CertificateWatch.paths(self, certificates))
    proxy = try GatewayProxy(proxyURL, file: proxyCredentialsFile, values)
  }
}
