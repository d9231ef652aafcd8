// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import HTTPServer
import JSON

/// A body of requests on its way to Kafka: what has arrived of it, and the verdicts so far.
final class Submission {
  enum Shape { case single, array, lines }

  let exchange: StreamExchange
  /// As the key ring had it when `keyRevision` was its revision.
  var key: APIKey
  var keyRevision: Int
  /// From `Idempotency-Key`: names the requests that have no id.
  let idempotencyKey: String?
  /// The most bytes of a document; lines have no limit.
  let maxBody: Int
  var splitter: ItemSplitter
  var inflater: Inflater?
  var buffer = ByteBuffer(capacity: 4_096)
  var verdicts = VerdictLog()
  /// Requests and bytes in it so far.
  var bill = BodyBill()
  /// Requests that Kafka has acknowledged.
  var acknowledged = 0
  /// The turn in which work was done on it last, and how much.
  private var turn: UInt64 = 0
  private var used = 0
  /// Those handed to Kafka without an answer.
  var outstanding = 0
  /// The status of all refusals as long as it is the same.
  private var refusedStatus: Int?
  private var submitted = 0
  private var item: Range<Int>?
  /// Blanks at the front of a document that were looked at.
  private var blanks = 0
  /// Why nothing more of it is looked at.
  var ending: Problem?
  var isGivenUp = false
  /// It waits for Kafka, or for its key's rate.
  var isBlocked = false
  var isBodyComplete = false
  /// The body has arrived and every item has its verdict.
  var hasEnded = false
  var isAnswered = false
  /// When items that Kafka has not acknowledged are given up (monotonic milliseconds).
  var deadline = UInt64.max
  /// Its number among those under way.
  var slot: Int?

  init(
    _ exchange: StreamExchange, key: APIKey, keyRevision: Int, idempotencyKey: String?,
    maxBody: Int, form: ItemSplitter.Form, inflater: Inflater?
  ) {
    self.exchange = exchange
    self.key = key
    self.keyRevision = keyRevision
    self.idempotencyKey = idempotencyKey
    self.maxBody = maxBody
    self.inflater = inflater
    splitter = ItemSplitter(form)
  }

  var shape: Shape {
    switch splitter.form {
    case .lines: .lines
    case .document: splitter.isArray ? .array : .single
    }
  }

  /// True if nothing will be added to `buffer`.
  var isWhole: Bool { isBodyComplete && !(inflater?.hasMore ?? false) }

  /// A packed body has more to unpack.
  var hasMore: Bool { !isGivenUp && inflater?.hasMore ?? false }

  /// The body ends in the middle of its packed form.
  var isCutOff: Bool { isWhole && !(inflater?.isComplete ?? true) }

  /// The next request in the body, as a range of `buffer`, the same until `passItem`. A single one comes when the body
  /// has ended behind it.
  func next() throws(ItemSplitter.Problem) -> Range<Int>? {
    if let item { return item }
    item = try find()
    return item
  }

  func passItem() { item = nil }

  private func find() throws(ItemSplitter.Problem) -> Range<Int>? {
    let isEnd = isWhole
    return try buffer.withSpan { (bytes) throws(ItemSplitter.Problem) in
      if splitter.form == .document, !splitter.isArray, !isEnd, !beginsArray(bytes) { return nil }
      let item = try splitter.next(in: bytes, isEnd: isEnd)
      if item != nil, shape == .single { _ = try splitter.next(in: bytes, isEnd: isEnd) }
      return item
    }
  }

  /// Each blank before a document is looked at once, in however small pieces they come.
  private func beginsArray(_ bytes: Span<UInt8>) -> Bool {
    while blanks < bytes.count, bytes[blanks] <= 0x20 { blanks += 1 }
    return blanks < bytes.count && bytes[blanks] == UInt8(ascii: "[")
  }

  // MARK: Bounds

  /// The work that was spent on it in this turn.
  func used(in turn: UInt64) -> Int { self.turn == turn ? used : 0 }

  func use(_ cost: Int, in turn: UInt64) {
    used = used(in: turn) + cost
    self.turn = turn
  }

  /// Empty lines count, too.
  func noteEmptyLines() { bill.emptyLines = splitter.emptyLines }

  /// Tells the server how much memory and disk it takes.
  func account() {
    exchange.held = buffer.reservedBytes + verdicts.reservedBytes
    exchange.stored = verdicts.storedBytes
  }

  /// Nothing more of the body is looked at.
  func dropBody() {
    buffer = ByteBuffer(capacity: 16)
    inflater = nil
    item = nil
    account()
  }

  func removePassed() {
    buffer.removeFirst(splitter.passed)
    splitter.removedPassed()
  }

  /// Counts a refusal.
  func noteRefusal(_ status: Int) {
    refusedStatus = refusedStatus == nil || refusedStatus == status ? status : 400
  }

  // MARK: Verdicts

  private func separate() {
    switch shape {
    case .single: break
    case .array: verdicts.append(verdicts.count == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
    case .lines: break
    }
  }

  private func endVerdict() {
    if shape == .lines { verdicts.append(UInt8(ascii: "\n")) }
  }

  /// Adds the verdict on a request that goes to Kafka; returns where its status stands.
  func appendVerdict(_ item: ItemReader) -> Int {
    submitted += 1
    separate()
    verdicts.append("{\"status\":")
    let offset = verdicts.count
    verdicts.append("503,\"id\":\"")
    verdicts.append(item.escapedID)
    verdicts.append("\",\"apns_ids\":[")
    for (index, id) in item.apnsIDs.enumerated() {
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
    if !item.tokenProblems.isEmpty { append(item.tokenProblems) }
    verdicts.append(UInt8(ascii: "}"))
    endVerdict()
    return offset
  }

  private func append(_ problems: [(index: Int, text: String)]) {
    verdicts.append(",\"invalid_tokens\":")
    let list = problems.map { problem -> JSONValue in
      ["index": .integer(Int64(problem.index)), "detail": .string(problem.text)]
    }
    JSONValue.array(list).text.withUnsafeBytes { verdicts.append($0) }
  }

  /// Adds the verdict on a request that is refused.
  func appendRefusal(_ problem: Problem, id: String?) {
    separate()
    guard case .object(var object) = problem.json else { return }
    if let id { object.append("id", .string(id)) }
    JSONValue.object(object).text.withUnsafeBytes { verdicts.append($0) }
    endVerdict()
  }

  /// The answer to the whole body: 202 if Kafka has any of its requests.
  func response() -> HTTPResponse {
    if let ending, bill.requests == 0 || (submitted == 0 && shape == .single) {
      return ending.response
    }
    if bill.requests == 0 { return Problem.malformed("the body has no request in it").response }
    if let ending { appendRefusal(ending, id: nil) }
    if shape == .array { verdicts.append("]\n") }
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
    switch shape {
    case .lines: "application/x-ndjson"
    case .array: "application/json"
    case .single: submitted > 0 ? "application/json" : Problem.contentType
    }
  }
}
