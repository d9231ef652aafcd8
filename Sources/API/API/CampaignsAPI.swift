// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Kafka
import Records
import ServiceKit
import Store

/// `/v1/campaigns`: campaigns are started by a record on `push.schedule`, and paused, resumed and cancelled by one on
/// `push.controls`, as `martlet campaign` does. Their progress comes from the scheduler's database.
enum CampaignsAPI {
  /// The most bytes of a body.
  static let longestBody = 65_536
  /// How long an answer waits for the scheduler to apply a change, and the interval of checks, in milliseconds.
  private static let patience: UInt64 = 2_000
  private static let look: UInt64 = 100

  private static let changes: APIRoute.Needs = [.database, .kafka]
  private static let ofOne = ["app", "environment"]

  static let routes: [APIRoute] = {
    var start = APIRoute(
      "POST", "/v1/campaigns", changes, right: .campaigns, body: longestBody, Self.start)
    start.tooLarge = { .tooLarge("a campaign has at most \($0) bytes") }
    return [
      APIRoute(
        "GET", "/v1/campaigns", .database, right: .campaigns, arguments: ["limit", "after"], list),
      start,
      APIRoute(
        "GET", "/v1/campaigns/{name}", .database, right: .campaigns, arguments: ofOne, read),
      change("DELETE", "/v1/campaigns/{name}", .cancelled),
      change("POST", "/v1/campaigns/{name}/pause", .paused),
      change("POST", "/v1/campaigns/{name}/resume", .resumed),
    ]
  }()

  private static func change(
    _ method: String, _ path: String, _ change: CampaignChange
  ) -> APIRoute {
    APIRoute(method, path, changes, right: .campaigns, arguments: ofOne) {
      (request) throws(Problem) in
      let target = try Target(request)
      try demandControls(request)
      return ask(target.prefix) { (known, request) throws(Problem) in
        try make(change, of: try target.one(of: known, request.key).campaign, request)
      }
    }
  }

  // MARK: Questions

  private static func list(_ request: APIRequest) throws(Problem) -> APIAction {
    let after = request.argument("after")
    guard after.map({ (1...500).contains($0.utf8.count) }) ?? true else {
      throw .field("after", "is not one of an earlier answer")
    }
    let page = CampaignPage(
      apps: request.key.apps.limited, after: after.map { CampaignKey.prefix + $0 } ?? "",
      limit: try request.limit(CampaignPage.mostListed, usual: CampaignPage.usualLimit))
    try demandControls(request)
    return .ask(
      Query(.schedule, answerBytes: 1 << 20) { (databases) throws(StoreError) in
        try databases.scan(page) { found, _ in .next { list(found, $0) } }
      })
  }

  private static func list(_ found: CampaignScan, _ request: APIRequest) -> APIAction {
    // The key may have lost apps meanwhile.
    let campaigns = found.campaigns.filter { request.key.maySend(for: $0.campaign.audience.app) }
    var answer = JSONObject()
    answer.append(
      "campaigns", .array(campaigns.compactMap { standing($0, request).map { .object($0) } }))
    answer.append("has_more", .bool(found.hasMore))
    if let last = found.campaigns.last?.key {
      answer.append("after", .string(String(last.dropFirst(CampaignKey.prefix.utf8.count))))
    }
    return .answer(.ok(.object(answer)))
  }

  private static func read(_ request: APIRequest) throws(Problem) -> APIAction {
    let target = try Target(request)
    try demandControls(request)
    return ask(target.prefix) { (known, request) throws(Problem) in
      guard let standing = standing(try target.one(of: known, request.key), request) else {
        throw target.unknown
      }
      return .answer(.ok(.object(standing)))
    }
  }

  private static func demandControls(_ request: APIRequest) throws(Problem) {
    guard request.api.controls.topic.isCaughtUp else {
      throw .unavailable("what was asked of campaigns is not known yet")
    }
  }

  private static func ask(
    _ prefix: String,
    then: @escaping @Sendable ([StoredCampaign], APIRequest) throws(Problem) -> APIAction
  ) -> APIAction {
    .ask(
      Query(.schedule, answerBytes: 16 << 10) { (databases) throws(StoreError) in
        let found = try databases.campaigns(withPrefix: prefix)
        return .next { (request) throws(Problem) in try then(found, request) }
      })
  }

