// SPDX-License-Identifier: Apache-2.0
import EventLoop
import JSON
import Pipeline
import ServiceKit
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
  /// An `apns-id` or a request's id.
  var id: String?
  /// `PARTITION/OFFSET` of each letter that is meant; empty means any.
  var places: Set<String> = []
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
    .text(
      "id", placeholder: "ID",
      "Only letters with this apns-id or request id, as far as they name one."),
    .integer("limit", default: 0, "Most dead letters to process; 0 means no limit."),
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
    id = values.optionalText("id")
    limit = values.integer("limit")
    var problems: [SettingError] = []
    for operand in values.operands {
      if let place = Self.place(operand, names) {
        places.insert(place)
      } else {
        let problem = "\"\(operand)\" is not PARTITION/OFFSET of a dead letter as list prints it"
        problems.append(SettingError(setting: nil, source: nil, problem: problem))
      }
    }
    if !problems.isEmpty { throw SettingErrors(problems) }
  }

  /// The place of a letter as `list` prints it; the topic may stand before it.
  private static func place(_ text: String, _ names: TopicNames) -> String? {
    let prefix = names.deadLetters + "/"
    let short = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
    let parts = short.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let partition = Int32(parts[0]), let offset = Int64(parts[1]),
      partition >= 0, offset >= 0
    else { return nil }
    return "\(partition)/\(offset)"
  }

  /// Whether it says nothing about which letters are meant; a limit does not.
  var isOpen: Bool {
    reason == nil && stage == nil && app == nil && since == nil && until == nil && topic == nil
      && id == nil && places.isEmpty
  }

  /// After so many letters there is no other one to look for; nil when only the end of the topic tells.
  var most: Int? {
    switch (limit, places.count) {
    case (0, 0): nil
    case (0, let count), (let count, 0): count
    default: min(limit, places.count)
    }
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

  /// Fails if letters that were named are not among those found: a slip of the hand is not passed over.
  func demand(_ found: Set<String>) throws(ServiceFailure) {
    guard found.count < most ?? 0 else { return }
    let missing = places.subtracting(found).sorted()
    guard !missing.isEmpty else { return }
    throw ServiceFailure(
      "nothing was replayed: no dead letter \(missing.joined(separator: ", "))"
        + ", or a filter excludes it")
  }

  /// Whether a letter is meant. The limit is the reader's affair.
  func matches(_ letter: DeadLetterEntry, _ parser: JSONParser) -> Bool {
    if !places.isEmpty, !places.contains(letter.place) { return false }
    if let reason, letter.reason != reason { return false }
    if let stage, letter.stage != stage { return false }
    if let since, letter.at < since { return false }
    if let until, letter.at >= until { return false }
    if let topic, letter.originTopic != topic { return false }
    if let id, !letter.has(id: id) { return false }
    // Last, for it reads the value.
    if let app, letter.app(parser) != app { return false }
    return true
  }
}
