// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import Telemetry

/// A campaign: a request to every device of an audience. Its record on `push.schedule` has its `CampaignKey` as key,
/// and as value `M1`, a newline and a JSON object: what its author wrote, plus the progress, which only the scheduler
/// adds.
public struct CampaignRecord: Equatable, Sendable {
  /// Its name, and the app and environment of its request.
  public let key: CampaignKey
  /// When it was started, in milliseconds since the epoch, and by whom.
  public var at: Int64
  public var by: String
  /// The request without its target.
  public private(set) var request: JSONObject
  public let audience: Audience
  public let plan: CampaignPlan
  /// The pace of its requests, set by the scheduler; nil for none.
  public let pace: PaceRate?
  public var progress = CampaignProgress()
  /// Its pushes by outcome, as counted when the record was written.
  public var outcomes = CampaignCounts()
  /// Its rates at that time.
  public var rates: CampaignRates?

  /// The header of device tokens on `push.audiences` that belong to one start of a campaign: its `at`.
  public static let startHeader: StaticString = "campaign-at"
  /// The most unfinished campaigns of an app that the HTTP API allows.
  public static let mostOpen = 1_000

  private static let kind = "campaign"
  static let mark = Array("M1\n".utf8)
  private static let written = [
    "campaign", "request", "audience", "send_at", "time_zone", "first", "stop", "pace", "at", "by",
    "progress", "outcomes", "rates",
  ]
  /// Members not allowed in a campaign's request: they say to whom, when and as what it is sent.
  private static let forbidden: [RequestField] = [
    .token, .tokens, .channel, .user, .users, .id, .apnsID, .group, .sendAt, .campaign,
  ]

  public var name: String { key.name }

  /// Drops the request, most of a campaign's memory, for readers that only report its status.
  public mutating func dropRequest() { request = JSONObject() }

  // MARK: Reading

  /// True if a record's value is a campaign's.
  public static func isCampaign(_ value: UnsafeRawBufferPointer) -> Bool {
    value.starts(with: mark)
  }

  /// The campaign in a record's value.
  public init(_ value: UnsafeRawBufferPointer, parser: JSONParser) throws(RecordError) {
    guard Self.isCampaign(value) else {
      throw RecordError(record: Self.kind, field: nil, problem: "does not begin with M1")
    }
    let json = UnsafeRawBufferPointer(rebasing: value[Self.mark.count...])
    try self.init(json: json, at: nil, by: nil, parser: parser)
  }

  /// The campaign described by its author's JSON. Unknown members are refused: one meant to narrow the audience must
  /// not be ignored.
  ///
  /// - Parameters:
  ///   - at: the start time, in milliseconds since the epoch; nil if the JSON has it, with the progress.
  ///   - by: who starts it.
  ///   - tokenTopic: the topic of its device tokens, if they are given beside the JSON, which then names no other
  ///     audience.
  public init(
    json: UnsafeRawBufferPointer, at: Int64?, by: String?, tokenTopic: String? = nil,
    parser: JSONParser
  ) throws(RecordError) {
    let fields = try RecordFields(json, parser: parser, record: Self.kind)
    let known = at == nil ? Self.written : Array(Self.written.prefix(8))
    try Self.refuseUnknown(fields.members, known, fields)
    let name = try fields.text("campaign")
    guard CampaignKey.isName(name) else { throw fields.fail("campaign", CampaignKey.nameRule) }
    if let at { self.at = at } else { self.at = try fields.time("at") }
    if let by { self.by = by } else { self.by = try fields.optionalText("by") ?? "" }
    request = try Self.request(fields)
    audience = try Self.audience(fields, request, tokenTopic)
    if at != nil, let version = audience.leastVersion, !Audience.isComparable(version) {
      throw RecordError(
        record: "audience", field: "app_version",
        problem: "has no number to compare versions with, such as 3.2")
    }
    guard let key = CampaignKey(name: name, app: audience.app, environment: audience.environment)
    else { throw fields.fail("request", "has an app that is not a bundle id") }
    self.key = key
    pace = try Self.pace(fields)
    plan = try Self.plan(fields, at: self.at, hasPace: pace != nil)
    guard at == nil else { return }
    progress = try Self.progress(fields)
    outcomes = try Self.outcomes(fields)
    rates = try Self.rates(fields)
  }

