// SPDX-License-Identifier: Apache-2.0
import Bytes
import Compatibility
import Contract
public import Diagnosis
import EventLoop
import Glibc
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
    do {
      let names = TopicNames(prefix: settings.topicPrefix)
      let read = FeedbackWorker.topics(settings, names)
      let own = read + [names.invalidTokens]
      let rights = KafkaRights(
        of: .feedback, names, reading: read, writing: settings.pusherTopics.map(\.name))
      guard var cluster = try ClusterView.wait(settings.kafka, rights, of: names, context) else {
        return
      }
      // The group reads two of them, the tables two.
      cluster.configuration.dividePrefetch(
        among: cluster.partitions(of: own) + cluster.partitions(of: [names.devices]))
      guard let store = try openStore(settings, context) else { return }
      try FeedbackWorker(settings, context, names, store, cluster).run()
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// An older version made the file with the process's umask; an administrator may want it so.
  private static func warn(about database: String, _ log: Logger) {
    guard !TokenStore.isOnServer(database),
      let problem = (try? File.exposure(of: database)) ?? nil
    else { return }
    log.warning("the database of device tokens is open to others", ["problem": problem])
  }

  /// Waits for a database that is locked; nil when a stop was requested meanwhile.
  private static func openStore(
    _ settings: FeedbackSettings, _ context: ServiceContext
  ) throws(ServiceFailure) -> TokenStore? {
    var isReported = false
    while !context.signals.isStopping {
      do throws(StoreError) {
        let store = try TokenStore(settings.database, now: WallClock.milliseconds())
        warn(about: settings.database, context.log)
        return store
      } catch {
        // A wrong path does not heal by itself; a lock or a full disk may.
        guard error.isTemporary, TokenStore.mayAppear(settings.database) else {
          throw ServiceFailure("\(error)")
        }
        if !isReported {
          context.log.warning("cannot open the database; retrying", ["error": "\(error)"])
        }
        isReported = true
        usleep(500_000)
      }
    }
    return nil
  }
}
