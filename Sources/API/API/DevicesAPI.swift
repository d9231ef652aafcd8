// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import Contract
import EventLoop
import HTTPServer
import JSON
import Kafka
import Records
import ServiceKit
import Store

/// Registrations, removals, cancellations, and questions about device tokens and outcomes.
final class DevicesAPI: APIPart {
  /// The most bytes of a registration.
  private static let longestBody = 4_096

  private let api: APIDesk
  private let topic: KafkaTopic
  private let schedule: KafkaTopic
  /// Asks the database; nil without one.
  private let queries: QueryWorker?
  private var open = DeviceExchanges()

  init(_ api: APIDesk, _ names: TopicNames, _ queries: QueryWorker?) throws(KafkaError) {
    self.api = api
    topic = try api.producer.topic(known: names.devices)
    schedule = try api.producer.topic(known: names.schedule)
    self.queries = queries
  }

  /// Whether nothing waits.
  var isEmpty: Bool { open.isEmpty }

  func begin(
    _ exchange: StreamExchange, _ resource: APIResource, _ key: APIKey
  ) throws(Admission.Failure) {
    try api.demandTurn(key)
    if let name = exchange.repeatedArgument {
      throw .init(.malformed("\(name) is given twice", field: name))
    }
    let kind = try deviceKind(exchange, resource, key)
    switch kind {
    case .ask:
      guard let queries else {
        throw .init(.unavailable("this process has no database; start it with --database"))
      }
      guard !queries.isFull, open.questions(of: key) < QueryWorker.share else {
        throw .init(.unavailable("too many questions wait for the database"))
      }
      try api.demandRoom(key)
    case .register, .remove, .cancel: try api.demandProducer()
    }
    api.keys.take(key, 1, now: api.now)
    exchange.owner = key.name
    exchange.attachment = DeviceExchange(exchange, kind, key)
  }

  private func deviceKind(
    _ exchange: StreamExchange, _ resource: APIResource, _ key: APIKey
  ) throws(Admission.Failure) -> DeviceExchange.Kind {
    switch (resource, exchange.method) {
    case (.device(let token), "PUT"):
      try Admission.plainJSON(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"))
      return .register(token: try DeviceArguments.token(token))
    case (.device(let token), let method):
      let device = try DeviceArguments.device(
        token, app: exchange.argument("app"), environment: exchange.argument("environment"))
      if method == "DELETE" {
        guard key.maySend(for: device.app) else { throw .init(.forbidden(app: device.app)) }
        return .remove(device)
      }
      try demandRead(device.app, key)
      return .ask(.device(device))
    case (.user(let user), let method):
      let user = try DeviceArguments.user(user, app: exchange.argument("app"))
      if let app = user.app, method == "GET" { try demandRead(app, key) }
      if let app = user.app, method == "DELETE", !key.maySend(for: app) {
        throw .init(.forbidden(app: app))
      }
      return .ask(method == "GET" ? .user(user, key) : .forget(user, key))
    case (.notification(let id), "DELETE"):
      let request = try DeviceArguments.scheduled(
        id, app: exchange.argument("app"), environment: exchange.argument("environment"))
      guard key.maySend(for: request.app) else { throw .init(.forbidden(app: request.app)) }
      return .cancel(request)
    case (.notification(let id), _):
      let notification = try DeviceArguments.notification(id, app: exchange.argument("app"))
      if let app = notification.app { try demandRead(app, key) }
      return .ask(.outcomes(notification, key))
    default:
      let page = try DeviceArguments.page { exchange.argument($0) }
      try demandRead(page.app, key)
      return .ask(.invalidTokens(page))
    }
  }

  private func demandRead(_ app: String, _ key: APIKey) throws(Admission.Failure) {
    guard key.mayRead(app) else { throw .init(.unreadable(app: app)) }
  }

  /// A part of a registration's body. What is too long is refused at its end.
  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    guard let device = exchange.attachment as? DeviceExchange else { return bytes.count }
    api.counters.add(.bytes, bytes.count)
    let room = Self.longestBody + 1 - device.body.count
    device.body.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let device = exchange.attachment as? DeviceExchange else { return }
    do throws(Admission.Failure) {
      device.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
      // Its body may have taken a while.
      guard let key = api.keys.current(device.key) else {
        throw .init(.unauthorized("this API key is not valid any more"))
      }
      switch device.kind {
      case .ask(let question):
        let question = try permitted(question, key)
        open.insert(device)
        // Its answer counts while it is made, too.
        exchange.held = question.answerBytes
        queries?.ask(device.number, question, from: .devices, of: key)
      case .register(let token):
        guard device.body.count <= Self.longestBody else {
          throw .init(.tooLarge(Self.longestBody))
        }
        let record = try DeviceArguments.registration(
          token, device.body.bytes, now: WallClock.milliseconds(), api.settings.pushTypes,
          api.parser)
        guard key.maySend(for: record.device.app) else {
          throw .init(.forbidden(app: record.device.app))
        }
        try produce(topic, key: record.key, record.value, device)
      case .remove(let removed):
        guard key.maySend(for: removed.app) else { throw .init(.forbidden(app: removed.app)) }
        let record = DeviceRecord(device: removed, event: .removed(at: WallClock.milliseconds()))
        try produce(topic, key: record.key, record.value, device)
      case .cancel(let request):
        guard key.maySend(for: request.app) else { throw .init(.forbidden(app: request.app)) }
        let record = ScheduleCancellation(at: WallClock.milliseconds(), by: key.actor)
        try produce(schedule, key: request.bytes, record.value, device)
      }
    } catch {
      answer(device, error.problem.response)
    }
  }