  /// The revision of the campaign in a record's value. The campaign must be that of the key, and a topic of device
  /// tokens valid; a new campaign's time zone must be known, and its request passes ingest's checks.
  public static func revision(
    _ value: UnsafeRawBufferPointer, key: String, _ topics: AudienceTopics
  ) throws(RecordError) -> Int64 {
    let campaign = try CampaignRecord(value, parser: JSONParser())
    try campaign.check(topics)
    guard campaign.key.description.utf8.elementsEqual(key.utf8) else {
      throw RecordError(
        record: kind, field: "campaign", problem: "is not the name, app and environment in the key")
    }
    if campaign.progress.revision == 0 {
      try campaign.checkZone()
      do throws(RequestError) {
        try campaign.checkRequest(RequestReader(types: .any, lanes: .any))
      } catch {
        throw RecordError(record: kind, field: "request", problem: "\(error)")
      }
    }
    return campaign.progress.revision
  }

  /// Throws if it is for another topic than these.
  public func check(_ topics: AudienceTopics) throws(RecordError) {
    guard let topic = audience.tokenTopic, !topics.contains(topic) else { return }
    throw RecordError(record: "audience", field: "topic", problem: topics.problem)
  }

  private static func refuseUnknown(
    _ object: JSONObject, _ known: [String], _ fields: RecordFields
  ) throws(RecordError) {
    if let member = object.keys.first(where: { !known.contains($0) }) {
      throw fields.fail(member, "is not a member of it: \(known.joined(separator: ", "))")
    }
    if let member = object.duplicateKey { throw fields.fail(member, "is given twice") }
  }

  private static func request(_ fields: RecordFields) throws(RecordError) -> JSONObject {
    guard let request = fields.members["request"]?.object else {
      throw fields.fail("request", "is required: an object as on push.requests, without a token")
    }
    if let field = forbidden.first(where: { request.given($0.name) != nil }) {
      throw fields.fail(
        "request", "has \(field): a campaign's request has neither target, nor id, group or time")
    }
    if let member = request.duplicateKey { throw fields.fail("request", "has \(member) twice") }
    return request
  }

  private static func audience(
    _ fields: RecordFields, _ request: JSONObject, _ tokenTopic: String?
  ) throws(RecordError) -> Audience {
    guard let app = request["app"]?.string else { throw fields.fail("request", "has no app") }
    let environment =
      request.given("environment").map { $0.string ?? "" } ?? "\(RequestDefaults.environment)"
    guard let environment = Environment(environment) else {
      throw fields.fail("request", "has an environment that is not production or sandbox")
    }
    let type = request.given("type")?.string ?? "\(RequestDefaults.type(isBroadcast: false))"
    if let tokenTopic {
      if let given = fields.members.given("audience"), given != ["topic": .string(tokenTopic)] {
        throw fields.fail(
          "audience", "is not for a file of tokens: leave it out, or name the topic \(tokenTopic)")
      }
      return Audience(app: app, environment: environment, type: type, tokenTopic: tokenTopic)
    }
    guard let given = fields.members["audience"] else {
      throw fields.fail("audience", "is required; {} is every device of the app")
    }
    let members = try RecordFields(given, record: "audience")
    try refuseUnknown(members.members, ["topic"] + details, members)
    if let topic = try members.optionalText("topic") {
      guard isTopic(topic) else {
        throw members.fail(
          "topic", "is not 1 to 249 letters, digits, dots, hyphens and underscores")
      }
      if let other = details.first(where: { members.members.given($0) != nil }) {
        throw members.fail(other, "does not go with topic: its device tokens have no details")
      }
      return Audience(app: app, environment: environment, type: type, tokenTopic: topic)
    }
    return Audience(
      app: app, environment: environment, type: type, locale: try detail("locale", members),
      leastVersion: try detail("app_version", members),
      bundle: try detail("bundle", members), tagsAny: try tags("tags_any", members),
      tagsAll: try tags("tags_all", members),
      registeredSince: try moment("registered_since", members))
  }

