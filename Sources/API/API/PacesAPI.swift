// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import Contract
import EventLoop
import HTTPServer
import Identity
import JSON
import Kafka
import Records
import ServiceKit

/// `/v1/paces`: the paces of apps, lanes, groups and devices. A change is a record on `push.controls`, as `martlet pace`
/// writes it; questions are answered from the same topic.
final class PacesAPI: APIPart {
  /// The most bytes of a body.
  private static let longestBody = 1_024
  /// Changes that may wait for Kafka at once.
  private static let openAtMost = 256

  private let api: APIDesk
  private let topic: KafkaTopic
  private let controls: ControlsView
  private var open = OpenExchanges<PaceExchange>()

  init(
    _ api: APIDesk, _ names: TopicNames, _ controls: ControlsView
  ) throws(KafkaError) {
    self.api = api
    self.controls = controls
    topic = try api.producer.topic(known: names.controls)
  }

  /// Whether nothing waits.
  var isEmpty: Bool { open.isEmpty }

  func turn() {
    for exchange in open.drainLate(now: api.now) {
      answer(exchange, Problem.unavailable("there was no answer in time").response)
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
    let kind = try kind(exchange, resource, key)
    try demand(kind, key)
    guard controls.exists else {
      throw .init(
        .unavailable("this cluster has no topic of paces; martlet topics create creates it"))
    }
    if kind.isChange {
      try api.demandProducer()
      guard open.count < Self.openAtMost else { throw .init(.unavailable("too many changes wait")) }
    } else if !controls.isCaughtUp {
      throw .init(.unavailable("which paces are set is not known yet"))
    }
    api.keys.take(key, 1, now: api.now)
    exchange.owner = key.name
    exchange.attachment = PaceExchange(exchange, kind, key)
  }

  private func kind(
    _ exchange: StreamExchange, _ resource: APIResource, _ key: APIKey
  ) throws(Admission.Failure) -> PaceExchange.Kind {
    guard case .pace(let kind, let name) = resource else { return .list }
    let subject = try PaceArguments.subject(kind, name, key, api.settings.lanes) {
      exchange.argument($0)
    }
    switch exchange.method {
    case "PUT":
      try Admission.plainJSON(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"))
      return .set(subject)
    case "DELETE": return .clear(subject)
    default: return .read(subject)
    }
  }

  /// The key may see and change this pace.
  private func demand(_ kind: PaceExchange.Kind, _ key: APIKey) throws(Admission.Failure) {
    guard key.paces else { throw .init(.noPaces) }
    guard let subject = kind.subject, !isOf(subject, key) else { return }
    throw .init(subject.app.map { .forbidden(app: $0) } ?? .notOfAllApps)
  }

  private func isOf(_ subject: PaceSubject, _ key: APIKey) -> Bool {
    // No app has the name of all.
    key.maySend(for: subject.app ?? "*")
  }

  /// A part of a body. What is too long is refused at its end.
  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    guard let pace = exchange.attachment as? PaceExchange else { return bytes.count }
    api.counters.add(.bytes, bytes.count)
    let room = Self.longestBody + 1 - pace.body.count
    pace.body.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let pace = exchange.attachment as? PaceExchange else { return }
    do throws(Admission.Failure) {
      // Its body may have taken a while.
      guard let key = api.keys.current(pace.key) else {
        throw .init(.unauthorized("this API key is not valid any more"))
      }
      try demand(pace.kind, key)
      switch pace.kind {
      case .list: answer(pace, Self.list(controls.paces.filter { isOf($0.key, key) }))
      case .read(let subject):
        guard let entry = controls.paces[subject] else { throw .init(.noPace(of: "\(subject)")) }
        answer(pace, Self.ok(.object(Self.object(subject, entry))))
      case .set(let subject): try set(subject, pace, key)
      case .clear(let subject): try produce(subject, nil, pace, key)
      }
    } catch {
      answer(pace, error.problem.response)
    }
  }

  private func set(
    _ subject: PaceSubject, _ pace: PaceExchange, _ key: APIKey
  ) throws(Admission.Failure) {
    guard pace.body.count <= Self.longestBody else { throw .init(.tooLarge(Self.longestBody)) }
    let (rate, reason) = try PaceArguments.change(pace.body.bytes, of: subject, api.parser)
    if let problem = controls.obstacle(to: subject) { throw .init(problem) }
    pace.rate = "\(rate)"
    let author = ControlRecord.Author(
      at: WallClock.milliseconds(), by: key.actor, reason: reason)
    try produce(subject, ControlRecord.value(rate, by: author), pace, key)
  }

  private func produce(
    _ subject: PaceSubject, _ value: [UInt8]?, _ pace: PaceExchange, _ key: APIKey
  ) throws(Admission.Failure) {
    pace.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
    // A tombstone has no value that could say who made it.
    let tag = OpenExchanges<PaceExchange>.tag(open.insert(pace))
    let result = api.producer.produce(
      topic, key: Array(subject.key.utf8), value: value,
      headers: value == nil ? [KafkaHeader("by", key.actor)] : [], tag: tag)
    if case .queued = result { return }
    open.remove(pace)
    throw .init(.unavailable("Kafka does not take records now"))
  }

  /// Kafka's answer to a change.
  func delivered(_ number: UInt64, isAcknowledged: Bool) {
    guard let pace = open.take(number) else { return }
    guard isAcknowledged else {
      return answer(pace, Problem.unavailable("Kafka did not acknowledge it").response)
    }
    api.note(pace.exchange, pace.key, requests: 1)
    api.context.log.info(
      "a pace was changed over HTTP",
      [
        "of": pace.kind.subject.map { "\($0)" } ?? "", "rate": pace.rate, "key": pace.key.name.text,
        "client": pace.exchange.client,
      ])
    answer(
      pace,
      HTTPResponse(
        status: 202, contentType: "application/json", body: .bytes(Array(#"{"status":202}"#.utf8))))
  }

  private func answer(_ pace: PaceExchange, _ response: HTTPResponse) {
    api.answer(pace.exchange, pace, response)
  }

  func gone(_ exchange: StreamExchange) {
    guard exchange.attachment is PaceExchange else { return }
    exchange.attachment = nil
    api.counters.add(.httpAborted)
    // What was handed to Kafka is told all the same.
  }

  // MARK: Answers

  private static func list(_ paces: [PaceSubject: ControlsView.Pace]) -> HTTPResponse {
    let list = paces.sorted { $0.key.description < $1.key.description }
    var answer = JSONObject()
    answer.append("paces", .array(list.map { .object(object($0.key, $0.value)) }))
    return ok(.object(answer))
  }

  private static func object(_ subject: PaceSubject, _ entry: ControlsView.Pace) -> JSONObject {
    var object = JSONObject()
    object.append("kind", .string(subject.kind.rawValue))
    object.append("name", .string(subject.name))
    switch subject {
    case .device(_, let environment, let type):
      object.append("environment", .string(environment.description))
      object.append("push_type", .string(type.description))
    case .app(_, let environment):
      object.append("environment", .string(environment.description))
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

  private static func ok(_ value: JSONValue) -> HTTPResponse {
    HTTPResponse(status: 200, contentType: "application/json", body: .bytes(value.text))
  }
}
