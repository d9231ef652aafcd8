// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Settings

struct DeadLetterFilter: DeclaredSettings, Sendable {
  @Declared(
    .choice(
      "reason", of: DeadLetterReason.allCases.map(\.rawValue),
      "Only dead letters with this reason.")) var reason: String?

  @Declared(
    .choice(
      "stage", of: DeadLetterStage.allCases.map(\.rawValue), "Only dead letters of this process."))
  var stage: String?

  @Declared(
    .text("app", placeholder: "BUNDLE-ID", "Only dead letters of this app, if they name one."))
  var app: String?

  @Declared(
    .text(
      "since", placeholder: "TIME", "Only dead letters from this moment on: \(MomentText.forms)."))
  private var sinceText: String?

  @Declared(
    .text("until", placeholder: "TIME", "Only dead letters before this moment, in the same form."))
  private var untilText: String?

  @Declared(
    .text(
      "topic", placeholder: "TOPIC",
      "Only dead letters whose record came from this topic, such as notifications.")) private
    var topicName: String?

  @Declared(
    .text(
      "id", placeholder: "ID",
      "Only dead letters with this apns-id or request id, if they name one.")) var id: String?

  @Declared(.integer("limit", default: 0, "Most dead letters to process; 0 means no limit."))
  var limit: Int

  /// The start of the time range, in milliseconds since the epoch, inclusive.
  var since: Int64?
  /// The end of the time range, exclusive.
  var until: Int64?
  /// The full name of the topic that the record came from.
  var topic: String?
  /// `PARTITION/OFFSET` of each selected letter; empty for any.
  var places: Set<String> = []

  init() {}

  /// - Parameter places: `PARTITION/OFFSET` of each selected letter.
  init(
    _ values: SettingValues, _ names: TopicNames, places words: [String] = [],
    now: Int64 = WallClock.milliseconds()
  ) throws(SettingErrors) {
    self = Self.reading(values)
    if let sinceText { since = try values.moment("since", sinceText, now: now) }
    if let untilText { until = try values.moment("until", untilText, now: now) }
    topic = topicName.map { TopicLookup.find($0, in: names) ?? $0 }
    var problems: [SettingError] = []
    for operand in words {
      if let place = Self.place(operand, names) {
        places.insert(place)
      } else {
        let problem = "\"\(operand)\" is not PARTITION/OFFSET of a dead letter as list prints it"
        problems.append(SettingError(setting: nil, source: nil, problem: problem))
      }
    }
    if !problems.isEmpty { throw SettingErrors(problems) }
  }

  /// Parses a letter's place as `list` prints it, with or without the topic.
  private static func place(_ text: String, _ names: TopicNames) -> String? {
    let prefix = names.deadLetters + "/"
    let short = text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : text[...]
    let parts = short.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let partition = Int32(parts[0]), let offset = Int64(parts[1]),
      partition >= 0, offset >= 0
    else { return nil }
    return "\(partition)/\(offset)"
  }

  /// Whether it selects all letters; a limit does not matter.
  var isOpen: Bool {
    reason == nil && stage == nil && app == nil && since == nil && until == nil && topic == nil
      && id == nil && places.isEmpty
  }

  /// The number of matches after which no other can follow; nil if only the end of the topic is certain.
  var most: Int? {
    switch (limit, places.count) {
    case (0, 0): nil
    case (0, let count), (let count, 0): count
    default: min(limit, places.count)
    }
  }

  /// Fails if letters given by place or id were not found: a typing error must not go unnoticed.
  func demand(_ found: Set<String>) throws(ServiceFailure) {
    guard found.count < most ?? 0 else { return }
    let missing = places.subtracting(found).sorted()
    guard !missing.isEmpty else { return }
    throw ServiceFailure(
      "nothing was replayed: no dead letter \(missing.joined(separator: ", "))"
        + ", or a filter excludes it")
  }

  /// Whether a letter is selected. The reader applies the limit.
  func matches(_ letter: DeadLetterEntry, _ parser: JSONParser) -> Bool {
    if !places.isEmpty, !places.contains(letter.place) { return false }
    if let reason, letter.reason != reason { return false }
    if let stage, letter.stage != stage { return false }
    if let since, letter.at < since { return false }
    if let until, letter.at >= until { return false }
    if let topic, letter.originTopic.exact != topic.exact { return false }
    if let id, !letter.has(id: id.exact) { return false }
    // Last, because it reads the value.
    if let app, letter.app(parser)?.exact != app.exact { return false }
    return true
  }
}
