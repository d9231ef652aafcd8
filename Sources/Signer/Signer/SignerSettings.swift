// SPDX-License-Identifier: Apache-2.0
public import Kafka
public import ServiceKit
public import Settings

/// The signer's settings after validation.
public struct SignerSettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-signer")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String
  @Declared(CommonSettings.instanceID) public var instanceID: String?

  @Declared(
    .path(
      "credentials", placeholder: "FILE",
      "JSON list of the signing keys: key_id, team_id, environment (production, sandbox or any), apps"
        + " (bundle ids, or \"*\") and key_file (a .p8 file, relative to this one, readable by its owner"
        + " only). Changes of these files are noticed within 1s, of 10,000 files within 4s; SIGHUP reloads them"
        + " at once.")
  ) public var credentialsPath: String

  @Declared(CommonSettings.tokenKey) private var tokenKey: String?

  public var credentials: [Credential] = []
  /// What encrypts the tokens on their topic.
  public var seal = TokenSeal.none
  /// The files as they were when they were read: Kafka may be away for long before the worker starts.
  var files = FileWatch([])

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-signer")
    // A successor waits for the end of the session: short, and harmless because minting needs nothing else.
    kafka.consumerPreferences = [("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "500")]
    files.follow([credentialsPath] + (tokenKey.map { [$0] } ?? []))
    seal = try TokenSeal(values)
    credentials = try values.orError("credentials") { try CredentialsFile.load(credentialsPath) }
    files.follow(SignerWorker.paths(self, credentials, seal))
  }
}
