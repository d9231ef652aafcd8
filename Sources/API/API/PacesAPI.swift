// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Kafka
import Records
import ServiceKit

/// `/v1/paces`: the paces of apps, lanes, groups and devices. A change is a record on `push.controls`, like those of
/// `martlet pace`; queries are answered from the same topic.
enum PacesAPI {
  static let routes =
    [APIRoute("GET", "/v1/paces", right: .paces, list)]
    + PaceSubject.Kind.allCases.flatMap { kind in
      // A group may contain a slash.
      let path = "/v1/paces/\(kind.rawValue)/{name...}"
      // Which of them a kind has is checked with the subject.
      let arguments = ["app", "environment", "push_type"]
      return [
        APIRoute("GET", path, right: .paces, arguments: arguments) { (request) throws(Problem) in
          try read(kind, request)
        },
        APIRoute("PUT", path, .kafka, right: .paces, body: 1_024, arguments: arguments) {
          (request) throws(Problem) in
          try set(kind, request)
        },
        APIRoute("DELETE", path, .kafka, right: .paces, arguments: arguments) {
          (request) throws(Problem) in
          try clear(kind, request)
        },
      ]
    }

  static let longestReason = 256

  private static func list(_ request: APIRequest) throws(Problem) -> APIAction {
    try demandKnown(request)
    guard request.isComplete else { return .read }
    let paces = request.api.controls.paces.filter { isOf($0.key, request.key) }
      .sorted { $0.key.description < $1.key.description }
    return .answer(.ok(["paces": .array(paces.map { .object(object($0.key, $0.value)) })]))
  }

  private static func read(
    _ kind: PaceSubject.Kind, _ request: APIRequest
  ) throws(Problem) -> APIAction {
    let subject = try subject(kind, request)
    try demandKnown(request)
    guard request.isComplete else { return .read }
    guard let entry = request.api.controls.paces[subject] else {
      throw .notFound("\(subject) has no pace")
    }
    return .answer(.ok(.object(object(subject, entry))))
  }

  private static func set(
    _ kind: PaceSubject.Kind, _ request: APIRequest
  ) throws(Problem) -> APIAction {
    let subject = try subject(kind, request)
    guard request.isComplete else { return .read }
    let (rate, reason) = try change(request, of: subject)
    if let problem = request.api.controls.obstacle(to: subject) { throw problem }
    let author = ControlRecord.Author(
      at: WallClock.milliseconds(), by: request.key.actor, reason: reason)
    return produce(subject, ControlRecord.value(rate, by: author), "\(rate)", request)
  }

  private static func clear(
    _ kind: PaceSubject.Kind, _ request: APIRequest
  ) throws(Problem) -> APIAction {
    produce(try subject(kind, request), nil, "none", request)
  }

  private static func produce(
    _ subject: PaceSubject, _ value: [UInt8]?, _ rate: String, _ request: APIRequest
  ) -> APIAction {
    // A tombstone has no value that could name its author.
    let record = APIRecord(
      topic: request.api.topics.controls, key: Array(subject.key.utf8), value: value,
      headers: value == nil ? [KafkaHeader("by", request.key.actor)] : [])
    return .produce([record]) { request in
      request.api.context.log(
        APILog.paceChanged,
        [
          "of": "\(subject)", "rate": rate, "key": request.key.name.text,
          "client": request.exchange.client,
        ])
      return .answer(.accepted)
    }
  }

  private static func demandTopic(_ request: APIRequest) throws(Problem) {
    guard request.api.controls.topic.exists else {
      throw .unavailable(ControlsView.missing)
    }
  }

  private static func demandKnown(_ request: APIRequest) throws(Problem) {
    try demandTopic(request)
    guard request.api.controls.topic.isCaughtUp else {
      throw .unavailable("which paces are set is not known yet")
    }
  }

  private static func isOf(_ subject: PaceSubject, _ key: APIKey) -> Bool {
    // No app is called `*`.
    key.maySend(for: subject.app ?? "*")
  }

  // MARK: Arguments

  /// The subject in the path and the query, if the key may see and change its pace. A group belongs to the key's app,
  /// if it has a single one and the query names none.
  private static func subject(
    _ kind: PaceSubject.Kind, _ request: APIRequest
  ) throws(Problem) -> PaceSubject {
    let (name, key) = (request.values[0], request.key)
    let environment = try request.environment()
    guard environment == nil || kind.isOfApp else {
      throw .field("environment", "a \(kind.rawValue) has none")
    }
    var type = PushType.background
    if let text = request.argument("push_type") {
      guard kind == .device else { throw .field("push_type", "only a device's pace has one") }
      guard let known = PushType(text.utf8.span) else {
        throw .field("push_type", "\(text) is not a push type")
      }
      type = known
    }
    var app = request.argument("app")
    guard app == nil || kind == .group else {
      throw .field("app", "only a group has one beside it")
    }
    if kind == .group, app == nil {
      guard key.apps.count == 1, let only = key.apps.first, only != "*" else {
        throw .field("app", "is required: a group is of an app")
      }
      app = only.text
    }
    guard kind != .lane || request.api.settings.lanes.find(name) != nil else {
      throw .field("name", "\(name) is none of --lanes")
    }
    let subject: PaceSubject
    do throws(PaceSubject.Problem) {
      subject = try PaceSubject(kind, name, of: app, environment ?? .production, type)
    } catch {
      throw .field("name", "\(error)")
    }
    guard isOf(subject, key) else {
      throw subject.app.map { .forbidden(app: $0) }
        ?? .forbidden("lanes are of all apps: this key may not send for all")
    }
    try demandTopic(request)
    return subject
  }

  private static func change(
    _ request: APIRequest, of subject: PaceSubject
  ) throws(Problem) -> (rate: PaceRate, reason: String?) {
    let object = try Arguments.object(request, ["rate", "reason"], of: "a pace")
    guard let rate = object["rate"]?.string.flatMap({ PaceRate($0) }) else {
      throw .field("rate", "is no rate: a number from 1 to \(PaceRate.most), and /s, /m, /h or /d")
    }
    do throws(PaceSubject.Problem) { try subject.check(rate) } catch {
      throw .field("rate", "\(error)")
    }
    guard let given = object["reason"], !given.isNull else { return (rate, nil) }
    guard let reason = given.string, RequestRules.isText(reason.utf8.span, most: longestReason)
    else {
      throw .field("reason", "is no text of 1 to \(longestReason) bytes without control characters")
    }
    return (rate, reason)
  }

  // MARK: Answers

  private static func object(_ subject: PaceSubject, _ entry: ControlsView.Pace) -> JSONObject {
    var object = JSONObject()
    object.append("kind", .string(subject.kind.rawValue))
    object.append("name", .string(subject.name))
    switch subject {
    case .device(_, let environment, let type):
      object.append("environment", .string(environment.description))
      object.append("push_type", .string(type.description))
    case .app(_, let environment): object.append("environment", .string(environment.description))
    case .group(let app, let environment, _):
      object.append("app", .string(app))
      object.append("environment", .string(environment.description))
    case .lane: break
    }
    object.append("rate", .string(entry.rate.description))
    if let at = entry.author.at { object.append("at", .integer(at)) }
    if let by = entry.author.by { object.append("by", .string(by)) }
    if let reason = entry.author.reason { object.append("reason", .string(reason)) }
    return object
  }
}
