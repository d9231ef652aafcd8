// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import HTTPServer
import Kafka

/// What a small resource does with a request.
enum APIAction {
  /// Its body comes first.
  case read
  case answer(HTTPResponse)
  /// Asks the database; goes on with what it knows.
  case ask(Query)
  /// Hands records to Kafka, and goes on when it has all of them, also if the client has gone.
  case produce([APIRecord], then: APIRoute.Handler = { _ in .answer(.accepted) })
  /// Goes on at a time (monotonic milliseconds).
  case wait(until: UInt64, then: APIRoute.Handler)
}

/// A record that a request is to become.
struct APIRecord {
  let topic: KafkaTopic
  let key: [UInt8]
  /// nil: a tombstone.
  let value: [UInt8]?
  var headers: [KafkaHeader] = []
}

/// A request to a small resource, from its head to its answer.
final class APIRequest {
  let api: APIContext
  let exchange: StreamExchange
  let route: APIRoute
  /// What the path has for the names in the route's.
  let values: [String]
  /// As it was before the step that is being taken.
  var key: APIKey
  let longestBody: Int
  var body = ByteBuffer(capacity: 256)
  var isComplete = false

  // For `APIFrame`:
  /// Why its body was dropped.
  var bodyProblem: Problem?
  var number: UInt64 = 0
  /// Those before `next` Kafka was given, and of these it has not answered `outstanding`.
  var records: [APIRecord] = []
  var next = 0
  var outstanding = 0
  var hasFailed = false
  /// Kafka has its records: what follows decides about the answer alone.
  var isAcknowledged = false
  var isGone = false
  /// The next step, behind Kafka's answer or at `resumesAt`.
  var then: APIRoute.Handler?
  /// Monotonic milliseconds.
  var resumesAt = UInt64.max
  /// When it is given up (monotonic milliseconds).
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

  /// The app that the query names; nil for none.
  func app() throws(Problem) -> String? {
    try argument("app").map { (text) throws(Problem) in try Arguments.app(text) }
  }

  /// The environment that the query names; nil for none.
  func environment() throws(Problem) -> Environment? {
    try Arguments.environment(argument("environment"))
  }

  /// The number of things that the query asks for.
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

  /// Takes a part of the body. What is too long, or more than this process has room for, is refused at its end.
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
