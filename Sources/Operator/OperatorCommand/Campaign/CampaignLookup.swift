// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Settings
import Store

/// The campaign that a command names: by its name, plus app and environment if several share the name.
struct CampaignName: Sendable {
  static let app = SettingKey<String?>.text(
    "app", placeholder: "APP",
    "Only campaigns of this app: needed only where several have a campaign of the name.")
  static let environment = SettingKey<String?>.choice(
    "environment", of: Environment.allCases.map(\.description),
    "Only campaigns of this environment: needed only where both have a campaign of the name.")

  let name: String
  let app: String?
  let environment: Environment?

  init(_ name: String, app: String?, environment: String?) throws(SettingErrors) {
    guard CampaignKey.isName(name) else {
      throw SettingErrors(nil, "\"\(name)\" cannot be the name of a campaign")
    }
    (self.name, self.app) = (name, app)
    self.environment = environment.flatMap { Environment($0) }
  }

  func isOne(_ key: CampaignKey) -> Bool { key.isOne(name, of: app, environment) }

  func one<Known>(of campaigns: [(CampaignKey, Known)]) throws(ServiceFailure) -> Known {
    let found = campaigns.filter { isOne($0.0) }
    guard let first = found.first else {
      throw ServiceFailure("no campaign \(name)\(app.map { " of \($0)" } ?? "") is known")
    }
    guard found.count == 1 else {
      let list = found.map { "\($0.0.app) \($0.0.environment)" }.sorted().joined(separator: ", ")
      throw ServiceFailure(
        "several campaigns are named \(name): \(list); name one with --app and --environment")
    }
    return first.1
  }
}

/// Looks up campaigns in the database of martlet-scheduler, or, if none is named, in `push.schedule` itself, which
/// takes as long as reading it.
final class CampaignLookup {
  private let database: String?
  private let table: KafkaTable?
  private let cluster: KafkaCluster
  private let context: ServiceContext
  private var found: [CampaignKey: (record: CampaignRecord, identity: Int64)] = [:]

  init(
    database: String?, _ topic: String, _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) {
    (self.database, self.cluster, self.context) = (database, cluster, context)
    table =
      database == nil
      ? try orFail { try KafkaTable(cluster.configuration, topic: topic) } : nil
  }

  deinit { table?.close() }

  /// All campaigns in their current state, or at least those of a name.
  ///
  /// - Parameter done: What the command has done before.
  func campaigns(
    named name: String? = nil, done: String = ControlTopic.undone
  ) throws(ServiceFailure) -> [CampaignRecord] {
    try ServiceFailure.noting(done) { () throws(ServiceFailure) -> [CampaignRecord] in
      guard let table else {
        return try CampaignReading.all(database ?? "", named: name, context) { $0 }
      }
      try table.readToEnd(cluster, context, forget: { found = [:] }, { note($0) })
      return found.values.map(\.record)
    }
  }

  /// Keeps the record of a campaign with the highest revision.
  private func note(_ record: KafkaRecord) {
    guard let key = CampaignKey(String(decoding: record.key, as: UTF8.self)) else { return }
    guard record.value.baseAddress != nil else {
      let ends = record.ends
      if ends == nil || ends == found[key]?.identity { found[key] = nil }
      return
    }
    guard let campaign = try? CampaignRecord(record.value, parser: JSONParser()),
      campaign.key == key
    else { return }
    if let known = found[key], known.record.progress.revision >= max(1, campaign.progress.revision)
    {
      return
    }
    found[key] = (campaign, ScheduleRow.identity(of: record.value))
  }

  /// Waits until a campaign has the wanted state.
  ///
  /// - Parameter done: What the command has done before.
  /// - Returns: The campaign then; nil on timeout.
  func wait(
    for key: CampaignKey, withinMilliseconds time: Int, done: String,
    _ isWanted: (CampaignRecord) -> Bool
  ) throws(ServiceFailure) -> CampaignRecord? {
    let limit = TimeLimit(milliseconds: time)
    while limit.left > 0 {
      if context.signals.isStopping { throw context.signals.interrupted(done) }
      let campaign = try campaigns(named: key.name, done: done).first { $0.key == key }
      if let campaign, isWanted(campaign) { return campaign }
      if database != nil { usleep(100_000) }
    }
    return nil
  }
}
