// SPDX-License-Identifier: Apache-2.0
import Contract
public import Diagnosis
import EventLoop
import Glibc
import Kafka
public import ServiceKit
public import Settings
import Store

/// `martlet-scheduler`: keeps requests until their `send_at`, and produces them to `push.requests` then.
///
/// Everything happens on one thread, in `SchedulerWorker`.
public enum SchedulerService: Service {
  public static let name = "martlet-scheduler"
  public static let summary = """
    Keeps requests that have a send_at until their time has come, and hands them back to ingest then. A cancelled one is \
    not sent. With PostgreSQL, start more copies to divide the partitions.
    """
  public static let notesCrashes = true
  public static let table = SchedulerSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> SchedulerSettings {
    try SchedulerSettings(values)
  }

  public static func check(_ settings: SchedulerSettings, _ context: ServiceContext) -> [Finding] {
    KafkaSurvey.run(settings.kafka, .scheduler, TopicNames(prefix: settings.topicPrefix)).findings
  }

  public static func run(
    _ settings: SchedulerSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let names = TopicNames(prefix: settings.topicPrefix)
    let rights = KafkaRights(of: .scheduler, names)
    guard var cluster = try ClusterView.wait(settings.kafka, rights, of: names, context) else {
      return
    }
    cluster.configuration.dividePrefetch(among: cluster.partitions(of: [names.schedule]))
    guard let store = try openStore(settings, context) else { return }
    do {
      try SchedulerWorker(settings, context, names, store, cluster).run()
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// Waits for a database that is locked; nil when a stop was requested meanwhile.
  private static func openStore(
    _ settings: SchedulerSettings, _ context: ServiceContext
  ) throws(ServiceFailure) -> ScheduleStore? {
    var isReported = false
    while !context.signals.isStopping {
      do throws(StoreError) {
        return try ScheduleStore(TokenStore(settings.database, now: WallClock.milliseconds()))
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
