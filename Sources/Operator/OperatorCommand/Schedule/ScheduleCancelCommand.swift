// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Settings
import Store
import Telemetry

/// `martlet schedule cancel ID`: cancels a scheduled request.
enum ScheduleCancelCommand: Command {
  struct Settings: Sendable {
    let cluster: ClusterSettings
    let database: String?
    let key: ScheduleKey
  }

  static let name = "schedule cancel"
  static let summary =
    "Cancels a request that waits for its send_at. Two seconds before its time it is sure not to be sent; later it may be"
    + " on its way. The cancellation also concerns a request with this id that was written before and is not scheduled"
    + " yet; where none waits the command says so, and fails."
  private static let app = SettingKey<String>.text("app", placeholder: "APP", "The request's app.")
  static let table = SettingTable(
    [
      app.setting, CommandSettings.oneEnvironment.setting, CommonSettings.kafka.setting,
      CommonSettings.topicPrefix.setting, CommandSettings.scheduleIfAny.setting,
    ], kafkaProperties: true, operands: .init("ID", 1...1, "The request's id."))

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    Settings(
      cluster: try ClusterSettings(values, clientID: "martlet-schedule"),
      database: values[CommandSettings.scheduleIfAny],
      key: try ScheduleKey(
        values.operands[0], app: values[app],
        environment: values[CommandSettings.oneEnvironment]))
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    try cluster.demand(settings.cluster.names.schedule, "martlet topics create creates it")
    let known = try known(settings, cluster, context)
    let cancellation = ScheduleCancellation(at: WallClock.milliseconds(), by: Audit.actor)
    try cluster.write(settings.cluster.names.schedule, key: settings.key.bytes, cancellation.value)
    // Kafka may have taken its time.
    let written = WallClock.milliseconds()
    Audit.note("schedule cancel", settings.key.description, context)
    switch known {
    case .request(let request):
      let due = Timestamp.text(milliseconds: request.due)
      // The schedule has a request for some seconds after it was sent.
      guard written <= request.due - notice else {
        throw ServiceFailure(
          "\(settings.key) may have been sent: its time is \(due). The cancellation is written")
      }
      StandardOutput.line("cancelled \(settings.key), which waited for \(due)")
    case .cancellation(let earlier):
      let (time, by) = (Timestamp.text(milliseconds: earlier.at), TerminalText.plain(earlier.by))
      StandardOutput.line("\(settings.key) was cancelled already, \(time) by \(by)")
    case .activity, nil:
      throw ServiceFailure(
        "no request \(settings.key) waits for its time: it was sent, or never scheduled. The cancellation is written, for one that is on its way to the schedule"
      )
    }
  }

  /// What is cancelled so long before its time, in milliseconds, is not sent.
  private static let notice: Int64 = 2_000

  /// What the schedule has for the request; nil if nothing.
  private static func known(
    _ settings: Settings, _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) -> ScheduleRecord? {
    guard let database = settings.database else {
      return try ServiceFailure.noting("nothing was cancelled") { () throws(ServiceFailure) in
        try onTopic(settings, cluster, context)
      }
    }
    let entry: ScheduledEntry?
    do throws(StoreError) {
      let reader = try TokenStoreReader(database)
      entry = try reader.whileScheduleIsComplete { () throws(StoreError) in
        try reader.scheduled(key: settings.key.exact)
      }
    } catch {
      throw ServiceFailure(
        "nothing was cancelled: \(error). Without --database \(settings.cluster.names.schedule) is read"
      )
    }
    guard var text = entry?.value else { return nil }
    return text.withUTF8 { try? ScheduleRecord(UnsafeRawBufferPointer($0)) }
  }

  private static func onTopic(
    _ settings: Settings, _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) -> ScheduleRecord? {
    let key = settings.key.bytes
    var found: ScheduleRecord?
    var identity: Int64?
    let table = try orFail {
      try KafkaTable(cluster.configuration, topic: settings.cluster.names.schedule)
    }
    defer { table.close() }
    func note(_ record: KafkaRecord) {
      guard record.key.elementsEqual(key) else { return }
      guard record.value.baseAddress != nil else {
        // That of a request which was sent leaves the one that has replaced it meanwhile.
        let ends = record.ends
        if ends == nil || ends == identity { found = nil }
        return
      }
      found = try? ScheduleRecord(record.value)
      identity = ScheduleRow.identity(of: record.value)
    }
    try table.readToEnd(cluster, context, forget: { found = nil }, note)
    return found
  }
}
