// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
import Kafka
public import ServiceKit
public import Settings
import Store

/// `martlet-feedback`: records which device tokens are invalid, and tells ingest.
///
/// Everything happens on one thread, in `FeedbackWorker`.
public enum FeedbackService: Service {
  public static let name = "martlet-feedback"
  public static let summary = """
    Keeps the database of device tokens: applies registrations and what APNs says about tokens, and publishes \
    which tokens are invalid. A token is declared invalid only on proof, never for a configuration mistake.
    """
  public static let notesCrashes = true
  public static let table = FeedbackSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> FeedbackSettings {
    try FeedbackSettings(values)
  }

  public static func check(_ settings: FeedbackSettings, _ context: ServiceContext) -> [Finding] {
    KafkaSurvey.run(settings.kafka, .feedback, TopicNames(prefix: settings.topicPrefix)).findings
  }

  public static func run(
    _ settings: FeedbackSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    try orFail {
      let names = TopicNames(prefix: settings.topicPrefix)
      let read = FeedbackWorker.topics(settings, names)
      let own = read + [names.invalidTokens]
      let rights = KafkaRights(of: .feedback, names, reading: read)
      guard var cluster = try ClusterView.wait(settings.kafka, rights, of: names, context) else {
        return
      }
      // The group reads two of them, the tables two.
      cluster.configuration.dividePrefetch(
        among: cluster.partitions(of: own) + cluster.partitions(of: [names.devices]))
      guard let store = try openStore(settings, context) else { return }
      var settings = settings
      settings.databaseMaxAge = settings.maxAge(
        deleteRetention: deleteRetention([names.devices, names.invalidTokens], settings.kafka))
      try FeedbackWorker(settings, context, names, store, cluster).run()
    }
  }

  /// For how long Kafka keeps the tombstones of these topics at least, in milliseconds; nil if it does not say.
  private static func deleteRetention(_ topics: [String], _ kafka: KafkaConfiguration) -> Int64? {
    guard let admin = try? KafkaAdmin(kafka) else { return nil }
    defer { admin.close() }
    let settings = try? admin.topicSettings(topics, timeoutMilliseconds: 5_000)
    let times = topics.compactMap { settings?[$0]?["delete.retention.ms"] }.compactMap { Int64($0) }
    return times.count == topics.count ? times.min() : nil
  }

  private static func openStore(
    _ settings: FeedbackSettings, _ context: ServiceContext
  ) throws(ServiceFailure) -> TokenStore? {
    let location = settings.database
    return try context.openDatabase(
      file: TokenStore.isOnServer(location) ? nil : location,
      open: { () throws(StoreError) in
        try TokenStore(location, now: WallClock.milliseconds(), onUpdate: context.noteUpdate)
      }, mayPass: { $0.isTemporary && TokenStore.mayAppear(location) })
  }
}
