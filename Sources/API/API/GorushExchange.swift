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
  var key: KeyInUse
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
  private var logs: [JSONValue] = []
  private var logged = 0
  private var unlogged = 0
  /// The most bytes of entries in an answer: an entry repeats its notification's message.
  private static let longestLog = 1 << 20
  /// The body was looked at.
  var isRead = false

  init(
    _ exchange: StreamExchange, _ key: KeyInUse, idempotencyKey: String?, maxBody: Int
  ) {
    self.exchange = exchange
    self.key = key
    self.idempotencyKey = idempotencyKey
    self.maxBody = maxBody
  }

  /// Kafka has, or has refused, everything.
  var isDone: Bool { isRead && next == records.count && outstanding == 0 }

  /// Adds an entry for a notification that gets nothing, as long as the answer has room.
  func log(_ notification: GorushNotification, token: String, error: String) {
    guard logged < Self.longestLog else {
      unlogged += 1
      return
    }
    let entry = GorushAnswer.log(notification, token: token, error: error)
    logged += token.utf8.count + error.utf8.count + notification.message.utf8.count + 64
    logs.append(entry)
  }

  /// Kafka gets nothing more of it.
  func stop() {
    hasFailed = hasFailed || next < records.count
    records.removeSubrange(next...)
  }

  /// The process had no memory for it.
  var isOutOfMemory = false

  /// Bytes of memory that it takes.
  func account() {
    exchange.held =
      body.reservedBytes + logged + records.reduce(0) { $0 + $1.key.count + $1.value.count }
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    isTooLong = isTooLong || body.count + bytes.count > maxBody
    if isTooLong { body = ByteBuffer(capacity: 16) }
    if !isTooLong, !isOutOfMemory { body.append(bytes) }
  }

  /// Its answer.
  func response() -> HTTPResponse {
    hasFailed
      ? Self.refusal(.unavailable("Kafka did not acknowledge all of it; send it again"))
      : Self.answer(200, GorushAnswer.accepted(count: count, logs: allLogs))
  }

  private var allLogs: [JSONValue] {
    guard unlogged > 0 else { return logs }
    return logs + [
      ["type": "failed-push", "error": .string("\(unlogged) further entries are left out")]
    ]
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
  /// Those whose body was not looked at, in their order.
  var unread: [GorushExchange] {
    open.values.filter { !$0.isRead }.sorted { $0.number < $1.number }
  }

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
