// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Records

/// A body of requests in progress: the bytes received, and the verdicts so far.
final class Submission {
  let exchange: StreamExchange
  var key: KeyInUse
  /// From `Idempotency-Key`: the base of ids for requests without one.
  let idempotencyKey: String?
  /// The most bytes of a document; NDJSON has no limit.
  let maxBody: Int
  let body: SubmittedBody
  var verdicts = VerdictLog()
  /// The number of its requests and bytes so far.
  var bill = BodyBill()
  var acknowledged = 0
  /// The number of those that were counted for its key.
  var counted = 0
  /// The last turn in which it was processed, and the work spent in it.
  private var work: (turn: UInt64, cost: Int) = (0, 0)
  /// The number of requests handed to Kafka and not yet answered.
  var outstanding = 0
  /// The common status of all refusals; nil if they differ.
  private var refusedStatus: Int?
  private var submitted = 0
  var ending: Problem?
  var isGivenUp = false
  /// The body waits for Kafka, or for its key's rate.
  var isBlocked = false
  /// The body is complete, and every item has its verdict.
  var hasEnded = false
  var isAnswered = false
  /// Its answer has a verdict on each of its requests, which Kafka's later answers do not change.
  var isDecided = false
  /// The time at which unacknowledged items are given up (monotonic milliseconds).
  var deadline = UInt64.max
  var slot: Int?

  init(
    _ exchange: StreamExchange, _ key: KeyInUse, _ body: SubmittedBody, idempotencyKey: String?,
    maxBody: Int
  ) {
    self.exchange = exchange
    self.key = key
    self.body = body
    self.idempotencyKey = idempotencyKey
    self.maxBody = maxBody
  }

  var hasMore: Bool { !isGivenUp && body.inflater?.hasMore ?? false }

  // MARK: Bounds

  func used(in turn: UInt64) -> Int { work.turn == turn ? work.cost : 0 }

  func use(_ cost: Int, in turn: UInt64) { work = (turn, used(in: turn) + cost) }

  func noteEmptyLines() { bill.emptyLines = body.splitter.emptyLines }

  /// Reports its memory and disk usage to the server.
  func account() {
    exchange.held = body.buffer.reservedBytes + verdicts.reservedBytes
    exchange.stored = verdicts.storedBytes
  }

  func dropBody() {
    body.drop()
    account()
  }

  func noteRefusal(_ status: Int) {
    refusedStatus = refusedStatus == nil || refusedStatus == status ? status : 400
  }

  // MARK: Verdicts

  private func separate() {
    guard body.shape == .array else { return }
    verdicts.append(verdicts.count == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
  }

  private func endVerdict() {
    if body.shape == .lines { verdicts.append(UInt8(ascii: "\n")) }
  }

  /// Appends the verdict on a request that goes to Kafka; returns the position of its status.
  func appendVerdict(_ item: ItemReader) -> Int {
    submitted += 1
    separate()
    verdicts.append("{\"status\":")
    let offset = verdicts.count
    verdicts.append("503,\"id\":\"")
    verdicts.append(item.escapedID)
    verdicts.append(UInt8(ascii: "\""))
    // Ids for users' devices are not known yet.
    if !item.apnsIDs.isEmpty { append(item.apnsIDs) }
    if !item.tokenProblems.isEmpty { append(item.tokenProblems) }
    if !item.warnings.isEmpty {
      verdicts.append(",\"warnings\":")
      item.warnings.json.text.withUnsafeBytes { verdicts.append($0) }
    }
    verdicts.append(UInt8(ascii: "}"))
    endVerdict()
    return offset
  }

  private func append(_ ids: [NotificationID?]) {
    verdicts.append(",\"apns_ids\":[")
    for (index, id) in ids.enumerated() {
      if index > 0 { verdicts.append(UInt8(ascii: ",")) }
      guard let id else {
        verdicts.append("null")
        continue
      }
      verdicts.append(UInt8(ascii: "\""))
      verdicts.append(id)
      verdicts.append(UInt8(ascii: "\""))
    }
    verdicts.append(UInt8(ascii: "]"))
  }

  private func append(_ problems: [(index: Int, text: String)]) {
    verdicts.append(",\"invalid_tokens\":")
    let list = problems.map { problem -> JSONValue in
      ["index": .integer(Int64(problem.index)), "detail": .string(problem.text)]
    }
    JSONValue.array(list).text.withUnsafeBytes { verdicts.append($0) }
  }

  func appendRefusal(_ problem: Problem, id: String?) {
    separate()
    guard case .object(var object) = problem.json else { return }
    if let id { object.append("id", .string(id)) }
    JSONValue.object(object).text.withUnsafeBytes { verdicts.append($0) }
    endVerdict()
  }

  /// The answer to the whole body: 202 if Kafka has acknowledged any of its requests.
  func response() -> HTTPResponse {
    if let ending, bill.requests == 0 || (submitted == 0 && body.shape == .single) {
      return ending.response
    }
    if bill.requests == 0 { return Problem.malformed("the body has no request in it").response }
    if let ending { appendRefusal(ending, id: nil) }
    if body.shape == .array { verdicts.append("]\n") }
    let body: HTTPResponse.Body
    do throws(SystemError) {
      body = try verdicts.takeBody()
    } catch {
      return Problem.unavailable("the verdicts cannot be read: \(error)").response
    }
    return HTTPResponse(
      status: status, contentType: contentType, body: body,
      headers: status == 503 ? [("Retry-After", "5")] : [])
  }

  private var status: Int {
    if acknowledged > 0 { return 202 }
    return submitted > 0 ? 503 : refusedStatus ?? 400
  }

  private var contentType: String {
    switch body.shape {
    case .lines: "application/x-ndjson"
    case .array: "application/json"
    case .single: submitted > 0 ? "application/json" : Problem.contentType
    }
  }
}
