// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import EventLoop
import HTTPServer
import JSON
import Kafka
import Records
import ServiceKit
import Store

/// Registrations, removals, and questions about device tokens.
extension APILoop {
  /// The most bytes of a registration.
  private static let longestBody = 4_096

  func beginDevice(
    _ exchange: StreamExchange, _ resource: APIResource, _ key: APIKey
  ) throws(Admission.Failure) {
    try demandTurn(key)
    if let name = exchange.repeatedArgument {
      throw .init(.malformed("\(name) is given twice", field: name))
    }
    let kind = try deviceKind(exchange, resource, key)
    switch kind {
    case .ask:
      guard let queries else {
        throw .init(.unavailable("this process has no database; start it with --database"))
      }
      guard !queries.isFull, devices.questions(of: key) < QueryWorker.share else {
        throw .init(.unavailable("too many questions wait for the database"))
      }
    case .register, .remove: try demandProducer()
    }
    keys.take(key, 1, now: now)
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
      return .ask(
        .device(
          DeviceIdentity(
            token: device.token, app: device.app, environment: device.environment)))
    case (.notification(let id), _): return .ask(.outcomes(id: try DeviceArguments.id(id), key))
    case (.invalidTokens, _), (.notifications, _), (.gorush, _):
      let page = try DeviceArguments.page { exchange.argument($0) }
      try demandRead(page.app, key)
      return .ask(.deadTokens(page))
    }
  }

  private func demandRead(_ app: String, _ key: APIKey) throws(Admission.Failure) {
    guard key.mayRead(app) else { throw .init(.unreadable(app: app)) }
  }

  /// A part of a registration's body. What is too long is refused at its end.
  func received(_ bytes: UnsafeRawBufferPointer, _ device: DeviceExchange) {
    counters.add(.bytes, bytes.count)
    let room = Self.longestBody + 1 - device.body.count
    device.body.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(max(0, room))))
  }

  func ended(_ device: DeviceExchange) {
    do throws(Admission.Failure) {
      device.deadline = now + UInt64(settings.ackTimeoutMilliseconds)
      // Its body may have taken a while.
      guard let key = keys.current(device.key) else {
        throw .init(.unauthorized("this API key is not valid any more"))
      }
      switch device.kind {
      case .ask(let question):
        let question = try permitted(question, key)
        devices.insert(device)
        queries?.ask(device.number, question)
      case .register(let token):
        guard device.body.count <= Self.longestBody else {
          throw .init(.tooLarge(Self.longestBody))
        }
        let record = try DeviceArguments.registration(
          token, device.body.bytes, now: WallClock.milliseconds(), settings.pushTypes, deviceParser)
        guard key.maySend(for: record.device.app) else {
          throw .init(.forbidden(app: record.device.app))
        }
        try produce(record, device)
      case .remove(let removed):
        guard key.maySend(for: removed.app) else { throw .init(.forbidden(app: removed.app)) }
        try produce(
          DeviceRecord(device: removed, event: .removed(at: WallClock.milliseconds())), device)
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
    case .deadTokens(let page): try demandRead(page.app, key)
    case .outcomes(let id, _): return .outcomes(id: id, key)
    }
    return question
  }

  private func produce(
    _ record: DeviceRecord, _ device: DeviceExchange
  ) throws(Admission.Failure) {
    devices.insert(device)
    let result = record.key.withUnsafeBytes { key in
      record.value.withUnsafeBytes { value in
        producer.produce(
          devicesTopic, key: key, value: value, tag: DeviceExchanges.tag(device.number))
      }
    }
    if case .queued = result { return }
    _ = devices.take(device.number)
    throw .init(.unavailable("Kafka does not take registrations now"))
  }

  /// Kafka's answer to a change.
  func deviceDelivered(_ number: UInt64, isAcknowledged: Bool) {
    guard let device = devices.take(number) else { return }
    guard isAcknowledged else {
      return answer(device, Problem.unavailable("Kafka did not acknowledge it").response)
    }
    note(device.exchange, device.key, requests: 1)
    if let isRemoval = device.kind.isRemoval {
      keys.figures.countChange(
        isRemoval: isRemoval, of: device.key, from: device.exchange.client)
    }
    answer(
      device,
      HTTPResponse(
        status: 202, contentType: "application/json", body: .bytes(Array(#"{"status":202}"#.utf8))))
  }

  /// The database's answers, and those whose time is up.
  func turnDevices() {
    for reply in queries?.takeAnswers() ?? [] {
      counters.add(reply.response == nil ? .queriesFailed : .queriesAnswered)
      guard let device = devices.take(reply.number) else { continue }
      answer(device, reply.response ?? Problem.unavailable("the database does not answer").response)
    }
    for device in devices.takeLate(now: now) {
      answer(device, Problem.unavailable("there was no answer in time").response)
    }
  }

  private func answer(_ device: DeviceExchange, _ response: HTTPResponse) {
    // nil: the client has gone.
    guard device.exchange.attachment === device else { return }
    counters.add(
      response.status < 300
        ? .httpAccepted : response.status >= 500 ? .httpUnavailable : .httpRefused)
    device.exchange.attachment = nil
    device.exchange.held = response.heldBytes
    device.exchange.answer(response)
  }

  func gone(_ device: DeviceExchange) {
    device.exchange.attachment = nil
    counters.add(.httpAborted)
    _ = devices.take(device.number)
  }
}
