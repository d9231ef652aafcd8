// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
package import ServiceKit
package import Settings

/// `martlet trace ID`: what became of a notification, hop by hop.
package enum TraceCommand: Service {
  package struct Settings: Sendable {
    let kafka: KafkaConfiguration
    let names: TopicNames
    let wanted: TraceSubject.Wanted
    let since: Int64
    let limit: Int
    let isJSON: Bool
    let showsProgress: Bool
  }

  /// A shorter beginning of a device token would find many devices.
  static let fewestDigits = 8

  package static let name = "trace"
  package static let summary =
    "Shows what became of a notification: each record about it on the topics, in the order of time, with the gaps."
    + " Takes a request id or an apns-id, or with --token a device token."
  package static let reportsCounters = false
  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix,
      .boolean(
        "token",
        "ID is a device token, or its first digits (at least \(fewestDigits)): trace everything sent to it."
      ),
      .text(
        "since", default: "1d", placeholder: "TIME",
        "Read the topics from here: \(MomentText.forms)."),
      .integer(
        "limit", default: 20, "Show at most this many notifications, the newest; 0 means all."),
      .boolean("json", "Print one JSON object per hop, for programs."),
      .boolean("progress", default: true, "Show progress on standard error."),
    ], kafkaProperties: true,
    operands: .init("ID", 1...1, "A request id, an apns-id, or a device token."))

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let text = values.operands[0]
    let isToken = values.boolean("token")
    let digits = text.lowercased()
    if isToken, digits.utf8.count < fewestDigits || !digits.allSatisfy(\.isHexDigit) {
      throw SettingErrors(
        nil, "\"\(text)\" is no device token: give at least \(fewestDigits) hex digits")
    }
    if text.isEmpty { throw SettingErrors(nil, "the ID is empty") }
    let since = MomentText.milliseconds(of: values.text("since"), now: WallClock.milliseconds())
    guard let since else {
      throw values.error("since", "\"\(values.text("since"))\" is not \(MomentText.forms)")
    }
    return Settings(
      kafka: try KafkaConfiguration(values, clientID: "martlet-trace"),
      names: TopicNames(prefix: values.text(CommonSettings.topicPrefix.name)),
      wanted: isToken ? .token(digits) : .id(text), since: since,
      limit: values.integer("limit"), isJSON: values.boolean("json"),
      showsProgress: values.boolean("progress"))
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    defer { cluster.admin.close() }
    var search = TraceSearch(
      settings.wanted, cluster, since: settings.since,
      progress: settings.showsProgress ? ProgressLine("trace", unit: "records") : nil, context)
    try search.run(settings.names)
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
    guard !stories.isEmpty else {
      throw ServiceFailure(
        "nothing about it on the topics: \(search.looked) records were read; look further back with --since,"
          + " and check --topic-prefix")
    }
  }

  private static func show(_ stories: [TraceStory], _ settings: Settings) {
    let shown = settings.limit > 0 ? stories.suffix(settings.limit) : stories[...]
    let lines =
      settings.isJSON ? shown.flatMap(TraceText.json) : TraceText.lines(Array(shown))
    for line in lines where !StandardOutput.line(line) { return }
    if shown.count < stories.count {
      StandardError.line(
        "\(stories.count - shown.count) older notifications are not shown: raise --limit")
    }
  }
}
