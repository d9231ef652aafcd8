// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Kafka

/// The next action of a small resource for a request.
enum APIAction {
  /// Read the body first.
  case read
  case answer(HTTPResponse)
  /// Query the database; continues with the result.
  case ask(Query)
  /// Hand records to Kafka; continues once all are acknowledged, even if the client has gone.
  case produce([APIRecord], then: APIRoute.Handler = { _ in .answer(.accepted) })
  /// Continue at a time (monotonic milliseconds).
  case wait(until: UInt64, then: APIRoute.Handler)
}

struct APIRecord {
  let topic: KafkaTopic
  let key: [UInt8]
  /// nil for a tombstone.
  let value: [UInt8]?
  var headers: [KafkaHeader] = []
}

/// A request to a small resource, from its head to its answer.
final class APIRequest {
  let api: APIContext
  let exchange: StreamExchange
  let route: APIRoute
  let values: [String]
  /// The key as it was before the current step.
  var key: APIKey
  let longestBody: Int
  var body = ByteBuffer(capacity: 256)
  var isComplete = false

  // For `APIFrame`:
  var bodyProblem: Problem?
  var number: UInt64 = 0
  /// The records to produce: those before `next` were handed to Kafka, which has not answered `outstanding` of them.
  var records: [APIRecord] = []
  var next = 0
  var outstanding = 0
  var hasFailed = false
  /// Kafka has acknowledged its records: what follows only affects the answer.
  var isAcknowledged = false
  var isGone = false
  /// The next step, after Kafka's acknowledgement or at `resumesAt`.
  var then: APIRoute.Handler?
  /// Monotonic milliseconds.
  var resumesAt = UInt64.max
  /// The time at which it is given up (monotonic milliseconds).
  var deadline = UInt64.max

  init(
    _ api: APIContext, _ exchange: StreamExchange, _ route: APIRoute, _ values: [String],
    _ key: APIKey
  ) {
    (self.api, self.exchange, self.route, self.values, self.key) = (
      api, exchange, route, values, key
    )
    longestBody = route.needs.contains(.batch) ? key.maxBody ?? api.settings.maxBody : route.body
  }

  var isBatch: Bool { route.needs.contains(.batch) }

  func argument(_ name: String) -> String? { exchange.argument(name) }

  /// The app in the query; nil for none.
  func app() throws(Problem) -> String? {
    try argument("app").map { (text) throws(Problem) in try Arguments.app(text) }
  }

  /// The environment in the query; nil for none.
  func environment() throws(Problem) -> Environment? {
    try Arguments.environment(argument("environment"))
  }

  func limit(_ most: Int, usual: Int) throws(Problem) -> Int {
    guard let text = argument("limit") else { return usual }
    guard let number = Int(text), (1...most).contains(number) else {
      throw .field("limit", "must be a number from 1 to \(most)")
    }
    return number
  }

  func demandSend(for app: String) throws(Problem) {
    guard key.maySend(for: app) else { throw .forbidden(app: app) }
  }

  func demandRead(of app: String) throws(Problem) {
    guard key.mayRead(app) else {
      throw .forbidden("this key may not read what is known of \(app)", field: "app")
    }
  }

  /// Takes a part of the body. If it is too long, or exceeds this process's room, it is refused at its end.
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard longestBody > 0, bodyProblem == nil else { return }
    body.append(bytes)
    if body.count > longestBody {
      bodyProblem = route.tooLarge(longestBody)
    } else if body.reservedBytes > Inflater.piece, api.isOutOfMemory(key) {
      bodyProblem = .outOfMemory
    }
    if bodyProblem != nil { body = ByteBuffer(capacity: 16) }
    exchange.held = body.reservedBytes
  }
}

extension HTTPResponse {
  static let accepted = HTTPResponse.json(#"{"status":202}"#, status: 202)
}
