// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Settings
import Telemetry

/// `martlet campaign start FILE`: sends a request to every device of an audience.
enum CampaignStartCommand: Command {
  struct Settings: Sendable {
    let kafka: KafkaConfiguration
    let names: TopicNames
    let database: String?
    let tokens: String?
    let showsProgress: Bool
    let campaign: CampaignRecord
    /// The errors in the payload that devices ignore.
    let warnings: PayloadWarnings
  }

  static let name = "campaign start"
  static let summary =
    "Starts a campaign: a request to every device of an audience, which martlet-scheduler looks up. FILE is a JSON object"
    + " with the campaign's name, its request and its audience; docs/scheduling.md describes it. A name is used once:"
    + " another campaign of the app with it is not started until 30 days after the end of the first. --tokens names a file of device"
    + " tokens, one a line, as its audience. With --database the command waits"
    + " until martlet-scheduler has the campaign, and fails if the app has a campaign of the name. Another app's of the same name is another campaign."
  private static let tokens = SettingKey<String?>.path(
    "tokens", placeholder: "FILE",
    "A regular file of device tokens, one a line, in place of an audience. Each line is checked first; then they are"
      + " written to push.audiences, and the campaign starts.")
  static let table = SettingTable(
    [
      CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting,
      CommonSettings.audienceTopics.setting, CommandSettings.scheduleIfAny.setting,
      tokens.setting, CommandSettings.progress.setting,
    ],
    kafkaProperties: true,
    operands: .init("FILE", 1...1, "The campaign; - reads it from standard input."))

  /// The time to wait for the scheduler, in milliseconds.
  private static let patience = 10_000
  private static let longest = 1 << 20

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let file = values.operands[0]
    let text: [UInt8]
    do throws(SystemError) {
      text = try File.read(file == "-" ? "/dev/stdin" : file)
    } catch {
      throw SettingErrors(nil, "\(error)")
    }
    guard text.count <= longest else {
      throw SettingErrors(nil, "\(file) has more than \(longest) bytes")
    }
    let names = TopicNames(prefix: values[CommonSettings.topicPrefix])
    let (campaign, warnings) = try read(
      text, file, AudienceTopics(names, prefixes: values[CommonSettings.audienceTopics]),
      tokenTopic: values[tokens].map { _ in names.audiences })
    return Settings(
      kafka: try KafkaConfiguration(values, clientID: "martlet-campaign"), names: names,
      database: values[CommandSettings.scheduleIfAny], tokens: values[tokens],
      showsProgress: values[CommandSettings.progress],
      campaign: campaign, warnings: warnings)
  }

  private static func read(
    _ text: [UInt8], _ file: String, _ topics: AudienceTopics, tokenTopic: String?
  ) throws(SettingErrors) -> (CampaignRecord, PayloadWarnings) {
    let result = text.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        try CampaignRecord(
          json: bytes, at: WallClock.milliseconds(), by: Audit.actor, tokenTopic: tokenTopic,
          parser: JSONParser())
      }
    }
    do {
      let campaign = try result.get()
      try campaign.check(topics)
      try campaign.checkZone()
      return (campaign, try campaign.checkRequest(RequestReader(types: .any, lanes: .any)))
    } catch {
      throw SettingErrors(nil, "\(file): \(error)")
    }
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    try cluster.demand(settings.names.schedule, "martlet topics create creates it")
    let campaign = settings.campaign
    settings.warnings.tell()
    // Before anything is written.
    if let database = settings.database {
      _ = try isKnown(campaign, database, context, done: "nothing was started")
    }
    if let file = settings.tokens { try write(file, settings, cluster, context) }
    try cluster.write(settings.names.schedule, key: Array("\(campaign.key)".utf8), campaign.value)
    Audit.note("campaign start", "\(campaign.key)", context)
    if campaign.plan.local != nil { tellZones() }
    if let database = settings.database { try awaitScheduler(database, campaign, context) }
    // Without the database it is not known whether the name is in use.
    let verb = settings.database == nil ? "is to start, unless its name is in use" : "starts"
    StandardOutput.line(
      "campaign \(campaign.name) \(verb); martlet campaign list \(campaign.name) tells how far it is"
    )
  }

  /// Prints the edition of the time zone database used here, as the scheduler's log does for its host.
  private static func tellZones() {
    guard let edition = ZoneFile.edition() else { return }
    let now = WallClock.milliseconds()
    StandardError.line(
      "local times by \(edition.name) of this host; martlet-scheduler goes by that of its own")
    guard edition.isOld(at: now) else { return }
    let days = edition.age(at: now).map { " (\($0 / 86_400_000) days)" } ?? ""
    StandardError.line(
      "warning: \(edition.name) is old\(days): \(ZoneFindings.consequence(edition.outdated)); renew the package tzdata, here"
        + " and where martlet-scheduler runs")
  }

  /// Writes the campaign's device tokens.
  private static func write(
    _ path: String, _ settings: Settings, _ cluster: KafkaCluster, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let topic = settings.names.audiences
    try cluster.demand(topic, "martlet topics create creates it")
    let file = AudienceFile(path, showsProgress: settings.showsProgress, context)
    try file.check()
    let count = try file.write(topic, settings.campaign, cluster)
    StandardOutput.line("\(count) device tokens written to \(topic)")
    if let pace = settings.campaign.pace?.perMillisecond,
      let note = settings.campaign.expiryNote(devices: count, perMillisecond: pace)
    {
      StandardError.line("warning: \(note)")
    }
  }

  /// Waits until the scheduler has read the start; fails if the name was in use.
  private static func awaitScheduler(
    _ database: String, _ campaign: CampaignRecord, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let done = "the start of campaign \(campaign.name) is written"
    let limit = TimeLimit(milliseconds: patience)
    while limit.left > 0 {
      if context.signals.isStopping { throw context.signals.interrupted(done) }
      if try isKnown(campaign, database, context, done: done) { return }
      usleep(100_000)
    }
    throw ServiceFailure(
      "it is written, but martlet-scheduler has not read it within \(patience / 1_000)s; martlet campaign list shows when it has"
    )
  }

  /// Whether the scheduler has this start; fails if it has another campaign of the name.
  ///
  /// - Parameter done: What the command has done before.
  private static func isKnown(
    _ campaign: CampaignRecord, _ database: String, _ context: ServiceContext, done: String
  ) throws(ServiceFailure) -> Bool {
    let known = try ServiceFailure.noting(done) { () throws(ServiceFailure) -> [CampaignRecord] in
      try CampaignReading.all(database, named: campaign.name, context) { known in
        known.key == campaign.key ? known : nil
      }
    }
    guard let known = known.first else { return false }
    if known.at == campaign.at, known.by == campaign.by { return true }
    let time = Timestamp.text(milliseconds: known.at)
    throw ServiceFailure(
      "\(campaign.key.app) has a campaign of this name, started \(time) by \(TerminalText.plain(known.by)): this start changes nothing"
    )
  }
}
