// SPDX-License-Identifier: Apache-2.0
import Access
import EventLoop
import HTTPServer
import Kafka
import ServiceKit

/// Runs the requests of the small resources, from the head through body, database and Kafka to the answer. The key's
/// rights are checked before every step.
final class APIFrame {
  private let api: APIContext
  private let queries: QueryWorker?
  private let routes: [APIRoute]
  /// Open requests with a complete body, by number.
  private var open: [UInt64: APIRequest] = [:]
  private var last: UInt64 = 0
  /// Requests with long bodies that have not been read yet.
  private var unread: [APIRequest] = []

  /// The most requests kept for Kafka's answer after their client has gone; the outcome of further ones is not logged.
  private static let mostGone = 256
  /// The bits that distinguish record tags from those of notifications, and batches among them.
  private static let mark: UInt = 1 << 63
  private static let batchMark: UInt = 1 << 62
  /// The bits of the tags of records that end the requests of removed keys' holders.
  static let endMark: UInt = mark | 1 << 61

  init(_ api: APIContext, _ queries: QueryWorker?) {
    self.api = api
    self.queries = queries
    routes = APIRoute.all + (api.settings.gorush ? GorushAPI.routes : [])
  }

  var isEmpty: Bool { open.isEmpty }

  // MARK: Requests

  /// - Returns: the answer to a request that is refused by its head; nil if it is not refused.
  func began(_ exchange: StreamExchange) -> HTTPResponse? {
    let path = APIRoute.segments(exchange.path)
    let found = routes.compactMap { route in route.values(in: path).map { (route, $0) } }
    return api.refusal(found.first?.0.refusal) { () throws(Problem) in
      guard !found.isEmpty else {
        throw .notFound("there is no such resource; docs/api.md lists those that there are")
      }
      guard let (route, values) = found.first(where: { $0.0.method == exchange.method }) else {
        throw .method(exchange.method, allowed: found.map(\.0.method))
      }
      try admit(exchange, route, values)
    }
  }

