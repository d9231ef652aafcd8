// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Records
import ServiceKit

/// gorush's `POST /api/push`: turns its notifications into requests of Martlet, and answers once Kafka has them.
enum GorushAPI {
  static let routes: [APIRoute] = {
    var push = APIRoute("POST", "/api/push", [.kafka, .batch], Self.push)
    push.key = { (api, exchange) throws(Problem) in try key(api, exchange) }
    push.refusal = refusal
    push.tooLarge = { .tooLarge("the body has more than \($0) bytes; split it") }
    // gorush ignores them.
    push.arguments = nil
    return [push]
  }()

  /// The key of a request; without `Authorization`, which gorush does not use, the one named by a setting.
  private static func key(_ api: APIContext, _ exchange: StreamExchange) throws(Problem) -> APIKey {
    guard exchange.header("Authorization") == nil, let name = api.settings.gorushKey else {
      return try api.key(exchange)
    }
    guard let key = api.keys.table.keys.first(where: { $0.name == name.exact }) else {
      throw .unauthorized("there is no API key with the name \(name)")
    }
    let valid = try api.valid(key)
    try demandNoPage(exchange)
    return valid
  }

  /// Checks that a request without its own key is not from a web page: its media type must be JSON, which a page cannot
  /// send to another site without permission, and it must have no origin. Clients with a key may use any media type.
  private static func demandNoPage(_ exchange: StreamExchange) throws(Problem) {
    try Admission.plainJSON(
      type: exchange.header("Content-Type") ?? "",
      encoding: exchange.header("Content-Encoding"))
    guard exchange.header("Origin") == nil, exchange.header("Sec-Fetch-Site") ?? "none" == "none"
    else { throw .forbidden("a web page may not send here; send an API key") }
  }

  private static func push(_ request: APIRequest) throws(Problem) -> APIAction {
    try Admission.plain(request.exchange.header("Content-Encoding"))
    let form = try Admission.body(
      type: nil, encoding: nil, idempotencyKey: request.exchange.header("Idempotency-Key"))
    guard request.isComplete else { return .read }
    guard request.body.withSpan({ JSONWeight.isBearable($0) }) else {
      throw .tooLarge("the body has too many small values for its length; split it")
    }
    let reading = GorushReading(request, form.idempotencyKey)
    do throws(CompatibilityError) { try reading.read() } catch { throw .malformed("\(error)") }
    let answer = GorushAnswer.accepted(count: reading.count, logs: reading.allLogs)
    let response = HTTPResponse.ok(answer)
    request.exchange.held =
      response.heldBytes + reading.records.reduce(0) { $0 + $1.key.count + ($1.value?.count ?? 0) }
    return .produce(reading.records) { _ in .answer(response) }
  }

  /// A problem in gorush's wording.
  private static func refusal(_ problem: Problem) -> HTTPResponse {
    var response = problem.response
    response.contentType = "application/json"
    response.body = .bytes(GorushAnswer.refused(problem.status, problem.detail).text)
    return response
  }
}

/// Creates the records of a body.
private final class GorushReading {
  private let request: APIRequest
  private let idempotencyKey: String?
  private(set) var records: [APIRecord] = []
  /// The number of requests, with those refused: a repetition of the body names each as before, whatever is refused.
  private var named = 0
  /// The number of notifications that became no request.
  private var refused = 0
  /// The number of tokens for iOS, and the entries of those that get nothing.
  private(set) var count = 0
  private var logs: [JSONValue] = []
  private var logged = 0
  private var unlogged = 0
  /// The most bytes of entries in an answer: each repeats its notification's message.
  private static let longestLog = 1 << 20

  init(_ request: APIRequest, _ idempotencyKey: String?) {
    (self.request, self.idempotencyKey) = (request, idempotencyKey)
  }

  func read() throws(CompatibilityError) {
    let (api, bytes) = (request.api, request.body.count)
    // A parser keeps the memory of its longest text.
    let parser = bytes > Inflater.piece ? JSONParser() : api.parser
    guard let body = try? parser.parse(request.body.bytes) else {
      throw CompatibilityError("", "Missing notifications field.")
    }
    request.body = ByteBuffer(capacity: 16)
    let settings = api.settings
    let translator = GorushTranslator(
      app: settings.gorushApp, environment: settings.gorushEnvironment, types: settings.pushTypes)
    for notification in try GorushNotification.all(in: body, limit: settings.gorushLimit) {
      guard notification.platform == .ios else {
        refuse(notification, "this platform is not supported")
        continue
      }
      count += notification.tokens.count
      do throws(CompatibilityError) {
        for request in try translator.requests(notification) { accept(request, of: notification) }
      } catch {
        refuse(notification, "\(error)")
      }
    }
    var bill = BodyBill()
    bill.requests = max(named + refused, 1)
    bill.bytes = bytes
    api.keys.take(request.key, bill.due(), now: api.now)
  }

  private func accept(_ text: JSONValue, of notification: GorushNotification) {
    let items = request.api.items
    let tokens = text["tokens"]?.array?.compactMap(\.string) ?? []
    named += 1
    let refusal: ItemReader.Refusal? = text.text.withUnsafeBytes { bytes in
      let outcome = items.read(
        bytes, key: request.key, idempotencyKey: idempotencyKey, number: named, isOnly: false)
      if case .failure(let refusal) = outcome { return refusal }
      records.append(
        APIRecord(
          topic: request.api.topics.requests, key: Array(items.recordKey),
          value: Array(items.recordValue)))
      return nil
    }
    if let refusal {
      request.api.counters.add(.refused)
      for token in tokens { log(notification, token, refusal.problem.detail) }
    } else {
      for problem in items.tokenProblems { log(notification, tokens[problem.index], problem.text) }
    }
  }

  private func refuse(_ notification: GorushNotification, _ error: String) {
    refused += 1
    request.api.counters.add(.refused)
    for token in notification.tokens.isEmpty ? [""] : notification.tokens {
      log(notification, token, error)
    }
  }

  /// Adds an entry for a notification that gets nothing, while the answer has room.
  private func log(_ notification: GorushNotification, _ token: String, _ error: String) {
    guard logged < Self.longestLog else {
      unlogged += 1
      return
    }
    logged += token.utf8.count + error.utf8.count + notification.message.utf8.count + 64
    logs.append(GorushAnswer.log(notification, token: token, error: error))
  }

  var allLogs: [JSONValue] {
    guard unlogged > 0 else { return logs }
    return logs + [
      ["type": "failed-push", "error": .string("\(unlogged) further entries are left out")]
    ]
  }
}
