// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import ServiceKit
import Settings

/// `martlet dead-letters list`: lists dead letters with their reasons; with a position or id, shows one in full.
enum DeadLettersListCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var cluster = ClusterSettings()
    var filter = DeadLetterFilter()
    @Declared(CommandSettings.isJSON) var isJSON: Bool
    @Declared(CommandSettings.revealsTokens) var revealsTokens: Bool
    /// The position or id of the letters to show in full; nil for a list.
    var wanted: String?

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-dead-letters")
      filter = try DeadLetterFilter(values, cluster.names)
      wanted = values.operands.first
    }
  }

  static let name = "dead-letters list"
  static let summary =
    "Lists dead letters, one per line: position, time, reason and app. With a position or an id it shows those whole, with"
    + " their payloads. Reads to the current end of the topic. Device tokens are shortened unless --reveal is given."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init(
      "PARTITION/OFFSET|ID", 0...1,
      "A dead letter, as the list prints it; or an apns-id or request id, which shows every dead letter that has it."
    ))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    if let wanted = settings.wanted {
      try show(wanted, settings, context) { StandardOutput.line($0) }
    } else {
      try list(settings, context) { StandardOutput.line($0) }
    }
  }

  /// - Parameter print: Prints a line; returns false when the reader has gone.
  static func list(
    _ settings: Settings, _ context: ServiceContext, print: (String) -> Bool
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    let scan = try DeadLetterScan(cluster, settings.cluster.names, settings.filter, context)
    let text = DeadLetterText(revealsTokens: settings.revealsTokens, parser: scan.parser)
    if !settings.isJSON { guard print(DeadLetterText.tableHead) else { return } }
    var reasons: [ExactText: Int] = [:]
    let count = try scan.visit { letter in
      reasons[letter.reason.exact, default: 0] += 1
      return print(settings.isJSON ? text.json(letter) : text.row(letter))
    }
    let isStopped = context.signals.isStopping
    if !settings.isJSON {
      let parts = reasons.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      let extent =
        isStopped
        ? "so far, stopped before the end"
        : count == settings.filter.most ? "listed, as many as --limit allows" : "in all"
      _ = print(
        count > 0
          ? "\(count) \(extent): \(parts.joined(separator: ", "))"
          : isStopped ? "stopped before a dead letter matched" : "no dead letter matches")
    }
    if isStopped {
      throw context.signals.interrupted("the dead letters were not read to their end")
    }
  }

  static func show(
    _ wanted: String, _ settings: Settings, _ context: ServiceContext, print: (String) -> Bool
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    var filter = settings.filter
    // The limit would also count other letters.
    filter.limit = 0
    let scan = try DeadLetterScan(cluster, settings.cluster.names, filter, context)
    let text = DeadLetterText(revealsTokens: settings.revealsTokens, parser: scan.parser)
    var found = 0
    try scan.visit { letter in
      let isPlace = letter.place == wanted
      guard isPlace || letter.has(id: wanted.exact) else { return true }
      if found > 0 && !settings.isJSON { _ = print("") }
      found += 1
      let lines = settings.isJSON ? [text.wholeJSON(letter)] : text.whole(letter)
      for line in lines { guard print(line) else { return false } }
      return !isPlace
    }
    if context.signals.isStopping {
      throw context.signals.interrupted("the dead letters were not read to their end")
    }
    guard found > 0 else {
      throw ServiceFailure(
        "there is no dead letter \(wanted)\(filter.isOpen ? "" : ", or a filter excludes it")")
    }
  }
}

/// `martlet dead-letters replay`: sends dead letters back to their topics.
enum DeadLettersReplayCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var cluster = ClusterSettings()
    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    fileprivate var lanes = Lanes.standard
    var filter = DeadLetterFilter()
    @Declared(CommandSettings.isDryRun) var isDryRun: Bool
    @Declared(CommandSettings.isConfirmed) var isConfirmed: Bool
    @Declared(CommandSettings.isJSON) var isJSON: Bool
    @Declared(CommandSettings.progress) var showsProgress: Bool

    var names: TopicNames { TopicNames(prefix: cluster.names.prefix, lanes: lanes) }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-dead-letters")
      lanes = try Lanes(values)
      filter = try DeadLetterFilter(values, names, places: values.operands)
    }
  }

  /// The number of dead letters above which a replay needs a confirmation.
  static let fewLetters = 20

  static let name = "dead-letters replay"
  static let summary =
    "Produces dead letters again: those of ingest to the requests, those of the sender to their lane"
    + " with zero attempts. They stay on the topic and keep their apns-ids: a second replay of a dead"
    + " letter ends as deduplicated while its partition's apns-id window contains the first (by default"
    + " the last 20,000 notifications of the partition, docs/guarantees.md); after that it is sent again. It asks before"
    + " it replays more than \(fewLetters), or without a filter."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init(
      "PARTITION/OFFSET …", 0...10_000,
      "Only these dead letters: PARTITION/OFFSET of each, as list prints it. Filters also apply."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let result = try replay(settings, context)
    if settings.isJSON {
      StandardOutput.line(result.json(isDryRun: settings.isDryRun))
    } else {
      for line in result.lines(isDryRun: settings.isDryRun) { StandardOutput.line(line) }
    }
    if result.wasStopped {
      throw context.signals.interrupted("not all letters were replayed; run it again for the rest")
    }
    if result.refused > 0 {
      throw ServiceFailure(
        "\(result.refused) dead letters could not be produced; they are listed above")
    }
  }

  /// Counts the letters, asks if there are many, then produces; notes in the audit what Kafka has, also after an error.
  static func replay(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) -> ReplayResult {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    let scan = try DeadLetterScan(cluster, settings.names, settings.filter, context)
    let planner = ReplayPlanner(settings.names, scan.parser)
    var preview = ReplayResult()
    var found: Set<String> = []
    let now = WallClock.milliseconds()
    try walk(scan, "looking", settings) { letter in
      preview.count(planner.plan(letter, now: now))
      // Of millions that are not asked for by place, none needs to be known.
      if !settings.filter.places.isEmpty { found.insert(letter.place) }
      return true
    }
    preview.wasStopped = context.signals.isStopping
    if !preview.wasStopped { try settings.filter.demand(found) }
    if settings.isDryRun { return preview }
    guard preview.total > 0, !preview.wasStopped else {
      Audit.note(name, "nothing", context)
      preview.sent = [:]
      return preview
    }
    let isLarge = preview.total > fewLetters || settings.filter.isOpen
    if isLarge && !settings.isConfirmed {
      let extent = settings.filter.isOpen ? ", whatever they are: no filter is given" : ""
      try Confirmation.ask("replay \(preview.total) dead letters\(extent)", context)
    }
    let replayer = try DeadLetterReplayer(cluster, preview.sent.keys.sorted(), planner, context)
    defer { Audit.note(name, replayer.end(), context) }
    try walk(scan, "replaying", settings) { (letter) throws(ServiceFailure) in
      try replayer.replay(letter)
    }
    try replayer.finish()
    return replayer.result
  }

  private static func walk(
    _ scan: DeadLetterScan, _ title: String, _ settings: Settings,
    _ body: (DeadLetterEntry) throws(ServiceFailure) -> Bool
  ) throws(ServiceFailure) {
    var progress = settings.showsProgress ? ProgressLine(title, unit: "dead letters") : nil
    let total = max(1, scan.total)
    defer { progress?.end() }
    try scan.visit(
      progress: { progress?.update(count: $0, fraction: Double($0) / Double(total)) }, body)
  }
}
