// SPDX-License-Identifier: Apache-2.0
package import Kafka
package import ServiceKit
package import Settings

/// The signer's settings after validation.
package struct SignerSettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var instanceID: String?
  /// Where the list of credentials stands; read again when it changes and on SIGHUP.
  package var credentialsPath: String
  package var credentials: [Credential]
  /// What keeps the tokens secret on their topic.
  package var seal: TokenSeal

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix, CommonSettings.instanceID,
      .path(
        "credentials", required: true, placeholder: "FILE",
        "JSON list of the signing keys: key_id, team_id, environment (production, sandbox or any), apps"
          + " (bundle ids, or \"*\") and key_file (a .p8 file, relative to this one, readable by its owner"
          + " only). Changes of these files are noticed within 1s; SIGHUP reloads them at once."
      ),
      CommonSettings.tokenKey,
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-signer")
    // A successor waits for the end of the session: short, and harmless because minting needs nothing else.
    kafka.consumerPreferences = [("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "500")]
    topicPrefix = values.text("topic-prefix")
    instanceID = values.optionalText("instance-id")
    credentialsPath = values.text("credentials")
    seal = try TokenSeal(values)
    do throws(CredentialsError) {
      credentials = try CredentialsFile.load(credentialsPath)
    } catch {
      throw values.error("credentials", error.description)
    }
  }
}
