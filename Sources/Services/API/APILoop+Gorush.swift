// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Compatibility
import HTTPServer
import JSON
import Kafka
import ServiceKit

/// gorush's `POST /api/push`: its notifications become requests of Martlet, and are answered when Kafka has them.
extension APILoop {
  /// The key of a request; without `Authorization`, which gorush does not know, the one that a setting names.
  func gorushKey(_ exchange: StreamExchange) -> Result<APIKey, Admission.Failure> {
    guard exchange.header("Authorization") == nil, let name = settings.gorushKey else {
      return key(exchange)
    }
    guard let key = keys.table.keys.first(where: { $0.name == name }) else {
      return .failure(.init(.unauthorized("there is no API key with the name \(name)")))
    }
    return .success(key)
  }

  func beginGorush(_ exchange: StreamExchange, _ key: APIKey) throws(Admission.Failure) {
    // Its clients name media types as they like.
    let body = try Admission.body(
      type: nil, encoding: exchange.header("Content-Encoding"),
      idempotencyKey: exchange.header("Idempotency-Key")
    ).get()
    guard !body.isPacked else {
      throw .init(.encoding(exchange.header("Content-Encoding") ?? ""))
    }
    try demandTurn(key)
    try demandProducer()
    exchange.attachment = GorushExchange(
      exchange, key, idempotencyKey: body.idempotencyKey, maxBody: key.maxBody ?? settings.maxBody)
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ push: GorushExchange) {
    counters.add(.bytes, bytes.count)
    push.append(bytes)
  }

  func ended(_ push: GorushExchange) {
    push.deadline = now + UInt64(settings.ackTimeoutMilliseconds)
    do throws(CompatibilityError) {
      guard !push.isTooLong else {
        return answer(push, GorushExchange.refusal(.tooLarge(push.maxBody)))
      }
      try read(push)
    } catch {
      return answer(push, GorushExchange.refusal(.malformed("\(error)")))
    }
    gorush.insert(push)
    advance(push)
  }

  /// Makes the records of a body.
  private func read(_ push: GorushExchange) throws(CompatibilityError) {
    guard let body = try? deviceParser.parse(push.body.bytes) else {
      throw CompatibilityError("", "Missing notifications field.")
    }
    push.body.removeAll()
    let limit = settings.gorushLimit
    for notification in try GorushNotification.all(in: body, limit: limit) {
      guard notification.platform == .ios else {
        log(notification, "this platform is not supported", push)
        continue
      }
      push.count += notification.tokens.count
      do throws(CompatibilityError) {
        for request in try gorushTranslator.requests(notification) {
          accept(request, of: notification, push)
        }
      } catch {
        log(notification, "\(error)", push)
      }
    }
    keys.take(push.key, push.records.count, now: now)
  }

  /// Checks a request and keeps its record.
  private func accept(
    _ request: JSONValue, of notification: GorushNotification, _ push: GorushExchange
  ) {
    let tokens = request["tokens"]?.array?.compactMap(\.string) ?? []
    let number = push.records.count + 1
    let refusal: ItemReader.Refusal? = request.text.withUnsafeBytes { bytes in
      let outcome = items.read(
        bytes, key: push.key, idempotencyKey: push.idempotencyKey, number: number, isOnly: false)
      if case .failure(let refusal) = outcome { return refusal }
      push.records.append(
        .init(key: Array(items.recordKey), value: Array(items.recordValue)))
      return nil
    }
    if let refusal {
      counters.add(.refused)
      for token in tokens {
        push.logs.append(
          GorushAnswer.log(notification, token: token, error: refusal.problem.detail))
      }
      return
    }
    for problem in items.tokenProblems {
      push.logs.append(
        GorushAnswer.log(notification, token: tokens[problem.index], error: problem.text))
    }
  }

  private func log(
    _ notification: GorushNotification, _ error: String, _ push: GorushExchange
  ) {
    counters.add(.refused)
    for token in notification.tokens.isEmpty ? [""] : notification.tokens {
      push.logs.append(GorushAnswer.log(notification, token: token, error: error))
    }
  }

  /// Hands to Kafka what there is room for.
  private func advance(_ push: GorushExchange) {
    while push.next < push.records.count,
      producer.outstandingBytes < settings.maxInFlightBytes, !producer.isFull
    {
      guard produce(push.records[push.next], push) else { break }
      push.next += 1
    }
    if push.isDone { finish(push) }
  }

  /// False when there is no room.
  private func produce(_ record: GorushExchange.Record, _ push: GorushExchange) -> Bool {
    let result = record.key.withUnsafeBytes { key in
      record.value.withUnsafeBytes { value in
        producer.produce(topic, key: key, value: value, tag: GorushExchanges.tag(push))
      }
    }
    switch result {
    case .queued: push.outstanding += 1
    case .full: return false
    case .refused(let error):
      context.log.error("Kafka refuses a request", ["error": "\(error)"])
      counters.add(.unacknowledged)
      push.hasFailed = true
    }
    return true
  }

  /// Kafka's answer to a record.
  func gorushDelivered(_ number: UInt64, isAcknowledged: Bool) {
    counters.add(isAcknowledged ? .acknowledged : .unacknowledged)
    guard let push = gorush[number] else { return }
    push.outstanding -= 1
    push.hasFailed = push.hasFailed || !isAcknowledged
    if push.isDone { finish(push) }
  }

  /// Goes on with those that had no room, and gives up those whose time is up.
  func turnGorush() {
    for push in gorush.all {
      advance(push)
      guard now >= push.deadline, gorush[push.number] != nil else { continue }
      push.hasFailed = true
      finish(push)
    }
  }

  private func finish(_ push: GorushExchange) {
    gorush.remove(push)
    answer(push, push.response())
  }

  private func answer(_ push: GorushExchange, _ response: HTTPResponse) {
    // nil: the client has gone.
    guard push.exchange.attachment === push else { return }
    counters.add(
      response.status < 300
        ? .httpAccepted : response.status >= 500 ? .httpUnavailable : .httpRefused)
    push.exchange.attachment = nil
    push.exchange.answer(response)
  }

  /// The client has gone: what Kafka was given stays, nothing more follows.
  func gone(_ push: GorushExchange) {
    push.exchange.attachment = nil
    counters.add(.httpAborted)
    gorush.remove(push)
  }
}
