// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import ServiceKit
import Settings

/// `martlet receipts replay`: sends notifications again that ended without being accepted.
enum ReceiptsReplayCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var cluster = ClusterSettings()
    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    fileprivate var lanes = Lanes.standard
    var filter = ReceiptReplayFilter()
    @Declared(CommandSettings.isDryRun) var isDryRun: Bool
    @Declared(CommandSettings.isConfirmed) var isConfirmed: Bool
    @Declared(CommandSettings.isJSON) var isJSON: Bool
    @Declared(CommandSettings.progress) var showsProgress: Bool

    var names: TopicNames { TopicNames(prefix: cluster.names.prefix, lanes: lanes) }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-receipts")
      lanes = try Lanes(values)
      filter = try ReceiptReplayFilter(values)
    }
  }

  /// The number of notifications above which a replay needs a confirmation.
  static let few = 20

  static let name = "receipts replay"
  static let summary =
    "Sends notifications again that APNs refused, once the cause is corrected: finds them by their receipts, and"
    + " their records on the lanes, which have them as long as Kafka keeps them. They keep their apns-ids, and are"
    + " requested as of now. What was delivered since is left out, and a second replay of a receipt ends as"
    + " deduplicated. It asks before it sends more than \(few) again."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let result = try replay(settings, context)
    if settings.isJSON {
      StandardOutput.line(result.json(isDryRun: settings.isDryRun))
    } else {
      for line in result.lines(isDryRun: settings.isDryRun) { StandardOutput.line(line) }
    }
    if result.wasStopped {
      throw context.signals.interrupted("not all were sent again; run it again for the rest")
    }
    if result.refused > 0 {
      throw ServiceFailure("\(result.refused) could not be produced; they are listed above")
    }
  }

  /// Reads the receipts, asks if there are many, then produces; notes in the audit what Kafka has, also after an error.
  static func replay(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) -> ReceiptReplayResult {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    let replayer = ReceiptReplayer(
      TopicWalk(cluster: cluster, context: context, showsProgress: settings.showsProgress),
      settings.names, settings.filter)
    let wanted = try replayer.wanted()
    if !settings.isDryRun, wanted.count > few, !settings.isConfirmed, !context.signals.isStopping {
      try Confirmation.ask("send \(wanted.count) notifications again", context)
    }
    defer { if !settings.isDryRun { Audit.note(name, replayer.end(), context) } }
    try replayer.replay(wanted, isDryRun: settings.isDryRun)
    return replayer.result
  }
}
