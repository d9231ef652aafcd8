// SPDX-License-Identifier: Apache-2.0
public import Contract
public import ServiceKit
public import Settings

/// `martlet-ingest`: takes requests out of Kafka, checks them and makes notifications of them.
///
/// One thread does everything (`IngestLoop`): it owns the group's membership, the requests it has taken, and
/// the producer. A request's offset is committed when Kafka has acknowledged every record that it led to.
public enum IngestService: Service {
  public static let name = "martlet-ingest"
  public static let summary = """
    Takes notification requests out of Kafka, checks them, and puts one notification per device on its \
    lane; bad requests end as dead letters. Start more copies to take more: they share the work as one \
    consumer group.
    """
  public static let notesCrashes = true
  public static let table = IngestSettings.table

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> IngestSettings {
    try IngestSettings(values)
  }

  public static func check(_ settings: IngestSettings, _ context: ServiceContext) -> [Finding] {
    KafkaSurvey.run(settings.kafka, .ingest, settings.names).findings
  }

  public static func run(
    _ settings: IngestSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let names = settings.names
    let rights = KafkaRights(of: .ingest, names)
    guard
      let cluster = try ClusterView.wait(
        settings.kafka, rights, optional: [names.schedule, names.campaignRequests], of: names,
        context)
    else {
      return
    }
    var settings = settings
    settings.readsCampaigns =
      cluster.partitions[names.campaignRequests] != nil
      || cluster.hidden.contains(names.campaignRequests)
    if !settings.readsCampaigns {
      context.log(
        IngestLog.noCampaignTopic,
        ["topic": names.campaignRequests, "remedy": "martlet topics create"])
    }
    settings.hasSchedule =
      cluster.partitions[names.schedule] != nil || cluster.hidden.contains(names.schedule)
    if !settings.hasSchedule {
      context.log(
        IngestLog.noScheduleTopic, ["topic": names.schedule, "remedy": "martlet topics create"])
    }
    try IngestLoop(settings, context, names, cluster).run()
  }
}