  /// - Returns: nil for a campaign that has crashed this process.
  private static func standing(_ stored: StoredCampaign, _ request: APIRequest) -> JSONObject? {
    let campaign = stored.campaign
    return request.api.stored.work(on: stored.identity, key: stored.key) {
      campaign.standing(
        now: WallClock.milliseconds(),
        isPaused: request.api.controls.control(of: campaign).isPaused
          && campaign.isUnderWay(now: WallClock.milliseconds()))
    }
  }

  // MARK: Changes

  private static func start(_ request: APIRequest) throws(Problem) -> APIAction {
    guard request.isComplete else { return .read }
    let (campaign, warnings) = try campaign(request)
    let key = "\(campaign.key)"
    let page = CampaignPage(
      apps: [campaign.audience.app.exact], after: "", limit: CampaignRecord.mostOpen,
      isOpenOnly: true)
    return .ask(
      Query(.schedule, answerBytes: 16 << 10) { (databases) throws(StoreError) in
        try databases.scan(page) { (open, databases) throws(StoreError) in
          let known = try databases.campaigns(withPrefix: key).first?.campaign
          return .next { (request) throws(Problem) in
            try start(campaign, warnings, over: known, open: open.count, request)
          }
        }
      })
  }

  private static func start(
    _ campaign: CampaignRecord, _ warnings: PayloadWarnings, over known: CampaignRecord?, open: Int,
    _ request: APIRequest
  ) throws(Problem) -> APIAction {
    try demandSend(campaign, request)
    if let known {
      throw .conflict(
        "\(known.key.app) has a campaign \(known.name) (\(known.by)); its name can be used again 30 days after its end"
      )
    }
    guard open < CampaignRecord.mostOpen else {
      throw .conflict(
        "\(open) campaigns of \(campaign.audience.app) are not over, the most that may be: cancel some, or wait"
      )
    }
    let group = PaceSubject.group(campaign.key.app, campaign.key.environment, campaign.name)
    if campaign.pace != nil, let problem = request.api.controls.obstacle(to: group) {
      throw problem
    }
    let topic = request.api.topics.schedule
    return produce(campaign.key, campaign.value, to: topic, "started", request) { _ in
      guard !warnings.isEmpty else { return .answer(.accepted) }
      return .answer(.ok(["status": 202, "warnings": warnings.json], status: 202))
    }
  }

  private static func make(
    _ change: CampaignChange, of campaign: CampaignRecord, _ request: APIRequest
  ) throws(Problem) -> APIAction {
    let controls = request.api.controls
    guard controls.topic.exists else {
      throw .unavailable(ControlsView.missing)
    }
    let isCancelled =
      campaign.progress.state == .cancelled || controls.control(of: campaign).cancelledBy != nil
    if isCancelled, change == .cancelled { return .answer(.accepted) }
    guard !isCancelled, campaign.isUnderWay(now: WallClock.milliseconds()) else {
      let state = isCancelled ? "cancelled" : campaign.progress.state.rawValue
      throw .conflict("campaign \(campaign.name) is over: it is \(state)")
    }
    var value: [UInt8]?
    if change != .resumed {
      let author = campaign.author(
        now: WallClock.milliseconds(), by: request.key.actor, reason: nil)
      value = ControlRecord.value(.init(key: change.rawValue, value: .bool(true)), by: author)
    }
    let key = campaign.key
    let topic = request.api.topics.controls
    return produce(key, value, to: topic, change.rawValue, request) { request in
      confirm(change, of: key, until: request.api.now + patience)
    }
  }

  /// Answers with the status after a change, once the scheduler has applied it, or the current one after a timeout.
  private static func confirm(
    _ change: CampaignChange, of key: CampaignKey, until end: UInt64
  ) -> APIAction {
    ask("\(key)") { known, request in
      guard let known = known.first else { return .answer(.accepted) }
      let isNoted = change.isNoted(in: known.campaign.progress)
      guard isNoted || request.api.now >= end else {
        return .wait(until: request.api.now + look) { _ in confirm(change, of: key, until: end) }
      }
      var object = JSONObject()
      object.append("status", .integer(202))
      object.append("confirmed", .bool(isNoted))
      object.members += standing(known, request)?.members ?? []
      return .answer(.ok(.object(object), status: 202))
    }
  }

  private static func produce(
    _ key: CampaignKey, _ value: [UInt8]?, to topic: KafkaTopic, _ change: String,
    _ request: APIRequest, then: @escaping APIRoute.Handler
  ) -> APIAction {
    // A tombstone has no value that could name its author.
    let record = APIRecord(
      topic: topic, key: Array("\(key)".utf8), value: value,
      headers: value == nil ? [KafkaHeader("by", request.key.actor)] : [])
    return .produce([record]) { (request) throws(Problem) in
      request.api.context.log(
        APILog.campaignChanged,
        [
          "campaign": "\(key)", "change": change, "key": request.key.name.text,
          "client": request.exchange.client,
        ])
      return try then(request)
    }
  }

