// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Compatibility
import HTTPServer
import Identity
import JSON
import Kafka
import ServiceKit

/// gorush's `POST /api/push`: its notifications become requests of Martlet, and are answered when Kafka has them.
final class GorushAPI: APIPart {
  private let api: APIDesk
  private let translator: GorushTranslator
  private var open = GorushExchanges()

  init(_ api: APIDesk) {
    self.api = api
    translator = GorushTranslator(
      app: api.settings.gorushApp, environment: api.settings.gorushEnvironment,
      types: api.settings.pushTypes)
  }

  /// Whether nothing waits.
  var isEmpty: Bool { open.isEmpty }

  /// The key of a request; without `Authorization`, which gorush does not know, the one that a setting names.
  func key(_ exchange: StreamExchange) -> Result<APIKey, Admission.Failure> {
    guard exchange.header("Authorization") == nil, let name = api.settings.gorushKey else {
      return api.key(exchange)
    }
    guard let key = api.keys.table.keys.first(where: { $0.name == name.exact }) else {
      return .failure(.init(.unauthorized("there is no API key with the name \(name)")))
    }
    return api.valid(key)
  }

  func begin(_ exchange: StreamExchange, _ key: APIKey) throws(Admission.Failure) {
    // Its clients name media types as they like, but a web page can send any type except that of JSON.
    if exchange.header("Authorization") == nil { try demandNoPage(exchange) }
    let body = try Admission.body(
      type: nil, encoding: exchange.header("Content-Encoding"),
      idempotencyKey: exchange.header("Idempotency-Key")
    ).get()
    guard !body.isPacked else {
      throw .init(.encoding(exchange.header("Content-Encoding") ?? ""))
    }
    try api.demandTurn(key)
    try api.demandProducer()
    try api.demandRoom(key)
    let limit = key.maxBody ?? api.settings.maxBody
    if let length = exchange.announcedLength, length > limit { throw .init(.tooLarge(limit)) }
    exchange.owner = key.name
    exchange.attachment = GorushExchange(
      exchange, KeyInUse(key, api.keys), idempotencyKey: body.idempotencyKey, maxBody: limit)
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

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    guard let push = exchange.attachment as? GorushExchange else { return bytes.count }
    api.counters.add(.bytes, bytes.count)
    push.append(bytes)
    if push.body.reservedBytes > Inflater.piece, api.isOutOfMemory(push.key.key) {
      push.isOutOfMemory = true
      push.body = ByteBuffer(capacity: 16)
    }
    push.account()
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let push = exchange.attachment as? GorushExchange else { return }
    push.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
    open.insert(push)
    api.hasBacklog = true
  }

  /// Looks at one body: the next one in the next turn, so that many do not hold up others.
  private func readOne() {
    var waiting = open.unread
    guard !waiting.isEmpty else { return }
    let push = waiting.removeFirst()
    api.hasBacklog = api.hasBacklog || !waiting.isEmpty
    push.isRead = true
    guard let problem = problem(of: push) else { return advance(push) }
    open.remove(push)
    answer(push, GorushExchange.refusal(problem))
  }

  private func problem(of push: GorushExchange) -> Problem? {
    if push.isTooLong { return .tooLarge(push.maxBody) }
    if push.isOutOfMemory { return .outOfMemory }
    guard push.key.renew(api.keys) else {
      return .unauthorized("this API key is not valid any more")
    }
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
    let parser = push.body.count > Inflater.piece ? JSONParser() : api.parser
    guard let body = try? parser.parse(push.body.bytes) else {
      throw CompatibilityError("", "Missing notifications field.")
    }
    let bytes = push.body.count
    push.body = ByteBuffer(capacity: 16)
    let limit = api.settings.gorushLimit
    for notification in try GorushNotification.all(in: body, limit: limit) {
      guard notification.platform == .ios else {
        log(notification, "this platform is not supported", push)
        continue
      }
      push.count += notification.tokens.count
      do throws(CompatibilityError) {
        for request in try translator.requests(notification) {
          accept(request, of: notification, push)
        }
      } catch {
        log(notification, "\(error)", push)
      }
    }
    var bill = BodyBill()
    bill.requests = max(push.records.count, 1)
    bill.bytes = bytes
    api.keys.take(push.key.key, bill.due(), now: api.now)
  }

