// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Contract
import EventLoop
import HTTPServer
import Identity
import JSON
import Kafka
import Records
import Schedule
import ServiceKit

/// `/v1/campaigns`: campaigns are started by a record on `push.schedule`, and paused, resumed and cancelled by one on
/// `push.controls`, as `martlet campaign` does it. How far they are is what the scheduler's database says.
final class CampaignsAPI: APIPart {
  /// The most bytes of a body.
  static let longestBody = 65_536
  private let api: APIDesk
  private let schedule: KafkaTopic
  private let controlTopic: KafkaTopic
  private let controls: ControlsView
  /// Asks the database; nil without one.
  private let queries: QueryWorker?
  private let reader: RequestReader
  private let inHand: StoredInHand
  private var open = OpenExchanges<CampaignExchange>()
  /// So long an answer waits for what the scheduler makes of a change, and between two looks, in milliseconds.
  private static let patience: UInt64 = 2_000
  private static let look: UInt64 = 100

  init(
    _ api: APIDesk, _ names: TopicNames, _ controls: ControlsView, _ queries: QueryWorker?
  ) throws(KafkaError) {
    self.api = api
    schedule = try api.producer.topic(known: names.schedule)
    controlTopic = try api.producer.topic(known: names.controls)
    self.controls = controls
    self.queries = queries
    inHand = StoredInHand(names.schedule, api.context)
    reader = RequestReader(api.settings)
  }

  /// Whether nothing waits.
  var isEmpty: Bool { open.isEmpty }

  func turn() {
    for campaign in open.drainLate(now: api.now) {
      answer(campaign, Problem.unavailable("there was no answer in time").response)
    }
    for (number, campaign) in open.all where api.now >= campaign.askAt {
      campaign.askAt = .max
      queries?.ask(
        number, .named(prefix: campaign.prefix ?? ""), from: .campaigns, of: campaign.key)
    }
  }

  // MARK: Requests

  func begin(
    _ exchange: StreamExchange, _ resource: APIResource, _ key: APIKey
  ) throws(Admission.Failure) {
    try api.demandTurn(key)
    if let name = exchange.repeatedArgument {
      throw .init(.malformed("\(name) is given twice", field: name))
    }
    guard key.campaigns else { throw .init(.noCampaigns) }
    let kind = try kind(exchange, resource)
    guard let queries else {
      throw .init(.unavailable("this process has no database; start it with --database"))
    }
    guard !queries.isFull, open.count(where: { $0.key.name == key.name }) < QueryWorker.share else {
      throw .init(.unavailable("too many questions wait for the database"))
    }
    guard kind.isStart || controls.isCaughtUp else {
      throw .init(.unavailable("what was asked of campaigns is not known yet"))
    }
    if !kind.isQuestion { try api.demandProducer() }
    try api.demandRoom(key)
    api.keys.take(key, 1, now: api.now)
    exchange.owner = key.name
    exchange.attachment = CampaignExchange(exchange, kind, key)
  }

  private func kind(
    _ exchange: StreamExchange, _ resource: APIResource
  ) throws(Admission.Failure) -> CampaignExchange.Kind {
    switch (resource, exchange.method) {
    case (.campaign(let name), "DELETE"):
      return .change(try CampaignArguments.target(name) { exchange.argument($0) }, .cancelled)
    case (.campaign(let name), _):
      return .read(try CampaignArguments.target(name) { exchange.argument($0) })
    case (.campaignChange(let name, let change), _):
      return .change(
        try CampaignArguments.target(name) { exchange.argument($0) },
        change == .pause ? .paused : .resumed)
    case (_, "POST"):
      try Admission.plainJSON(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"))
      return .start
    default:
      let page = try CampaignArguments.page { exchange.argument($0) }
      return .list(after: page.after, limit: page.limit)
    }
  }

  /// A part of a body. What is too long is refused at its end.
  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    guard let campaign = exchange.attachment as? CampaignExchange else { return bytes.count }
    api.counters.add(.bytes, bytes.count)
    let room = Self.longestBody + 1 - campaign.body.count
    campaign.body.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
    exchange.held = campaign.body.count
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let campaign = exchange.attachment as? CampaignExchange else { return }
    do throws(Admission.Failure) {
      campaign.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
      let key = try current(campaign)
      if case .start = campaign.kind {
        guard campaign.body.count <= Self.longestBody else {
          throw .init(.campaignTooLarge(Self.longestBody))
        }
        (campaign.campaign, campaign.warnings) = try CampaignArguments.campaign(
          campaign.body.bytes, by: key, api.settings.audienceTopics, reader, api.parser)
      }
      let question = Self.question(campaign, key)
      // Its answer counts while it is made, too.
      campaign.exchange.held = campaign.body.count + question.answerBytes
      queries?.ask(open.insert(campaign), question, from: .campaigns, of: key)
    } catch {
      answer(campaign, error.problem.response)
    }
  }

