// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka
import ServiceKit
public import Settings
import Store

/// The settings of `martlet-api` after validation.
public struct APISettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-api")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String

  @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]
  public var pushTypes = PushTypes.builtIn

  @Declared(CommonSettings.lanes) private var laneTexts: [String]
  public var lanes = Lanes.standard

  @Declared(CommonSettings.payloadRules) public var payloadRules: String
  var refusesWarnings: Bool { payloadRules == CommonSettings.refusePayloads }

  @Declared(
    .endpoint(
      "listen", default: "127.0.0.1:8080",
      "Address and port of the HTTP API. On any other address, use TLS here or in a proxy before it."
    )
  ) public var listen: Endpoint

  @Declared(
    .path(
      "keys", placeholder: "FILE",
      "File of the API keys, a JSON array; martlet keys api makes keys. Read again when it changes, and on"
        + " SIGHUP.")
  ) public var keys: String

  @Declared(
    .path(
      "database", use: .database,
      "The database of device tokens that martlet-feedback keeps, for questions about them: a SQLite file, or a"
        + " postgresql:// URL. It is only read. Without it they are answered with 503.")
  ) public var database: String?

  @Declared(
    .path(
      "schedule-database", use: .database,
      "The database of martlet-scheduler, where it is another one than --database: GET /v1/notifications/{id} says what it"
        + " has of requests that wait for their time. It is only read.")
  ) public var scheduleDatabase: String?

  @Declared(CommonSettings.audienceTopics) private var audiencePrefixes: [String]
  /// The topics that campaigns may use for device tokens.
  public var audienceTopics: AudienceTopics {
    AudienceTopics(TopicNames(prefix: topicPrefix), prefixes: audiencePrefixes)
  }

  @Declared(.path("tls-certificate", placeholder: "FILE", "Certificate chain for HTTPS (PEM)."))
  public var certificate: String?

  @Declared(.path("tls-key", placeholder: "FILE", "Private key of the certificate (PEM)."))
  public var certificateKey: String?

  @Declared(
    .bytes(
      "max-body", default: "8MiB", in: 1_024...1 << 30,
      "Largest body of an object or an array, unpacked; NDJSON has no limit.")
  ) public var maxBody: Int

  @Declared(
    .integer(
      "max-connections", default: 1_024, in: 32...100_000,
      "Most open connections; a further one ends the oldest without a complete request.")
  ) public var maxConnections: Int

  /// The most bytes of one body's verdicts; beyond 1 MiB they are in a temporary file. Requests beyond the limit are
  /// refused with 413.
  public var maxVerdicts = 256 << 20

  @Declared(
    .bytes(
      "max-buffered-bytes", default: "64MiB", in: 1 << 20...1 << 36,
      "Most bytes of bodies and answers that the process holds in memory; above it requests are refused with 503."
    )
  ) public var maxBufferedBytes: Int

  @Declared(
    .bytes(
      "max-stored-bytes", default: "1GiB", in: 1 << 20...1 << 40,
      "Most bytes of verdicts in temporary files of all bodies (TMPDIR, or /tmp); above it requests are refused with 503."
    )
  ) public var maxStoredBytes: Int

  /// The most bytes handed to Kafka and not yet acknowledged; at the limit, bodies are not read any further.
  public var maxInFlightBytes = 32 << 20
  /// How long an answer waits for Kafka's acknowledgement before it is 503.
  public var ackTimeoutMilliseconds: Int64 = 10_000

  @Declared(
    .boolean(
      "gorush",
      "Takes gorush's POST /api/push as well: notifications for iOS. docs/migrating.md lists the differences."
    )
  ) public var gorush: Bool

  @Declared(
    .text(
      "gorush-app", placeholder: "APP",
      "Bundle id of gorush's notifications without a topic. Without it they are refused."))
  public var gorushApp: String?

  @Declared(
    .choice(
      "gorush-environment", of: ["production", "sandbox"], default: "production",
      "Where gorush's notifications go that say neither production nor development: its ios.production."
    )
  ) private var gorushEnvironmentText: String
  public var gorushEnvironment: Environment {
    Environment(gorushEnvironmentText) ?? .production
  }

  @Declared(
    .text(
      "gorush-key", placeholder: "NAME",
      "Name of the API key whose rights a POST /api/push without Authorization has, since gorush knows no keys. Anyone"
        + " who reaches the port may then send.")
  ) public var gorushKey: String?

  @Declared(
    .integer(
      "gorush-max-notifications", default: 100, in: 1...10_000,
      "Most notifications of a POST /api/push: gorush's core.max_notification.")
  ) public var gorushLimit: Int

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    guard (certificate == nil) == (certificateKey == nil) else {
      throw SettingErrors(
        certificate == nil ? "tls-certificate" : "tls-key",
        "is required: TLS needs certificate and key")
    }
    kafka = try KafkaConfiguration(values, clientID: "martlet-api")
    pushTypes = try PushTypes(values)
    lanes = try Lanes(values)
    for (name, location) in [("database", database), ("schedule-database", scheduleDatabase)] {
      try values.orError(name) { if let location { try TokenStore.checkLocation(location) } }
    }
    guard scheduleDatabase == nil || database != nil else {
      throw SettingErrors("schedule-database", "needs --database")
    }
    try values.orError("keys") { _ = try APIKeysFile.read(keys) }
  }
}
