// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Compatibility
import HTTPServer
import JSON

/// A `POST /api/push` on its way to Kafka.
final class GorushExchange {
  /// A record to be produced.
  struct Record {
    let key: [UInt8]
    let value: [UInt8]
  }

  let exchange: StreamExchange
  let key: APIKey
  let idempotencyKey: String?
  let maxBody: Int
  var body = ByteBuffer(capacity: 4_096)
  /// The body has more than `maxBody` bytes: the rest is dropped.
  var isTooLong = false
  var number: UInt64 = 0
  /// When it is given up (monotonic milliseconds).
  var deadline = UInt64.max
  /// Records that Kafka is to get; those before `next` it was given.
  var records: [Record] = []
  var next = 0
  /// Records handed to Kafka without an answer.
  var outstanding = 0
  var hasFailed = false
  /// Tokens of notifications for iOS, and entries of those that get nothing.
  var count = 0
  var logs: [JSONValue] = []

  init(_ exchange: StreamExchange, _ key: APIKey, idempotencyKey: String?, maxBody: Int) {
    self.exchange = exchange
    self.key = key
    self.idempotencyKey = idempotencyKey
    self.maxBody = maxBody
  }

  /// Kafka has, or has refused, everything.
  var isDone: Bool { next == records.count && outstanding == 0 }

  func append(_ bytes: UnsafeRawBufferPointer) {
    isTooLong = isTooLong || body.count + bytes.count > maxBody
    if isTooLong { body.removeAll() } else { body.append(bytes) }
  }

  /// Its answer.
  func response() -> HTTPResponse {
    hasFailed
      ? Self.refusal(.unavailable("Kafka did not acknowledge all of it; send it again"))
      : Self.answer(200, GorushAnswer.accepted(count: count, logs: logs))
  }

  /// A problem as gorush words it.
  static func refusal(_ problem: Problem) -> HTTPResponse {
    var response = problem.response
    response.contentType = "application/json"
    response.body = .bytes(GorushAnswer.refused(problem.status, problem.detail).text)
    return response
  }

  private static func answer(_ status: Int, _ value: JSONValue) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", body: .bytes(value.text))
  }
}

/// The bodies in gorush's format that wait for Kafka, by number.
struct GorushExchanges {
  /// Marks the tags of their records among those of others.
  private static let mark: UInt = 1 << 62

  private var open: [UInt64: GorushExchange] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { open.isEmpty }
  var all: [GorushExchange] { Array(open.values) }

  mutating func insert(_ exchange: GorushExchange) {
    last += 1
    exchange.number = last
    open[last] = exchange
  }

  subscript(number: UInt64) -> GorushExchange? { open[number] }

  mutating func remove(_ exchange: GorushExchange) { open[exchange.number] = nil }

  static func tag(_ exchange: GorushExchange) -> UInt { mark | UInt(exchange.number) }

  static func number(ofTag tag: UInt) -> UInt64? {
    tag >> 62 == 1 ? UInt64(tag & ~mark) : nil
  }
}
