// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTPClient
import ServiceKit
import Settings

/// The settings of every `martlet channels` command: the app, the gateway, and the authentication.
struct ChannelSettings: DeclaredSettings, Sendable {
  @Declared(
    .text(
      "app", placeholder: "BUNDLE-ID",
      "Bundle id of the channels' app, without a push type's suffix.")) var app: String

  @Declared(CommandSettings.oneEnvironment) private var environmentName: String
  @Declared(CommandSettings.isJSON) var isJSON: Bool

  @Declared(
    .endpoint(
      "channels-gateway", default: "api-manage-broadcast.push.apple.com:2196",
      "Gateway for channel management in production.")) private var productionGateway: Endpoint

  @Declared(
    .endpoint(
      "sandbox-channels-gateway",
      default: "api-manage-broadcast.sandbox.push.apple.com:2195",
      "Gateway for channel management in the sandbox.")) private var sandboxGateway: Endpoint

  @Declared(
    .path(
      "gateway-roots",
      "PEM file of certificate authorities to trust instead of the system's.")) private
    var gatewayRoots: String?

  @Declared(
    .text(
      "gateway-name", placeholder: "NAME",
      "Host name in the gateway's certificate, if it differs from the one connected to.")) private
    var gatewayName: String?

  @Declared(
    .path(
      "client-certificate",
      "PEM file of a push certificate, and of its key unless client-key is given. Without it"
        + " the app's current provider token is read from Kafka.")) private var clientCertificate:
    String?

  @Declared(.path("client-key", "PEM file of the certificate's key.")) private var clientKey:
    String?

  @Declared(
    .duration(
      "timeout", default: "30s", in: 100...600_000,
      "Longest time for everything together: Kafka, the provider token, the gateway's answer."
    )) private var timeout: Int64

  @Declared(CommonSettings.proxy) private var proxyURL: String?
  @Declared(CommonSettings.proxyCredentials) private var proxyCredentialsFile: String?
  private(set) var proxy: GatewayProxy?

  @Declared(CommonSettings.tokenKey) private var tokenKey: String?

  var cluster = ClusterSettings()
  var seal = TokenSeal.none
  private(set) var identity = HTTP2Client.Identity()

  init() {}

  init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    cluster = try ClusterSettings(values, clientID: "martlet-channels")
    try values.orError("app") { try RequestRules.checkName(app.utf8.span, .app) }
    seal = try TokenSeal(values)
    proxy = try GatewayProxy(proxyURL, file: proxyCredentialsFile, values)
    identity = try identity(values)
  }

  var environment: Environment { environmentName == "sandbox" ? .sandbox : .production }
  var gateway: Endpoint { environment == .sandbox ? sandboxGateway : productionGateway }
  var timeoutMilliseconds: Int { Int(timeout) }

  /// Loads the roots and the client certificate, to check them here.
  private func identity(_ values: SettingValues) throws(SettingErrors) -> HTTP2Client.Identity {
    guard clientCertificate != nil || clientKey == nil else {
      throw values.error("client-key", "is given without client-certificate")
    }
    try values.orError("gateway-roots") {
      if let gatewayRoots { try TLSContext.checkPEMRoots(gatewayRoots) }
    }
    let shown = try values.orError(clientKey == nil ? "client-certificate" : "client-key") {
      try clientCertificate.map { certificate throws(TLSError) in
        try TLSIdentity.load(certificate: certificate, key: clientKey ?? certificate)
      }
    }
    return HTTP2Client.Identity(
      roots: gatewayRoots, certificate: shown?.certificates, key: shown?.key,
      serverName: gatewayName)
  }

  static func check(channel: String, _ values: SettingValues) throws(SettingErrors) {
    try values.orError("channel") { try ChannelID.validate(channel.utf8.span) }
  }
}
