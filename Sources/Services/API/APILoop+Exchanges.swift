// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import EventLoop
import HTTPServer
import Kafka
import ServiceKit

/// From the header of an HTTP request to its answer.
extension APILoop {
  func began(_ exchange: StreamExchange) -> HTTPResponse? {
    let resource = APIResource(path: exchange.path, gorush: settings.gorush)
    switch admit(exchange, resource) {
    case .success: return nil
    case .failure(let failure):
      counters.add(failure.problem.status == 503 ? .httpUnavailable : .httpRefused)
      return resource == .gorush
        ? GorushExchange.refusal(failure.problem) : failure.problem.response
    }
  }

  private func admit(
    _ exchange: StreamExchange, _ resource: APIResource?
  ) -> Result<Void, Admission.Failure> {
    guard let resource else { return .failure(.init(.unknownPath)) }
    guard resource.methods.contains(exchange.method) else {
      return .failure(.init(.method(exchange.method, allowed: resource.methods)))
    }
    if resource == .gorush {
      return gorushKey(exchange).flatMap { key in
        Result { () throws(Admission.Failure) in try beginGorush(exchange, key) }
      }
    }
    return key(exchange).flatMap { key in
      guard resource == .notifications else {
        return Result { () throws(Admission.Failure) in try beginDevice(exchange, resource, key) }
      }
      return Admission.body(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"),
        idempotencyKey: exchange.header("Idempotency-Key")
      ).flatMap { body in
        Result { () throws(Admission.Failure) in try begin(exchange, key, body) }
      }
    }
  }

  func key(_ exchange: StreamExchange) -> Result<APIKey, Admission.Failure> {
    Admission.bearer(exchange.header("Authorization")).flatMap { text in
      guard let key = keys.find(text) else {
        return .failure(.init(.unauthorized("this API key is not known")))
      }
      return valid(key)
    }
  }

  /// The key, unless it has expired.
  func valid(_ key: APIKey) -> Result<APIKey, Admission.Failure> {
    guard !key.isExpired(now: WallClock.milliseconds()) else {
      return .failure(.init(.unauthorized("this API key has expired")))
    }
    return .success(key)
  }

  /// The key's rate allows a request, and this process goes on.
  func demandTurn(_ key: APIKey) throws(Admission.Failure) {
    let wait = keys.wait(key, now: now)
    if wait > 0 { throw .init(.tooMany(seconds: Int(wait / 1_000) + 1)) }
    if context.signals.isStopping { throw .init(.unavailable("this process is stopping")) }
  }

  /// Kafka takes records.
  func demandProducer() throws(Admission.Failure) {
    if producer.trouble != nil || producer.isFull {
      throw .init(.unavailable("Kafka does not take requests now"))
    }
  }

  /// This process holds less of bodies and answers than it may, in memory and in files.
  func demandRoom(_ key: APIKey) throws(Admission.Failure) {
    if isOutOfMemory(key) { throw .init(.outOfMemory) }
    if isOutOfStorage(key) { throw .init(.outOfStorage) }
  }

  /// A key may hold half of what all may: one that fills it leaves room for others.
  func isOutOfMemory(_ key: APIKey) -> Bool {
    Self.isOver(server.held, settings.maxHeldBytes) { server.held(by: key.name) }
  }

  /// The same of files.
  func isOutOfStorage(_ key: APIKey) -> Bool {
    Self.isOver(server.stored, settings.maxStoredBytes) { server.stored(by: key.name) }
  }

  private static func isOver(_ all: Int, _ limit: Int, own: () -> Int) -> Bool {
    all > limit || (all > limit / 2 && own() > limit / 2)
  }