  /// The question with the rights that its key has now.
  private func permitted(
    _ question: QueryWorker.Question, _ key: APIKey
  ) throws(Admission.Failure) -> QueryWorker.Question {
    switch question {
    case .device(let identity): try demandRead(identity.app, key)
    case .invalidTokens(let page): try demandRead(page.app, key)
    case .outcomes(let notification, _):
      if let app = notification.app { try demandRead(app, key) }
      return .outcomes(notification, key)
    case .user(let user, _): return .user(user, key)
    case .forget(let user, _): return .forget(user, key)
    case .named, .campaigns, .start: break
    }
    return question
  }

  private func produce(
    _ topic: KafkaTopic, key: [UInt8], _ value: [UInt8], _ device: DeviceExchange
  ) throws(Admission.Failure) {
    try produce([Record(topic: topic, key: key, value: value)], device)
  }

  private struct Record {
    let topic: KafkaTopic
    let key: [UInt8]
    let value: [UInt8]?
    var headers: [KafkaHeader] = []
  }

  /// - Parameter records: at least one.
  private func produce(
    _ records: [Record], _ device: DeviceExchange
  ) throws(Admission.Failure) {
    open.insert(device)
    device.unacknowledged = records.count
    for record in records {
      let result = api.producer.produce(
        record.topic, key: record.key, value: record.value, headers: record.headers,
        tag: DeviceExchanges.tag(device.number))
      if case .queued = result { continue }
      _ = open.take(device.number)
      throw .init(.unavailable("Kafka does not take records now"))
    }
  }

  /// Forgets the devices of a user: their records on the topic are deleted, and what waits for them does not wait longer.
  private func forget(
    _ found: [DeviceKey], _ erasure: ScheduleErasure, _ device: DeviceExchange
  ) {
    let devices = found.prefix(DeviceAnswers.userLimit)
    device.success = DeviceAnswers.forgotten(
      devices.count, scheduled: erasure.changes.count,
      hasMore: found.count > DeviceAnswers.userLimit || erasure.hasMore)
    // First of all what would still be sent to them.
    let records =
      erasure.changes.map { record($0, by: device.key) }
      + devices.map { Record(topic: topic, key: $0.bytes, value: nil) }
    guard !records.isEmpty else { return answer(device, device.success) }
    device.forgotten = devices.count
    do throws(Admission.Failure) {
      try produce(records, device)
    } catch {
      answer(device, error.problem.response)
    }
  }

  private func record(_ change: ScheduleErasure.Change, by key: APIKey) -> Record {
    switch change.kind {
    case .cancel:
      let cancellation = ScheduleCancellation(at: WallClock.milliseconds(), by: key.actor)
      return Record(topic: schedule, key: change.key.bytes, value: cancellation.value)
    case .replace(let value):
      return Record(topic: schedule, key: change.key.bytes, value: value)
    case .end(let identity):
      return Record(
        topic: schedule, key: change.key.bytes, value: nil,
        headers: [KafkaHeader(ScheduleRecord.endsHeader, "\(identity)")])
    }
  }

  /// Kafka's answer to a change.
  func delivered(_ number: UInt64, isAcknowledged: Bool) {
    guard let device = open.answered(number, isAcknowledged: isAcknowledged) else { return }
    guard isAcknowledged else {
      return answer(device, Problem.unavailable("Kafka did not acknowledge it").response)
    }
    api.note(device.exchange, device.key, requests: 1)
    let isRemoval = device.kind.isRemoval
    for _ in 0..<(isRemoval == nil ? device.forgotten : 1) {
      api.keys.figures.countChange(
        isRemoval: isRemoval ?? true, of: device.key, from: device.exchange.client)
    }
    answer(device, device.success)
  }

  /// The database's answer to a question; nil for none.
  func answered(_ number: UInt64, _ content: QueryWorker.Answer.Content?) {
    guard let device = open.take(number) else { return }
    switch content {
    case .response(let response): answer(device, response)
    case .erasure(let devices, let schedule): forget(devices, schedule, device)
    case .campaigns, .start, nil:
      answer(device, Problem.unavailable("the database does not answer").response)
    }
  }

  func turn() {
    for device in open.drainLate(now: api.now) {
      answer(device, Problem.unavailable("there was no answer in time").response)
    }
  }

  private func answer(_ device: DeviceExchange, _ response: HTTPResponse) {
    api.answer(device.exchange, device, response)
  }

  func gone(_ exchange: StreamExchange) {
    guard let device = exchange.attachment as? DeviceExchange else { return }
    exchange.attachment = nil
    api.counters.add(.httpAborted)
    _ = open.take(device.number)
  }
}
