// SPDX-License-Identifier: Apache-2.0
import Contract
public import Kafka
import ServiceKit
public import Settings
import Store

/// The feedback service's settings after validation.
public struct FeedbackSettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-feedback")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String
  @Declared(CommonSettings.instanceID) public var instanceID: String?

  @Declared(
    .path(
      "database", use: .database,
      "The database of device tokens, a copy of the topics that is built from them if it does not exist: a SQLite"
        + " file on a local disk, or a postgresql:// URL (without a password; name a passfile) that several copies"
        + " share.")
  ) public var database: String

  /// In milliseconds.
  @Declared(
    .duration(
      "database-max-age", default: "0s", in: 0...31_536_000_000,
      "A database that was complete longer ago is read from the first records of its topics again, beside what it has:"
        + " tombstones may have been removed. A younger one is brought up to date from where it stands. 0s means nine tenths"
        + " of delete.retention.ms of devices and invalid-tokens, which is also the most that counts; 12h where the cluster"
        + " does not say that.")
  ) public var databaseMaxAge: Int64

  /// The age that counts.
  ///
  /// - Parameter deleteRetention: the shortest `delete.retention.ms` of the two topics; nil if it is not known.
  func maxAge(deleteRetention: Int64?) -> Int64 {
    let known = deleteRetention.map { RestoreRule.maxAge(deleteRetention: $0) }
    let asked = databaseMaxAge > 0 ? databaseMaxAge : known ?? 43_200_000
    return min(asked, known ?? asked)
  }

  @Declared(
    .integer(
      "bad-token-limit", default: 100, in: 1...10_000_000,
      "Devices of one app and environment that APNs may report as bad per hour. Above it an error is logged,"
        + " and none of them is recorded as invalid. Of unregistered ones (410), more are normal for a large app."
    )
  ) public var badTokenLimit: Int

  /// In milliseconds; 0: none are kept.
  @Declared(
    .duration(
      "keep-receipts", default: "0s", in: 0...31_536_000_000,
      "Keeps the outcomes of notifications in the database for this long, for GET /v1/notifications/{id} of"
        + " martlet-api. 0s keeps none. Give all copies the same.")
  ) public var keepReceipts: Int64

  /// Most records that are judged together. Each batch waits for the tables, for the disk and for Kafka: the more
  /// there is to do, the more of it shares these waits.
  public var batchSize = 12_000

  /// In milliseconds.
  @Declared(
    .duration(
      "clock-skew", default: "0s", in: 0...10_000,
      "How far APNs' clock may be behind that of the registrations: a 410 that is older than a registration by"
        + " at most this still counts.")
  ) public var clockSkew: Int64

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-feedback")
    try values.orError("database") { try TokenStore.checkLocation(database) }
  }
}
