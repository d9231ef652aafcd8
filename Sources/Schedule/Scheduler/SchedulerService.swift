// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
import Kafka
public import ServiceKit
public import Settings
import Store

/// `martlet-scheduler`: keeps requests until their `send_at`, then produces them to `push.requests`.
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
    [ZoneNotice.finding()]
      + KafkaSurvey.run(settings.kafka, .scheduler, settings.names).findings
  }

  public static func run(
    _ settings: SchedulerSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let names = settings.names
    let rights = KafkaRights(of: .scheduler, names)
    guard
      var cluster = try ClusterView.wait(
        settings.kafka, rights, optional: [names.audiences], of: names, context)
    else { return }
    cluster.configuration.dividePrefetch(among: cluster.partitions(of: [names.schedule]))
    guard let store = try openStore(settings, context) else { return }
    try orFail { try SchedulerWorker(settings, context, names, store, cluster).run() }
  }

  private static func openStore(
    _ settings: SchedulerSettings, _ context: ServiceContext
  ) throws(ServiceFailure) -> ScheduleStore? {
    let location = settings.database
    return try context.openDatabase(
      file: TokenStore.isOnServer(location) ? nil : location,
      open: { () throws(StoreError) in
        try ScheduleStore(
          TokenStore(location, now: WallClock.milliseconds(), onUpdate: context.noteUpdate))
      }, mayPass: { $0.isTemporary && TokenStore.mayAppear(location) })
  }
}