  /// Ends the campaigns and waiting requests of the holders of removed keys, as soon as Kafka has the records.
  static func end(_ holders: [ExactText], _ api: APIContext) {
    guard api.controls.topic.exists else { return }
    for name in holders {
      let author = ControlRecord.Author(
        at: WallClock.milliseconds(), by: "martlet-api", reason: nil)
      let value = ControlRecord.value(.init(key: "ended", value: .bool(true)), by: author)
      let number = api.keys.willEnd(name)
      let result = api.producer.produce(
        api.topics.controls, key: Array("\(ControlRecord.holderPrefix)key \(name)".utf8),
        value: value, tag: APIFrame.endMark | number)
      if case .queued = result { continue }
      ended(number, isAcknowledged: false, api)
    }
  }

  /// Takes Kafka's answer to a record that ends the requests of a holder.
  static func ended(_ number: UInt, isAcknowledged: Bool, _ api: APIContext) {
    guard let name = api.keys.ended(number, isAcknowledged: isAcknowledged) else { return }
    api.context.log(APILog.keyRemoved, ["key": name.text])
  }

  // MARK: Arguments

  /// The campaign named by a path and a query. Without an app or environment, the name has to be unique.
  private struct Target {
    let name: String
    let app: String?
    let environment: Environment?

    init(_ request: APIRequest) throws(Problem) {
      name = request.values[0]
      guard CampaignKey.isName(name) else { throw .field("name", CampaignKey.nameRule) }
      app = try request.app()
      environment = try request.environment()
    }

    /// The common prefix of the possible keys.
    var prefix: String {
      guard let app, let environment,
        let key = CampaignKey(name: name, app: app, environment: environment)
      else { return CampaignKey.prefix(ofName: name) }
      return "\(key)"
    }

    var unknown: Problem {
      .notFound("no campaign \(name) is known; one that was started appears a moment later")
    }

    /// The single matching campaign among those that the key may see.
    func one(of known: [StoredCampaign], _ key: APIKey) throws(Problem) -> StoredCampaign {
      let meant = known.map(\.campaign.key).filter {
        $0.isOne(name, of: app, environment) && key.maySend(for: $0.app)
      }
      guard let campaign = known.first(where: { $0.campaign.key == meant.first }) else {
        throw unknown
      }
      guard meant.count == 1 else {
        throw .field(
          "app",
          "several apps or environments have a campaign \(name); name one with ?app= and &environment="
        )
      }
      return campaign
    }
  }

  /// The campaign in a body, checked as `martlet campaign start` does.
  private static func campaign(
    _ request: APIRequest
  ) throws(Problem) -> (CampaignRecord, PayloadWarnings) {
    let api = request.api
    let campaign: CampaignRecord
    do throws(RecordError) {
      campaign = try CampaignRecord(
        json: request.body.bytes, at: WallClock.milliseconds(), by: request.key.actor,
        parser: api.parser)
      try campaign.check(api.settings.audienceTopics)
      try campaign.checkZone()
    } catch {
      throw refusal(error)
    }
    try demandSend(campaign, request)
    do throws(RequestError) { return (campaign, try campaign.checkRequest(api.requests)) } catch {
      let field = error.field.map { "request.\($0.name)" } ?? "request"
      throw .malformed("request: \(error)", field: field)
    }
  }

  private static func refusal(_ error: RecordError) -> Problem {
    guard let field = error.field else { return .malformed(error.description) }
    let path = error.record == "campaign" ? field : "\(error.record).\(field)"
    let text = "\(path): \(error.problem)"
    switch error.cause {
    case .content: return .malformed(text, field: path)
    case .tooFarAhead: return .tooFarAhead(text, field: path)
    // The document itself is valid.
    case .isOver: return .conflict(text)
    }
  }

  private static func demandSend(
    _ campaign: CampaignRecord, _ request: APIRequest
  ) throws(Problem) {
    let app = campaign.audience.app
    try request.demandSend(for: app)
    // A custom topic reaches another app's devices.
    guard let topic = campaign.request.given(RequestField.topic.name)?.string, topic != app,
      campaign.audience.type == PushType.mdm.description
    else { return }
    guard request.key.maySend(for: topic) else { throw .forbidden(topic: topic) }
  }
}
