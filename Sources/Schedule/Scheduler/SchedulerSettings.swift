// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka
import ServiceKit
public import Settings
import Store

/// The scheduler's settings after validation.
public struct SchedulerSettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-scheduler")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String
  @Declared(CommonSettings.instanceID) public var instanceID: String?

  @Declared(CommonSettings.lanes) private var laneTexts: [String]
  public var lanes = Lanes.standard

  @Declared(
    .path(
      "database", use: .database,
      "The database that the schedule is read into: a SQLite file on a local disk, for one copy, or a postgresql:// URL"
        + " (without a password; name a passfile) that several copies share. It may be that of martlet-feedback. What it"
        + " lacks of the schedule is read from the topic.")
  ) public var database: String

  @Declared(
    .integer(
      "max-loaded", default: 50_000, in: 100...1_000_000,
      "Most requests in memory: those that are due within seconds, and those that Kafka has not acknowledged."
    )
  ) public var maxLoaded: Int

  @Declared(
    .bytes(
      "max-loaded-bytes", default: "64MiB", in: 1 << 20...4 << 30,
      "Most bytes of requests in memory.")
  ) public var maxLoadedBytes: Int

  @Declared(
    .path(
      "devices", use: .database,
      "The database of device tokens that martlet-feedback keeps, in which the devices of users and the audiences of"
        + " campaigns are looked up: a SQLite file on this machine, or a postgresql:// URL. It is only read. Without"
        + " this setting it is --database."
    )
  ) private var devicesDatabase: String?
  /// Where devices of users and audiences are looked up.
  public var devices: String { devicesDatabase ?? database }

  @Declared(
    .list(
      "one-per-model", placeholder: "APP",
      "Bundle ids of apps of whose user's devices with the same model and bundle only the newest registration gets a"
        + " request to that user. Repeat it for more.")
  ) public var onePerModel: [String]

  @Declared(CommonSettings.audienceTopics) private var audiencePrefixes: [String]
  /// The topics of device tokens that campaigns may use.
  public var audienceTopics: AudienceTopics { AudienceTopics(names, prefixes: audiencePrefixes) }

  var names: TopicNames { TopicNames(prefix: topicPrefix, lanes: lanes) }

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-scheduler")
    lanes = try Lanes(values)
    // Requests are due while the group still counts a crashed process as a member.
    kafka.consumerPreferences = [("session.timeout.ms", "6000"), ("heartbeat.interval.ms", "500")]
    try values.orError("database") { try TokenStore.checkLocation(database) }
    try values.orError("devices") { try TokenStore.checkLocation(devices) }
  }
}
