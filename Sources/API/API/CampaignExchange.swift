// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import Contract
import EventLoop
import HTTPServer
import JSON
import Records
import Schedule

/// A request about campaigns on its way: first a question to the database, then, for a change, a record that Kafka is to
/// acknowledge.
final class CampaignExchange: WaitingExchange {
  static let mark: UInt = 1 << 60

  /// The campaign that a path and a query name. Where they name no app or environment, one of each name has to be known.
  struct Target {
    let name: String
    var app: String?
    var environment: Environment?

    /// The beginning of the keys that are meant.
    var prefix: String {
      guard let app, let environment,
        let key = CampaignKey(name: name, app: app, environment: environment)
      else { return CampaignKey.prefix(ofName: name) }
      return "\(key)"
    }

    func isOne(_ campaign: CampaignKey) -> Bool {
      campaign.isOne(name, of: app, environment)
    }
  }

  enum Kind {
    /// Its apps are those of the key, at the time of the question.
    case list(after: String, limit: Int)
    case read(Target)
    /// Its body is the campaign.
    case start
    case change(Target, CampaignChange)

    var isStart: Bool { if case .start = self { true } else { false } }

    var isQuestion: Bool {
      switch self {
      case .list, .read: true
      case .start, .change: false
      }
    }
  }

  let exchange: StreamExchange
  let kind: Kind
  /// As it was when the request began.
  let key: APIKey
  var body = ByteBuffer(capacity: 512)
  /// The campaign to be started.
  var campaign: CampaignRecord?
  /// Kafka has the change to this campaign: what the scheduler makes of it is awaited until then (monotonic milliseconds),
  /// and asked for at `askAt`.
  var changed: (campaign: CampaignKey, until: UInt64)?
  var askAt = UInt64.max
  /// What devices will ignore of its payload.
  var warnings = PayloadWarnings()
  /// The client has gone.
  var isGone = false
  /// When it is given up (monotonic milliseconds).
  var deadline = UInt64.max

  init(_ exchange: StreamExchange, _ kind: Kind, _ key: APIKey) {
    self.exchange = exchange
    self.kind = kind
    self.key = key
  }

  /// The beginning of the keys of the campaigns that are meant; nil for all.
  var prefix: String? {
    if let changed { return "\(changed.campaign)" }
    return switch kind {
    case .list: nil
    case .read(let target), .change(let target, _): target.prefix
    case .start: campaign.map { "\($0.key)" }
    }
  }
}

/// Reads what requests about campaigns name.
enum CampaignArguments {
  typealias Failure = Admission.Failure

  /// The campaign that a path and a query name.
  ///
  /// - Parameter query: the value of a query's argument.
  static func target(
    _ name: String, _ query: (String) -> String?
  ) throws(Failure) -> CampaignExchange.Target {
    guard CampaignKey.isName(name) else {
      throw Failure(.malformed("name: \(CampaignKey.nameRule)", field: "name"))
    }
    let app = query("app")
    return CampaignExchange.Target(
      name: name, app: app == nil ? nil : try DeviceArguments.app(app),
      environment: try DeviceArguments.environment(query("environment")))
  }

  /// A page of the list.
  ///
  /// - Parameter query: the value of a query's argument.
  static func page(
    _ query: (String) -> String?
  ) throws(Failure) -> (after: String, limit: Int) {
    func refuse(_ problem: String, _ field: String) -> Failure {
      Failure(.malformed("\(field): \(problem)", field: field))
    }
    var limit = CampaignPage.usualLimit
    if let text = query("limit") {
      guard let number = Int(text), (1...CampaignPage.mostListed).contains(number) else {
        throw refuse("must be a number from 1 to \(CampaignPage.mostListed)", "limit")
      }
      limit = number
    }
    guard let after = query("after") else { return ("", limit) }
    guard (1...500).contains(after.utf8.count) else {
      throw refuse("is not one of an earlier answer", "after")
    }
    return (CampaignKey.prefix + after, limit)
  }

  /// The campaign in a body, checked as `martlet campaign start` does it.
  static func campaign(
    _ body: UnsafeRawBufferPointer, by key: APIKey, _ topics: AudienceTopics,
    _ reader: RequestReader, _ parser: JSONParser
  ) throws(Failure) -> (CampaignRecord, PayloadWarnings) {
    let campaign: CampaignRecord
    do throws(RecordError) {
      campaign = try CampaignRecord(
        json: body, at: WallClock.milliseconds(), by: key.actor, parser: parser)
      try campaign.check(topics)
      try campaign.checkZone()
    } catch {
      throw refusal(error)
    }
    try demand(campaign, key)
    do throws(RequestError) { return (campaign, try campaign.checkRequest(reader)) } catch {
      let field = error.field.map { "request.\($0.name)" } ?? "request"
      throw Failure(.malformed("request: \(error)", field: field))
    }
  }

  private static func refusal(_ error: RecordError) -> Failure {
    guard let field = error.field else {
      return Failure(.malformed(error.description))
    }
    let path = error.record == "campaign" ? field : "\(error.record).\(field)"
    let text = "\(path): \(error.problem)"
    switch error.cause {
    case .content: return Failure(.malformed(text, field: path))
    case .tooFarAhead: return Failure(.tooFarAhead(text, field: path))
    // Not the document is wrong.
    case .isOver: return Failure(.conflict(text))
    }
  }

  /// The key may send what the campaign sends.
  static func demand(_ campaign: CampaignRecord, _ key: APIKey) throws(Failure) {
    let app = campaign.audience.app
    guard key.maySend(for: app) else { throw Failure(.forbidden(app: app)) }
    // A topic of its own reaches another app's devices.
    guard let topic = campaign.request.given(RequestField.topic.name)?.string, topic != app,
      campaign.audience.type == PushType.mdm.description
    else { return }
    guard key.maySend(for: topic) else { throw Failure(.forbidden(topic: topic)) }
  }
}
