// SPDX-License-Identifier: Apache-2.0
import EventLoop
import JSON
import Pipeline
import Settings

/// Which dead letters a command is about.
package struct DeadLetterFilter: Sendable {
  var reason: String?
  var stage: String?
  var app: String?
  /// Milliseconds since the epoch; the first that counts.
  var since: Int64?
  /// The first that no longer counts.
  var until: Int64?
  /// The full name of the topic that the record ended on.
  var topic: String?
  /// The most letters; 0 is no limit.
  var limit = 0

  static let settings: [Setting] = [
    .choice(
      "reason", of: DeadLetterReason.allCases.map(\.rawValue),
      "Only letters with this reason."),
    .choice("stage", of: ["ingest", "sender", "feedback"], "Only letters of this process."),
    .text("app", placeholder: "BUNDLE-ID", "Only letters of this app, as far as they name one."),
    .text(
      "since", placeholder: "TIME", "Only letters from this moment on: \(MomentText.forms)."),
    .text("until", placeholder: "TIME", "Only letters before this moment, written alike."),
    .text(
      "topic", placeholder: "TOPIC",
      "Only letters whose record came from this topic; a short name such as notifications will do."),
    .integer("limit", default: 0, "At most so many letters; 0 is no limit."),
  ]

  init() {}

  init(
    _ values: SettingValues, _ names: TopicNames, now: Int64 = WallClock.milliseconds()
  ) throws(SettingErrors) {
    reason = values.optionalText("reason")
    stage = values.optionalText("stage")
    app = values.optionalText("app")
    since = try Self.moment("since", values, now)
    until = try Self.moment("until", values, now)
    topic = values.optionalText("topic").map { TopicLookup.find($0, in: names) ?? $0 }
    limit = values.integer("limit")
  }

  private static func moment(
    _ name: String, _ values: SettingValues, _ now: Int64
  ) throws(SettingErrors) -> Int64? {
    guard let text = values.optionalText(name) else { return nil }
    guard let moment = MomentText.milliseconds(of: text, now: now) else {
      throw values.error(name, "\"\(text)\" is not \(MomentText.forms)")
    }
    return moment
  }

  /// Whether a letter is meant. The limit is the reader's affair.
  func matches(_ letter: DeadLetterEntry, _ parser: JSONParser) -> Bool {
    if let reason, letter.reason != reason { return false }
    if let stage, letter.stage != stage { return false }
    if let since, letter.at < since { return false }
    if let until, letter.at >= until { return false }
    if let topic, letter.originTopic != topic { return false }
    // Last, for it reads the value.
    if let app, letter.app(parser) != app { return false }
    return true
  }
}