  /// Checks a request and keeps its record.
  private func accept(
    _ request: JSONValue, of notification: GorushNotification, _ push: GorushExchange
  ) {
    let tokens = request["tokens"]?.array?.compactMap(\.string) ?? []
    let number = push.records.count + 1
    let refusal: ItemReader.Refusal? = request.text.withUnsafeBytes { bytes in
      let outcome = api.items.read(
        bytes, key: push.key.key, idempotencyKey: push.idempotencyKey, number: number, isOnly: false
      )
      if case .failure(let refusal) = outcome { return refusal }
      push.records.append(
        .init(key: Array(api.items.recordKey), value: Array(api.items.recordValue)))
      return nil
    }
    if let refusal {
      api.counters.add(.refused)
      for token in tokens { push.log(notification, token: token, error: refusal.problem.detail) }
      return
    }
    for problem in api.items.tokenProblems {
      push.log(notification, token: tokens[problem.index], error: problem.text)
    }
  }

  private func log(
    _ notification: GorushNotification, _ error: String, _ push: GorushExchange
  ) {
    api.counters.add(.refused)
    for token in notification.tokens.isEmpty ? [""] : notification.tokens {
      push.log(notification, token: token, error: error)
    }
  }

  /// Hands to Kafka what there is room for.
  private func advance(_ push: GorushExchange) {
    let apps = push.key.key.apps
    // Which records are of which app is not known any more.
    if !push.key.renew(api.keys) || push.key.key.apps != apps { push.stop() }
    while push.next < push.records.count,
      api.producer.outstandingBytes < api.settings.maxInFlightBytes, !api.producer.isFull
    {
      guard produce(push.records[push.next], push) else { break }
      push.next += 1
    }
    if push.isDone { finish(push) }
  }

  /// False when there is no room.
  private func produce(_ record: GorushExchange.Record, _ push: GorushExchange) -> Bool {
    let result = api.producer.produce(
      api.topic, key: record.key, value: record.value, tag: GorushExchanges.tag(push))
    switch result {
    case .queued: push.outstanding += 1
    case .full: return false
    case .refused(let error):
      api.context.log.error("Kafka refuses a request", ["error": "\(error)"])
      api.counters.add(.unacknowledged)
      push.hasFailed = true
    }
    return true
  }

  /// Kafka's answer to a record.
  func delivered(_ number: UInt64, isAcknowledged: Bool) {
    api.counters.add(isAcknowledged ? .acknowledged : .unacknowledged)
    if isAcknowledged, let push = open[number] { api.keys.figures.count(1, of: push.key.key) }
    guard let push = open[number] else { return }
    push.outstanding -= 1
    push.hasFailed = push.hasFailed || !isAcknowledged
    if push.isDone { finish(push) }
  }

  /// Goes on with those that had no room, and gives up those whose time is up.
  func turn() {
    readOne()
    for push in open.all {
      if push.isRead { advance(push) }
      guard api.now >= push.deadline, open[push.number] != nil else { continue }
      push.hasFailed = true
      finish(push)
    }
  }

  private func finish(_ push: GorushExchange) {
    open.remove(push)
    api.note(push.exchange, push.key.key, requests: push.next - push.outstanding)
    answer(push, push.response())
  }

  private func answer(_ push: GorushExchange, _ response: HTTPResponse) {
    api.answer(push.exchange, push, response)
  }

  /// The client has gone: what Kafka was given stays, nothing more follows.
  func gone(_ exchange: StreamExchange) {
    guard let push = exchange.attachment as? GorushExchange else { return }
    exchange.attachment = nil
    api.counters.add(.httpAborted)
    open.remove(push)
  }
}
