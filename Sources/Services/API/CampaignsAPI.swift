// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Contract
import EventLoop
import HTTPServer
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
  /// The most campaigns in an answer.
  static let mostListed = 1_000

  private let api: APIDesk
  private let schedule: KafkaTopic
  private let controlTopic: KafkaTopic
  private let controls: ControlsView
  /// Asks the database; nil without one.
  private let queries: QueryWorker?
  private let reader: RequestReader
  private var open = OpenExchanges<CampaignExchange>()

  init(
    _ api: APIDesk, _ names: TopicNames, _ controls: ControlsView, _ queries: QueryWorker?
  ) throws(KafkaError) {
    self.api = api
    schedule = try api.producer.topic(known: names.schedule)
    controlTopic = try api.producer.topic(known: names.controls)
    self.controls = controls
    self.queries = queries
    reader = RequestReader(api.settings)
  }

  /// Whether nothing waits.
  var isEmpty: Bool { open.isEmpty }

  func turn() {
    for campaign in open.drainLate(now: api.now) {
      answer(campaign, Problem.unavailable("there was no answer in time").response)
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
      return .change(try CampaignArguments.name(name), .cancelled)
    case (.campaign(let name), _): return .read(try CampaignArguments.name(name))
    case (.campaignChange(let name, let change), _):
      let name = try CampaignArguments.name(name)
      return .change(name, change == .pause ? .paused : .resumed)
    case (_, "POST"):
      try Admission.plainJSON(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"))
      return .start
    default: return .list
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
          campaign.body.bytes, by: key, reader, api.parser)
      }
      queries?.ask(open.insert(campaign), .campaigns(named: campaign.name), from: .campaigns)
    } catch {
      answer(campaign, error.problem.response)
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

  // MARK: What the database knows

  /// The database's answer to a question; nil for none.
  func answered(_ number: UInt64, _ content: QueryWorker.Answer.Content?) {
    guard let campaign = open[number] else { return }
    guard !campaign.isGone else { return open.remove(campaign) }
    do throws(Admission.Failure) {
      guard case .campaigns(let known) = content else {
        throw .init(.unavailable("the database does not answer"))
      }
      let key = try current(campaign)
      let own = known.filter { key.maySend(for: $0.audience.app) }
      switch campaign.kind {
      case .list: end(campaign, list(own))
      case .read(let name):
        end(campaign, Self.ok(.object(standing(try Self.first(own, name)))))
      case .start: try start(campaign, number, over: known.first, key)
      case .change(let name, let change):
        try produce(change, of: try Self.first(own, name), campaign, number, key)
      }
    } catch {
      end(campaign, error.problem.response)
    }
  }

  private static func first(
    _ known: [CampaignRecord], _ name: String
  ) throws(Admission.Failure) -> CampaignRecord {
    guard let campaign = known.first else { throw .init(.noCampaign(name)) }
    return campaign
  }

  private func list(_ campaigns: [CampaignRecord]) -> HTTPResponse {
    var answer = JSONObject()
    answer.append(
      "campaigns", .array(campaigns.prefix(Self.mostListed).map { .object(standing($0)) }))
    answer.append("has_more", .bool(campaigns.count > Self.mostListed))
    return Self.ok(.object(answer))
  }

  private func standing(_ campaign: CampaignRecord) -> JSONObject {
    campaign.standing(
      now: WallClock.milliseconds(),
      isPaused: controls.control(of: campaign).isPaused && !campaign.progress.state.isOver)
  }

  // MARK: Changes

  private func start(
    _ exchange: CampaignExchange, _ number: UInt64, over known: CampaignRecord?, _ key: APIKey
  ) throws(Admission.Failure) {
    guard let campaign = exchange.campaign else { return }
    if let known {
      let whose = key.maySend(for: known.audience.app) ? " (\(known.by))" : ""
      throw .init(
        .conflict(
          "a campaign \(known.name) is known\(whose); its name can be used again 30 days after its end"
        ))
    }
    try CampaignArguments.demand(campaign, key)
    try produce(schedule, campaign.key, campaign.value, number, key)
  }

  private func produce(
    _ change: CampaignExchange.Change, of campaign: CampaignRecord, _ exchange: CampaignExchange,
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
    guard !isCancelled, !campaign.progress.state.isOver else {
      let state = isCancelled ? "cancelled" : campaign.progress.state.rawValue
      throw .init(.conflict("campaign \(campaign.name) is over: it is \(state)"))
    }
    var value: [UInt8]?
    if change != .resumed {
      let author = ControlRecord.Author(
        at: WallClock.milliseconds(), by: key.actor, reason: nil)
      value = ControlRecord.value(.init(key: change.rawValue, value: .bool(true)), by: author)
    }
    try produce(controlTopic, campaign.key, value, number, key)
  }

  private func produce(
    _ topic: KafkaTopic, _ recordKey: String, _ value: [UInt8]?, _ number: UInt64, _ key: APIKey
  ) throws(Admission.Failure) {
    // A tombstone has no value that could say who made it.
    let result = api.producer.produce(
      topic, key: Array(recordKey.utf8), value: value,
      headers: value == nil ? [KafkaHeader("by", key.actor)] : [],
      tag: OpenExchanges<CampaignExchange>.tag(number))
    if case .queued = result { return }
    throw .init(.unavailable("Kafka does not take records now"))
  }

  /// Kafka's answer to a change.
  func delivered(_ number: UInt64, isAcknowledged: Bool) {
    guard let campaign = open.take(number) else { return }
    guard isAcknowledged else {
      return answer(campaign, Problem.unavailable("Kafka did not acknowledge it").response)
    }
    api.note(campaign.exchange, campaign.key, requests: 1)
    var change = "started"
    if case .change(_, let other) = campaign.kind { change = other.rawValue }
    api.context.log.info(
      "a campaign was changed over HTTP",
      [
        "campaign": campaign.name ?? "", "change": change, "key": campaign.key.name,
        "client": campaign.exchange.client,
      ])
    answer(campaign, Self.accepted(campaign.warnings))
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
    var answer = JSONObject()
    answer.append("status", .integer(202))
    if !warnings.isEmpty { answer.append("warnings", warnings.json) }
    return HTTPResponse(
      status: 202, contentType: "application/json", body: .bytes(JSONValue.object(answer).text))
  }

  private static func ok(_ value: JSONValue) -> HTTPResponse {
    HTTPResponse(status: 200, contentType: "application/json", body: .bytes(value.text))
  }
}