  private func begin(
    _ exchange: StreamExchange, _ key: APIKey, _ body: Admission.Body
  ) throws(Admission.Failure) {
    try demandTurn(key)
    try demandProducer()
    let limit = key.maxBody ?? settings.maxBody
    if body.form == .document, let length = exchange.announcedLength, length > limit {
      throw .init(.tooLarge(limit))
    }
    try demandRoom(key)
    let submission = Submission(
      exchange, key: key, keyRevision: keys.revision, idempotencyKey: body.idempotencyKey,
      maxBody: limit, form: body.form,
      inflater: body.isPacked ? Inflater() : nil)
    submission.slot = submissions.insert(submission)
    exchange.owner = key.name
    exchange.attachment = submission
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    if let device = exchange.attachment as? DeviceExchange { received(bytes, device) }
    if let push = exchange.attachment as? GorushExchange { received(bytes, push) }
    guard let submission = exchange.attachment as? Submission else { return bytes.count }
    // What follows a mistake is read and dropped: the answer can only come behind it.
    if submission.isGivenUp { return bytes.count }
    guard !submission.isBlocked else {
      exchange.pause()
      return 0
    }
    counters.add(.bytes, bytes.count)
    if let inflater = submission.inflater {
      inflater.append(bytes)
    } else {
      submission.buffer.append(bytes)
      submission.bill.bytes += bytes.count
      spend(bytes.count, on: submission)
    }
    proceed(submission)
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    if let device = exchange.attachment as? DeviceExchange { return ended(device) }
    if let push = exchange.attachment as? GorushExchange { return ended(push) }
    guard let submission = exchange.attachment as? Submission else { return }
    submission.isBodyComplete = true
    proceed(submission)
  }

  func gone(_ exchange: StreamExchange) {
    if let device = exchange.attachment as? DeviceExchange { return gone(device) }
    if let push = exchange.attachment as? GorushExchange { return gone(push) }
    guard let submission = exchange.attachment as? Submission else { return }
    exchange.attachment = nil
    if !submission.isAnswered { counters.add(.httpAborted) }
    submission.isAnswered = true
    submission.isGivenUp = true
    submission.hasEnded = true
    submission.dropBody()
    // Its file too, though Kafka's answers are still to come.
    submission.verdicts = VerdictLog()
    release(submission)
  }

  /// Works on what has arrived, as far as this turn, Kafka and the key's rate allow.
  func proceed(_ submission: Submission) {
    defer { if !submission.isAnswered { submission.account() } }
    while !submission.hasEnded {
      submission.isBlocked = !work(submission) || (submission.hasMore && !mayGoOn(submission))
      if submission.isBlocked { return }
      guard unpack(submission) else { break }
    }
    if submission.exchange.isPaused, !submission.isBodyComplete { submission.exchange.goOn() }
    if submission.isBodyComplete, !submission.hasEnded { end(submission) }
  }

  /// Brings the next piece of a packed body; false when there is none now.
  private func unpack(_ submission: Submission) -> Bool {
    guard submission.hasMore, let inflater = submission.inflater else { return false }
    let before = submission.buffer.count
    guard inflater.unpack(into: &submission.buffer) else {
      giveUp(submission, .malformed("the body is not valid gzip"))
      return false
    }
    submission.bill.bytes += submission.buffer.count - before
    spend(submission.buffer.count - before, on: submission)
    return submission.buffer.count > before
  }

  /// The body is complete and looked at: answers as soon as Kafka has it.
  private func end(_ submission: Submission) {
    submission.hasEnded = true
    submission.deadline = now + UInt64(settings.ackTimeoutMilliseconds)
    if submission.outstanding == 0 { finish(submission) }
  }

  /// Answers.
  func finish(_ submission: Submission) {
    guard !submission.isAnswered else { return release(submission) }
    submission.isAnswered = true
    submission.deadline = .max
    let response = submission.response()
    keys.figures.count(submission.acknowledged, of: submission.key)
    note(submission.exchange, submission.key, requests: submission.acknowledged)
    submission.buffer = ByteBuffer(capacity: 16)
    submission.exchange.held = response.heldBytes
    submission.exchange.stored = submission.verdicts.storedBytes
    counters.add(
      response.status < 300
        ? .httpAccepted : response.status >= 500 ? .httpUnavailable : .httpRefused)
    submission.exchange.answer(response)
    release(submission)
  }

  /// The line of the log that says who has sent something. At level debug: there may be thousands per second.
  func note(_ exchange: StreamExchange, _ key: APIKey, requests: Int) {
    context.log.debug(
      "HTTP request accepted",
      [
        "key": key.name, "client": exchange.client, "method": exchange.method,
        "path": exchange.path, "requests": "\(requests)",
      ])
  }

  /// Lets a body go when it is answered and no record names it.
  private func release(_ submission: Submission) {
    guard submission.isAnswered, submission.outstanding == 0, let slot = submission.slot else {
      return
    }
    submission.slot = nil
    submissions.remove(slot)
  }
}