  private static func question(
    _ campaign: CampaignExchange, _ key: APIKey
  ) -> QueryWorker.Question {
    switch campaign.kind {
    case .list(let after, let limit):
      let apps = key.apps.contains("*") ? nil : key.apps
      return .campaigns(CampaignPage(apps: apps, after: after, limit: limit))
    case .read, .change: return .named(prefix: campaign.prefix ?? "")
    case .start:
      return .start(prefix: campaign.prefix ?? "", app: campaign.campaign?.audience.app ?? "")
    }
  }

  /// The rights that its key has now: a body, or the database, may have taken a while.
  private func current(_ campaign: CampaignExchange) throws(Admission.Failure) -> APIKey {
    guard let key = api.keys.current(campaign.key) else {
      throw .init(.unauthorized("this API key is not valid any more"))
    }
    guard key.campaigns else { throw .init(.noCampaigns) }
    return key
  }

  /// Ends the campaigns and the requests that wait for their time of holders of keys that are no more.
  ///
  /// - Returns: those for which Kafka takes no record now.
  func end(_ holders: [ExactText]) -> [ExactText] {
    guard controls.exists else { return [] }
    return holders.filter { name in
      let author = ControlRecord.Author(
        at: WallClock.milliseconds(), by: "martlet-api", reason: nil)
      let value = ControlRecord.value(.init(key: "ended", value: .bool(true)), by: author)
      let result = api.producer.produce(
        controlTopic, key: Array("\(ControlRecord.holderPrefix)key \(name)".utf8), value: value,
        tag: OpenExchanges<CampaignExchange>.tag(0))
      guard case .queued = result else { return true }
      api.context.log.warning(
        "an API key was removed: its campaigns and its requests that wait for their time end",
        ["key": name.text])
      return false
    }
  }

  // MARK: What the database knows

  /// The database's answer to a question; nil for none.
  func answered(_ number: UInt64, _ content: QueryWorker.Answer.Content?) {
    guard let campaign = open[number] else { return }
    guard !campaign.isGone else { return open.remove(campaign) }
    if case .response(let response) = content, campaign.changed == nil {
      return end(campaign, response)
    }
    do throws(Admission.Failure) {
      if let changed = campaign.changed {
        guard case .campaigns(let found, _) = content else { return end(campaign, Self.accepted()) }
        return confirm(campaign, changed, found.first)
      }
      let key = try current(campaign)
      switch (campaign.kind, content) {
      case (.list, .campaigns(let found, let more)):
        end(
          campaign, list(found.filter { key.maySend(for: $0.campaign.audience.app) }, more, found))
      case (.read(let target), .campaigns(let found, _)):
        let known = try Self.one(found, target, key)
        guard let standing = standing(known) else { throw .init(.noCampaign(target.name)) }
        end(campaign, Self.ok(.object(standing)))
      case (.change(let target, let change), .campaigns(let found, _)):
        try produce(
          change, of: try Self.one(found, target, key).campaign, campaign, number, key)
      case (.start, .start(let known, let open)):
        try start(campaign, number, over: known?.campaign, open: open, key)
      default: throw .init(.unavailable("the database does not answer"))
      }
    } catch {
      end(campaign, error.problem.response)
    }
  }

  /// The one campaign that is meant, of those of which the key may know.
  private static func one(
    _ known: [StoredCampaign], _ target: CampaignExchange.Target, _ key: APIKey
  ) throws(Admission.Failure) -> StoredCampaign {
    let meant = known.filter {
      target.isOne($0.campaign.key) && key.maySend(for: $0.campaign.key.app)
    }
    guard let campaign = meant.first else { throw .init(.noCampaign(target.name)) }
    guard meant.count == 1 else {
      throw .init(
        .malformed(
          "app: several apps or environments have a campaign \(target.name); name one with ?app= and &environment=",
          field: "app"))
    }
    return campaign
  }

  /// - Parameter found: all of the page; the key may have lost apps meanwhile.
  private func list(
    _ campaigns: [StoredCampaign], _ hasMore: Bool, _ found: [StoredCampaign]
  ) -> HTTPResponse {
    var answer = JSONObject()
    answer.append(
      "campaigns", .array(campaigns.compactMap { standing($0).map { .object($0) } }))
    answer.append("has_more", .bool(hasMore))
    if let last = found.last?.key {
      answer.append("after", .string(String(last.dropFirst(CampaignKey.prefix.utf8.count))))
    }
    return Self.ok(.object(answer))
  }

  /// - Returns: nil for one with which this process has crashed.
  private func standing(_ stored: StoredCampaign) -> JSONObject? {
    let campaign = stored.campaign
    return inHand.work(on: stored.identity, key: stored.key) {
      campaign.standing(
        now: WallClock.milliseconds(),
        isPaused: controls.control(of: campaign).isPaused
          && campaign.isUnderWay(now: WallClock.milliseconds()))
    }
  }

  // MARK: Changes