  /// Members of an audience selected by registrations.
  private static let details = [
    "locale", "app_version", "bundle", "tags_any", "tags_all", "registered_since",
  ]

  private static func isTopic(_ text: String) -> Bool {
    (1...249).contains(text.utf8.count)
      && text.utf8.allSatisfy { RequestRules.isNameCharacter($0) }
  }

  private static func tags(
    _ field: String, _ fields: RecordFields
  ) throws(RecordError) -> [String] {
    guard fields.members.given(field) != nil else { return [] }
    let tags = try fields.texts(field)
    guard (1...Audience.mostTags).contains(tags.count),
      tags.allSatisfy({ !$0.isEmpty && !$0.utf8.contains { $0 <= 0x20 || $0 == 0x7F } }),
      tags.allSatisfy({ $0.utf8.count <= DeviceDetails.longest })
    else {
      throw fields.fail(
        field,
        "is not 1 to \(Audience.mostTags) words without blanks, of at most \(DeviceDetails.longest) bytes"
      )
    }
    return tags
  }

  /// A condition on a detail of registrations, with the same maximum length.
  private static func detail(
    _ field: String, _ fields: RecordFields
  ) throws(RecordError) -> String? {
    let text = try fields.optionalText(field)
    guard text?.utf8.count ?? 0 <= DeviceDetails.longest else {
      throw fields.fail(field, "is longer than \(DeviceDetails.longest) bytes")
    }
    return text
  }

  /// Epoch seconds, or RFC 3339 with an offset; returned in milliseconds.
  private static func moment(
    _ field: String, _ fields: RecordFields
  ) throws(RecordError) -> Int64? {
    guard let value = fields.members.given(field) else { return nil }
    let time =
      value.int(1_000_000_000...RequestRules.timeLimit - 1).map { $0 * 1_000 }
      ?? value.string.flatMap { Timestamp.moment($0) }
    guard let time, OutsideTime.problem(time) == nil else {
      let early = value.int(0...RequestRules.earliestTime - 1).map { RequestRules.early($0) }
      throw fields.fail(field, "\(early ?? "is not a time"): \(RequestError.momentForms)")
    }
    return time
  }

  private static func pace(_ fields: RecordFields) throws(RecordError) -> PaceRate? {
    try fields.optionalText("pace").map { text throws(RecordError) in
      guard let pace = PaceRate(text) else {
        throw fields.fail("pace", "is not 1 to \(PaceRate.most) and /s, /m, /h or /d, as 200/s")
      }
      return pace
    }
  }

  private static func plan(
    _ fields: RecordFields, at: Int64, hasPace: Bool
  ) throws(RecordError) -> CampaignPlan {
    let local = try localTime(fields, at: at)
    var time = local?.time ?? at
    if local == nil { time = try moment("send_at", fields) ?? at }
    guard time - at <= RequestRules.furthestDays * 86_400_000 else {
      throw fields.fail(
        "send_at", "is more than \(RequestRules.furthestDays) days ahead", .tooFarAhead)
    }
    var plan = CampaignPlan(
      startAt: max(local?.earliest ?? time, at), local: local, limits: try limits(fields),
      hasPace: hasPace)
    if let first = fields.members.given("first") {
      let members = try RecordFields(first, record: "first")
      try refuseUnknown(members.members, ["percent", "wait_seconds"], members)
      guard !plan.limits.isEmpty else {
        throw fields.fail("first", "needs stop: it is judged by that")
      }
      plan.trial = CampaignPlan.Trial(
        share: try percent("percent", members),
        wait: try members.integer("wait_seconds", upTo: 86_400) * 1_000)
    }
    return plan
  }

