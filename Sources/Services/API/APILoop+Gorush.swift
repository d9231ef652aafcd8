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
    return valid(key)
  }

  func beginGorush(_ exchange: StreamExchange, _ key: APIKey) throws(Admission.Failure) {
    // Its clients name media types as they like, but a web page can send any type except that of JSON.
    if exchange.header("Authorization") == nil { try demandNoPage(exchange) }
    let body = try Admission.body(
      type: nil, encoding: exchange.header("Content-Encoding"),
      idempotencyKey: exchange.header("Idempotency-Key")
    ).get()
    guard !body.isPacked else {
      throw .init(.encoding(exchange.header("Content-Encoding") ?? ""))
    }
    try demandTurn(key)
    try demandProducer()
    try demandRoom(key)
    let limit = key.maxBody ?? settings.maxBody
    if let length = exchange.announcedLength, length > limit { throw .init(.tooLarge(limit)) }
    exchange.owner = key.name
    exchange.attachment = GorushExchange(
      exchange, key, revision: keys.revision, idempotencyKey: body.idempotencyKey, maxBody: limit)
  }

  /// A request without a key of its own comes from no web page: it says that it has JSON, which no page may send to
  /// another site unasked, and names no page as its origin.
  private func demandNoPage(_ exchange: StreamExchange) throws(Admission.Failure) {
    try Admission.plainJSON(
      type: exchange.header("Content-Type") ?? "",
      encoding: exchange.header("Content-Encoding"))
    guard exchange.header("Origin") == nil, exchange.header("Sec-Fetch-Site") ?? "none" == "none"
    else { throw .init(.webPage) }
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ push: GorushExchange) {
    counters.add(.bytes, bytes.count)
    push.append(bytes)
    if push.body.reservedBytes > Inflater.piece, isOutOfMemory(push.key) {
      push.isOutOfMemory = true
      push.body = ByteBuffer(capacity: 16)
    }
    push.account()
  }

  func ended(_ push: GorushExchange) {
    push.deadline = now + UInt64(settings.ackTimeoutMilliseconds)
    gorush.insert(push)
    hasBacklog = true
  }

  /// Looks at one body: the next one in the next turn, so that many do not hold up others.
  private func readOne() {
    var waiting = gorush.unread
    guard !waiting.isEmpty else { return }
    let push = waiting.removeFirst()
    hasBacklog = hasBacklog || !waiting.isEmpty
    push.isRead = true
    guard let problem = problem(of: push) else { return advance(push) }
    gorush.remove(push)
    answer(push, GorushExchange.refusal(problem))
  }

  private func problem(of push: GorushExchange) -> Problem? {
    if push.isTooLong { return .tooLarge(push.maxBody) }
    if push.isOutOfMemory { return .outOfMemory }
    guard push.renewKey(keys) else { return .unauthorized("this API key is not valid any more") }
    let isBearable = push.body.withSpan { JSONWeight.isBearable($0) }
    guard isBearable else { return .tooManyValues }
    do throws(CompatibilityError) {
      try read(push)
      push.account()
      return nil
    } catch {
      return .malformed("\(error)")
    }
  }

  /// Makes the records of a body.
  private func read(_ push: GorushExchange) throws(CompatibilityError) {
    // A parser keeps the memory of its longest text.
    let parser = push.body.count > Inflater.piece ? JSONParser() : deviceParser
    guard let body = try? parser.parse(push.body.bytes) else {
      throw CompatibilityError("", "Missing notifications field.")
    }
    let bytes = push.body.count
    push.body = ByteBuffer(capacity: 16)
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
    var bill = BodyBill()
    bill.requests = max(push.records.count, 1)
    bill.bytes = bytes
    keys.take(push.key, bill.due(), now: now)
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
      for token in tokens { push.log(notification, token: token, error: refusal.problem.detail) }
      return
    }
    for problem in items.tokenProblems {
      push.log(notification, token: tokens[problem.index], error: problem.text)
    }
  }

  private func log(
    _ notification: GorushNotification, _ error: String, _ push: GorushExchange
  ) {
    counters.add(.refused)
    for token in notification.tokens.isEmpty ? [""] : notification.tokens {
      push.log(notification, token: token, error: error)
    }
  }

  /// Hands to Kafka what there is room for.
  private func advance(_ push: GorushExchange) {
    let apps = push.key.apps
    // Which records are of which app is not known any more.
    if !push.renewKey(keys) || push.key.apps != apps { push.stop() }
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
    if isAcknowledged, let push = gorush[number] { keys.figures.count(1, of: push.key) }
    guard let push = gorush[number] else { return }
    push.outstanding -= 1
    push.hasFailed = push.hasFailed || !isAcknowledged
    if push.isDone { finish(push) }
  }

  /// Goes on with those that had no room, and gives up those whose time is up.
  func turnGorush() {
    readOne()
    for push in gorush.all {
      if push.isRead { advance(push) }
      guard now >= push.deadline, gorush[push.number] != nil else { continue }
      push.hasFailed = true
      finish(push)
    }
  }

  private func finish(_ push: GorushExchange) {
    gorush.remove(push)
    note(push.exchange, push.key, requests: push.next - push.outstanding)
    answer(push, push.response())
  }

  private func answer(_ push: GorushExchange, _ response: HTTPResponse) {
    // nil: the client has gone.
    guard push.exchange.attachment === push else { return }
    counters.add(
      response.status < 300
        ? .httpAccepted : response.status >= 500 ? .httpUnavailable : .httpRefused)
    push.exchange.attachment = nil
    push.exchange.held = response.heldBytes
    push.exchange.answer(response)
  }

  /// The client has gone: what Kafka was given stays, nothing more follows.
  func gone(_ push: GorushExchange) {
    push.exchange.attachment = nil
    counters.add(.httpAborted)
    gorush.remove(push)
  }
}
