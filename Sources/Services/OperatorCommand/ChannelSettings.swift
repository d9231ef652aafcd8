// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import HTTPClient
import Kafka
import Pipeline
import ServiceKit
import Settings

/// What every `martlet channels` command is told: which app, which gateway, and how to authenticate.
package struct ChannelSettings: Sendable {
  var kafka: KafkaConfiguration
  let names: TopicNames
  let app: String
  let environment: Environment
  let gateway: Endpoint
  let identity: HTTP2Client.Identity
  let seal: TokenSeal
  let timeoutMilliseconds: Int
  let isJSON: Bool

  /// The settings of the command's table; `own` stand first.
  static func table(_ own: [Setting] = []) -> SettingTable {
    SettingTable(
      [
        .text(
          "app", required: true, placeholder: "BUNDLE-ID",
          "Bundle id of the channels' app, without a push type's suffix.")
      ] + own + [
        .choice(
          "environment", of: ["production", "sandbox"], default: "production",
          "Environment of the channels; the other one does not know them."),
        .boolean("json", "Print the answer as one JSON object, also a refusal."),
        .endpoint(
          "channels-gateway", default: "api-manage-broadcast.push.apple.com:2196",
          "Gateway for channel management in production."),
        .endpoint(
          "sandbox-channels-gateway",
          default: "api-manage-broadcast.sandbox.push.apple.com:2195",
          "Gateway for channel management in the sandbox."),
        .path(
          "gateway-roots",
          "PEM file of certificate authorities to trust instead of the system's."),
        .text(
          "gateway-name", placeholder: "NAME",
          "Host name in the gateway's certificate, if it differs from the one connected to."),
        .path(
          "client-certificate",
          "PEM file of a push certificate, and of its key unless client-key is given. Without it"
            + " the app's current provider token is read from Kafka."),
        .path("client-key", "PEM file of the certificate's key."),
        .duration(
          "timeout", default: "30s", in: 100...600_000,
          "Longest time for everything together: Kafka, the provider token, the gateway's answer."
        ),
        CommonSettings.tokenKey, CommonSettings.kafka, CommonSettings.topicPrefix,
      ], kafkaProperties: true)
  }

  init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-channels")
    names = TopicNames(prefix: values.text(CommonSettings.topicPrefix.name))
    app = values.text("app")
    do throws(RequestError) {
      try RequestRules.checkName(app.utf8.span, .app)
    } catch {
      throw values.error("app", "\(error)")
    }
    environment = values.text("environment") == "sandbox" ? .sandbox : .production
    gateway = values.endpoint(
      environment == .sandbox ? "sandbox-channels-gateway" : "channels-gateway")
    identity = HTTP2Client.Identity(
      roots: values.optionalText("gateway-roots"),
      certificate: values.optionalText("client-certificate"),
      key: values.optionalText("client-key"), serverName: values.optionalText("gateway-name"))
    seal = try TokenSeal(values)
    timeoutMilliseconds = Int(values.milliseconds("timeout"))
    isJSON = values.boolean("json")
    try Self.checkKey(identity, values)
  }

  /// A key that others may read is refused, as everywhere.
  private static func checkKey(
    _ identity: HTTP2Client.Identity, _ values: SettingValues
  ) throws(SettingErrors) {
    guard let certificate = identity.certificate else {
      guard identity.key == nil else {
        throw values.error("client-key", "is given without client-certificate")
      }
      return
    }
    let name = identity.key == nil ? "client-certificate" : "client-key"
    let path = identity.key ?? certificate
    let problem: String?
    do throws(SystemError) {
      problem = try File.exposure(of: path)
    } catch {
      throw values.error(name, "\(error)")
    }
    if let problem { throw values.error(name, problem) }
  }

  /// The channel that a command is about.
  static let channel = Setting.text(
    "channel", required: true, placeholder: "ID", "The channel's id, in base64.")

  static func channel(_ values: SettingValues) throws(SettingErrors) -> String {
    let channel = values.text("channel")
    do throws(ChannelID.Problem) {
      try ChannelID.validate(channel.utf8.span)
    } catch {
      throw values.error("channel", "\(error)")
    }
    return channel
  }
}