  private func admit(
    _ exchange: StreamExchange, _ route: APIRoute, _ values: [String]
  ) throws(Problem) {
    let key = try route.key(api, exchange)
    try api.demandTurn(key)
    try Arguments.check(exchange, route.arguments)
    try route.right?.demand(key)
    if route.body > 0 {
      try Admission.plainJSON(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"))
    }
    let request = APIRequest(api, exchange, route, values, key)
    _ = try route.handler(request)
    try demand(route.needs, key)
    if request.isBatch {
      let limit = request.longestBody
      if let length = exchange.announcedLength, length > limit { throw route.tooLarge(limit) }
    } else {
      api.keys.take(key, 1, now: api.now)
    }
    exchange.owner = key.name
    exchange.attachment = request
  }

  private func demand(_ needs: APIRoute.Needs, _ key: APIKey) throws(Problem) {
    if needs.contains(.database) { try demandQuestion(of: key) }
    if needs.contains(.kafka) { try api.demandProducer() }
    if !needs.isDisjoint(with: [.database, .batch]) { try api.demandRoom(key) }
  }

  /// Checks that there is a database, with room for one more question.
  ///
  /// - Parameter request: the key's request that asks, if its body is complete.
  private func demandQuestion(of key: APIKey, for request: APIRequest? = nil) throws(Problem) {
    guard let queries else {
      throw .unavailable("this process has no database; start it with --database")
    }
    let waiting = open.values.count {
      $0 !== request && $0.key.name == key.name && $0.route.needs.contains(.database)
    }
    guard !queries.isFull, waiting < QueryWorker.share else {
      throw .unavailable("too many questions wait for the database")
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    guard let request = exchange.attachment as? APIRequest else { return bytes.count }
    api.counters.add(.bytes, bytes.count)
    request.append(bytes)
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let request = exchange.attachment as? APIRequest else { return }
    last += 1
    request.number = last
    open[last] = request
    request.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
    guard request.isBatch else { return read(request) }
    unread.append(request)
    api.hasBacklog = true
  }

  func gone(_ exchange: StreamExchange) {
    guard let request = exchange.attachment as? APIRequest else { return }
    exchange.attachment = nil
    api.countUnanswered(exchange)
    request.isGone = true
    request.records.removeSubrange(request.next...)
    // Records already handed to Kafka are still logged.
    if request.outstanding == 0 || open.values.count(where: \.isGone) > Self.mostGone {
      close(request)
    }
  }

  func turn() {
    if !unread.isEmpty {
      // Only one per turn, so that many do not delay others.
      read(unread.removeFirst())
      api.hasBacklog = api.hasBacklog || !unread.isEmpty
    }
    for request in Array(open.values) {
      if request.next < request.records.count { produce(request) }
      if api.now >= request.resumesAt, let then = request.then {
        request.resumesAt = .max
        step(request, then)
      }
      guard api.now >= request.deadline, open[request.number] != nil else { continue }
      let whose = request.outstanding > 0 ? "Kafka did not acknowledge it" : "there was no answer"
      end(request, because: request.isBatch ? .unacknowledged : .unavailable("\(whose) in time"))
    }
  }

  // MARK: Steps

  private func read(_ request: APIRequest) {
    guard open[request.number] != nil else { return }
    request.isComplete = true
    step(request) { (request) throws(Problem) in
      if let problem = request.bodyProblem { throw problem }
      return try request.route.handler(request)
    }
  }

  /// Runs a step with the key's current rights: the body, the database or Kafka may have taken a while.
  private func step(_ request: APIRequest, _ handler: APIRoute.Handler) {
    do throws(Problem) {
      if !request.isAcknowledged {
        request.key = try api.current(request.key)
        try request.route.right?.demand(request.key)
      }
      try perform(try handler(request), request)
    } catch {
      end(request, because: error)
    }
  }

  private func perform(_ action: APIAction, _ request: APIRequest) throws(Problem) {
    switch action {
    case .read: end(request, because: .malformed("the body is missing"))
    case .answer(let response): end(request, response)
    case .ask(let query):
      guard !request.isGone else {
        open[request.number] = nil
        return
      }
      // Since its head was admitted, the bodies of many others may have come.
      if !request.isAcknowledged { try demandQuestion(of: request.key, for: request) }
      extend(request, from: api.now)
      // The answer counts while it is being built, too.
      request.exchange.held = request.body.reservedBytes + query.answerBytes
      queries?.ask(request.number, query, of: request.key)
    case .produce(let records, let then):
      (request.records, request.then) = (records, then)
      request.body = ByteBuffer(capacity: 16)
      produce(request)
    case .wait(let time, let then):
      (request.resumesAt, request.then) = (time, then)
      extend(request, from: time)
    }
  }

  /// Gives the steps after Kafka's acknowledgement the same time again.
  private func extend(_ request: APIRequest, from time: UInt64) {
    guard request.isAcknowledged else { return }
    request.deadline = time + UInt64(api.settings.ackTimeoutMilliseconds)
  }

  /// Takes the database's answer to a query.
  func answered(_ answer: QueryWorker.Answer) {
    guard let request = open[answer.number] else { return }
    let before = request.key
    step(request) { (request) throws(Problem) in
      guard let next = answer.next else { throw .unavailable("the database does not answer") }
      // The key's rights decided what was read: with others it is read again.
      guard request.key == before else { return try request.route.handler(request) }
      return try next(request)
    }
  }

  private func end(_ request: APIRequest, because problem: Problem) {
    end(request, request.isAcknowledged ? .accepted : request.route.refusal(problem))
  }

  private func end(_ request: APIRequest, _ response: HTTPResponse) {
    close(request)
    api.answer(request.exchange, request, response)
  }

  /// Waits no longer for Kafka's answers: the verdict on what has none is that it was not acknowledged.
  private func close(_ request: APIRequest) {
    open[request.number] = nil
    guard request.isBatch else { return }
    let left = request.records.count - request.next
    api.counters.add(.unacknowledged, request.outstanding + left)
  }

  // MARK: Kafka

  /// Hands records to Kafka as long as there is room.
  private func produce(_ request: APIRequest) {
    if request.isBatch { stopIfChanged(request) }
    let tag = Self.mark | (request.isBatch ? Self.batchMark : 0) | UInt(request.number)
    while request.next < request.records.count, !request.isBatch || mayProduce {
      let record = request.records[request.next]
      switch api.producer.produce(
        record.topic, key: record.key, value: record.value, headers: record.headers, tag: tag)
      {
      case .queued: request.outstanding += 1
      case .full where request.isBatch: return
      case .full: return end(request, because: .unavailable("Kafka does not take records now"))
      case .refused(let error):
        api.tellRefusal(error, of: record.topic, "\(error)")
        guard request.isBatch else {
          return end(request, because: .unavailable("Kafka does not take records now"))
        }
        api.counters.add(.unacknowledged)
        request.hasFailed = true
      }
      request.next += 1
    }
    settle(request)
  }

  private var mayProduce: Bool {
    api.producer.outstandingBytes < api.settings.maxInFlightBytes && !api.producer.isFull
  }

  /// If the key's apps have changed, stops: it is no longer known which records are for which app.
  private func stopIfChanged(_ request: APIRequest) {
    guard (try? api.current(request.key))?.apps != request.key.apps else { return }
    request.hasFailed = request.hasFailed || request.next < request.records.count
    request.records.removeSubrange(request.next...)
  }

  /// Takes Kafka's answer to a record.
  ///
  /// - Returns: false if the record is not of a small resource.
  func delivered(_ tag: UInt, isAcknowledged: Bool) -> Bool {
    guard tag & Self.mark != 0 else { return false }
    guard tag & Self.endMark != Self.endMark else {
      CampaignsAPI.ended(tag & ~Self.endMark, isAcknowledged: isAcknowledged, api)
      return true
    }
    let isBatch = tag & Self.batchMark != 0
    guard let request = open[UInt64(tag & ~Self.mark & ~Self.batchMark)] else { return true }
    if isBatch { api.counters.add(isAcknowledged ? .acknowledged : .unacknowledged) }
    if isBatch, isAcknowledged { api.keys.figures.count(1, of: request.key) }
    request.outstanding -= 1
    request.hasFailed = request.hasFailed || !isAcknowledged
    if request.hasFailed, !isBatch {
      end(request, because: .unavailable("Kafka did not acknowledge it"))
    } else {
      settle(request)
    }
    return true
  }

  /// Continues once Kafka has answered for all records.
  private func settle(_ request: APIRequest) {
    guard request.next == request.records.count, request.outstanding == 0 else { return }
    api.note(request.exchange, request.key, requests: request.next)
    guard !request.hasFailed else { return end(request, because: .unacknowledged) }
    request.isAcknowledged = true
    guard let then = request.then.take() else { return end(request, .accepted) }
    step(request, then)
  }
}

extension Problem {
  fileprivate static let unacknowledged = unavailable(
    "Kafka did not acknowledge all of it; send it again")
}