  private static func limits(_ fields: RecordFields) throws(RecordError) -> CampaignLimits {
    guard let stop = fields.members.given("stop") else { return CampaignLimits() }
    let members = try RecordFields(stop, record: "stop")
    try refuseUnknown(
      members.members,
      ["rejected_percent", "unregistered_percent", "unregistered_times", "slower_than_ms"], members)
    let limits = CampaignLimits(
      rejected: try optionalNumber("rejected_percent", upTo: 100, members).map { $0 / 100 },
      unregistered: try optionalNumber("unregistered_percent", upTo: 100, members).map { $0 / 100 },
      unregisteredTimes: try optionalNumber("unregistered_times", upTo: 1_000, members),
      slowerThan: try optionalNumber("slower_than_ms", upTo: 30 * 86_400_000, members).map {
        Int64($0.rounded(.up))
      })
    guard !limits.isEmpty else { throw fields.fail("stop", "names nothing at which it stops") }
    return limits
  }

  private static func percent(
    _ field: String, _ fields: RecordFields
  ) throws(RecordError) -> Double {
    guard let number = try optionalNumber(field, upTo: 100, fields) else {
      throw fields.fail(field, "is required")
    }
    return number / 100
  }

  /// A number above 0.
  private static func optionalNumber(
    _ field: String, upTo most: Int, _ fields: RecordFields
  ) throws(RecordError) -> Double? {
    guard let value = fields.members.given(field) else { return nil }
    guard let number = value.number(0...Double(most)), number > 0 else {
      throw fields.fail(field, "is not a number above 0 and at most \(most)")
    }
    return number
  }

  private static func progress(_ fields: RecordFields) throws(RecordError) -> CampaignProgress {
    var progress = CampaignProgress()
    guard let value = fields.members.given("progress") else { return progress }
    let members = try RecordFields(value, record: "progress")
    let most = CampaignProgress.most
    progress.revision = try members.integer("revision", upTo: most)
    guard let state = CampaignProgress.State(rawValue: try members.text("state")) else {
      throw members.fail("state", "is not known")
    }
    progress.state = state
    progress.total = try members.optionalInteger("total", upTo: most).map { Int($0) }
    progress.wave = try moment("wave", members)
    progress.cursor = try members.optionalText("cursor") ?? ""
    progress.addressed = Int(try members.integer("addressed", upTo: most))
    progress.hasSetPace = try members.flag("pace_set")
    progress.isPaused = try members.flag("paused")
    progress.note = try members.optionalText("note")
    progress.trialEndedAt = try members.optionalTime("first_ended_at")
    progress.endedAt = try members.optionalTime("ended_at")
    progress.reason = try members.optionalText("reason")
    return progress
  }
}

extension CampaignRecord {
  private static func outcomes(_ fields: RecordFields) throws(RecordError) -> CampaignCounts {
    guard let value = fields.members.given("outcomes") else { return CampaignCounts() }
    let members = try RecordFields(value, record: "outcomes")
    var counts: [(name: String, count: Int)] = []
    for name in members.members.keys {
      counts.append((name, Int(try members.integer(name, upTo: CampaignProgress.most))))
    }
    return CampaignCounts(counts)
  }

  private static func rates(_ fields: RecordFields) throws(RecordError) -> CampaignRates? {
    guard let value = fields.members.given("rates") else { return nil }
    let members = try RecordFields(value, record: "rates")
    let most = Double(CampaignProgress.most)
    return CampaignRates(
      at: try members.time("at"), addressed: try members.number("addressed", upTo: most),
      outcomes: try members.number("outcomes", upTo: most))
  }
}