  private func start(
    _ exchange: CampaignExchange, _ number: UInt64, over known: CampaignRecord?, open: Int,
    _ key: APIKey
  ) throws(Admission.Failure) {
    guard let campaign = exchange.campaign else { return }
    try CampaignArguments.demand(campaign, key)
    if let known {
      throw .init(
        .conflict(
          "\(known.key.app) has a campaign \(known.name) (\(known.by)); its name can be used again 30 days after its end"
        ))
    }
    guard open < CampaignRecord.mostOpen else {
      throw .init(
        .conflict(
          "\(open) campaigns of \(campaign.audience.app) are not over, the most that may be: cancel some, or wait"
        ))
    }
    let group = PaceSubject.group(
      campaign.key.app, campaign.key.environment, campaign.name)
    if campaign.pace != nil, let problem = controls.obstacle(to: group) { throw .init(problem) }
    try produce(schedule, campaign.key, campaign.value, number, key)
  }

  /// Answers what is true after a change, when the scheduler has noted it, or after a while as it is.
  private func confirm(
    _ exchange: CampaignExchange, _ changed: (campaign: CampaignKey, until: UInt64),
    _ known: StoredCampaign?
  ) {
    guard case .change(_, let change) = exchange.kind, let known else {
      return end(exchange, Self.accepted())
    }
    let isNoted = change.isNoted(in: known.campaign.progress)
    guard isNoted || api.now >= changed.until else {
      exchange.askAt = api.now + Self.look
      return
    }
    var object = JSONObject()
    object.append("status", .integer(202))
    object.append("confirmed", .bool(isNoted))
    object.members += standing(known)?.members ?? []
    end(exchange, Self.answer(.object(object), status: 202))
  }

  private func produce(
    _ change: CampaignChange, of campaign: CampaignRecord, _ exchange: CampaignExchange,
    _ number: UInt64, _ key: APIKey
  ) throws(Admission.Failure) {
    guard controls.exists else {
      throw .init(
        .unavailable("this cluster has no topic of controls; martlet topics create creates it"))
    }
    let isCancelled =
      campaign.progress.state == .cancelled || controls.control(of: campaign).cancelledBy != nil
    if isCancelled, change == .cancelled {
      return end(exchange, Self.accepted())
    }
    guard !isCancelled, campaign.isUnderWay(now: WallClock.milliseconds()) else {
      let state = isCancelled ? "cancelled" : campaign.progress.state.rawValue
      throw .init(.conflict("campaign \(campaign.name) is over: it is \(state)"))
    }
    var value: [UInt8]?
    if change != .resumed {
      let author = ControlRecord.Author(
        at: WallClock.milliseconds(), by: key.actor, reason: nil)
      value = ControlRecord.value(.init(key: change.rawValue, value: .bool(true)), by: author)
    }
    exchange.changed = (campaign.key, .max)
    try produce(controlTopic, campaign.key, value, number, key)
  }

  private func produce(
    _ topic: KafkaTopic, _ recordKey: CampaignKey, _ value: [UInt8]?, _ number: UInt64,
    _ key: APIKey
  ) throws(Admission.Failure) {
    // A tombstone has no value that could say who made it.
    let result = api.producer.produce(
      topic, key: Array("\(recordKey)".utf8), value: value,
      headers: value == nil ? [KafkaHeader("by", key.actor)] : [],
      tag: OpenExchanges<CampaignExchange>.tag(number))
    if case .queued = result { return }
    throw .init(.unavailable("Kafka does not take records now"))
  }

  /// Kafka's answer to a change.
  func delivered(_ number: UInt64, isAcknowledged: Bool) {
    guard let campaign = open[number] else { return }
    guard isAcknowledged else {
      open.remove(campaign)
      return answer(campaign, Problem.unavailable("Kafka did not acknowledge it").response)
    }
    api.note(campaign.exchange, campaign.key, requests: 1)
    var change = "started"
    if case .change(_, let other) = campaign.kind { change = other.rawValue }
    api.context.log.info(
      "a campaign was changed over HTTP",
      [
        "campaign": campaign.prefix ?? "", "change": change, "key": campaign.key.name.text,
        "client": campaign.exchange.client,
      ])
    guard let changed = campaign.changed, !campaign.isGone else {
      return end(campaign, Self.accepted(campaign.warnings))
    }
    campaign.changed = (changed.campaign, api.now + Self.patience)
    campaign.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds) + Self.patience
    campaign.askAt = api.now
  }

  // MARK: Answers

  private func end(_ campaign: CampaignExchange, _ response: HTTPResponse) {
    open.remove(campaign)
    answer(campaign, response)
  }

  private func answer(_ campaign: CampaignExchange, _ response: HTTPResponse) {
    api.answer(campaign.exchange, campaign, response)
  }

  func gone(_ exchange: StreamExchange) {
    guard let campaign = exchange.attachment as? CampaignExchange else { return }
    campaign.isGone = true
    exchange.attachment = nil
    api.counters.add(.httpAborted)
    // What was handed to Kafka is told all the same.
  }

  private static func accepted(_ warnings: PayloadWarnings = PayloadWarnings()) -> HTTPResponse {
    var object = JSONObject()
    object.append("status", .integer(202))
    if !warnings.isEmpty { object.append("warnings", warnings.json) }
    return answer(.object(object), status: 202)
  }

  private static func ok(_ value: JSONValue) -> HTTPResponse { answer(value, status: 200) }

  private static func answer(_ value: JSONValue, status: Int) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", body: .bytes(value.text))
  }
}
