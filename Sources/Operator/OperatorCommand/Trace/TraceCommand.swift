// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import ServiceKit
import Settings

/// `martlet trace ID`: shows what happened to a notification, hop by hop.
enum TraceCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var wanted = TraceSubject.Wanted.id("")
    /// Milliseconds since the epoch.
    var since: Int64 = 0
    var cluster = ClusterSettings()

    @Declared(
      .boolean(
        "token",
        "ID is a device token, or its first digits (at least \(fewestDigits)): trace everything sent to it."
      )) fileprivate var isToken: Bool

    @Declared(
      .text(
        "since", default: "1d", placeholder: "TIME",
        "Read the topics from here: \(MomentText.forms).")) fileprivate var sinceText: String

    @Declared(
      .integer(
        "limit", default: 20, "Show at most this many notifications, the newest; 0 means all."))
    var limit: Int

    @Declared(CommandSettings.isJSON) var isJSON: Bool

    @Declared(CommandSettings.progress) var showsProgress: Bool

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      let text = values.operands[0]
      let digits = text.lowercased()
      if isToken, digits.utf8.count < fewestDigits || !digits.allSatisfy(\.isHexDigit) {
        throw SettingErrors(
          nil, "\"\(text)\" is no device token: give at least \(fewestDigits) hex digits")
      }
      if text.isEmpty { throw SettingErrors(nil, "the ID is empty") }
      wanted = isToken ? .token(digits) : .id(text.exact)
      let now = WallClock.milliseconds()
      since = try values.moment("since", sinceText, now: now)
      cluster = try ClusterSettings(values, clientID: "martlet-trace")
    }
  }

  /// A shorter prefix of a device token would match many devices.
  static let fewestDigits = 8

  static let name = "trace"
  static let summary =
    "Shows the way of a notification: each record about it on the topics, in the order of time, with the gaps."
    + " Takes a request id or an apns-id, or with --token a device token."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init("ID", 1...1, "A request id, an apns-id, or a device token."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    var search = TraceSearch(
      settings.wanted, cluster, since: settings.since,
      progress: settings.showsProgress ? ProgressLine("trace", unit: "records") : nil, context)
    try search.run(settings.cluster.names)
    let stories = TraceStory.stories(of: search.hops)
    show(stories, settings)
    if context.signals.isStopping {
      throw context.signals.interrupted("the topics were not read to their ends")
    }
    if search.subject.leftOut {
      StandardError.line(
        "requests of more than \(TraceSubject.mostRequests) ids belong to it; the others are not shown"
      )
    }
    if !search.hidden.isEmpty {
      StandardError.line(
        "what is on \(search.hidden.joined(separator: ", ")) is not shown: this user may not see them, and needs Read"
          + " on each")
    }
    guard !stories.isEmpty else {
      throw ServiceFailure(
        "nothing about it on the topics: \(search.looked) records were read; look further back with --since,"
          + " and check --topic-prefix")
    }
  }

  private static func show(_ stories: [TraceStory], _ settings: Settings) {
    let shown = TraceStory.newest(settings.limit, of: stories)
    let lines = settings.isJSON ? shown.flatMap(TraceText.json) : TraceText.lines(shown)
    for line in lines where !StandardOutput.line(line) { return }
    if shown.count < stories.count {
      StandardError.line(
        "\(stories.count - shown.count) older notifications are not shown: raise --limit")
    }
  }
}
