// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Kafka
import Records
import ServiceKit

/// `POST /v1/notifications`: hands the requests in a body to Kafka, and answers with verdicts once Kafka has them.
final class NotificationsAPI {
  static let path = "/v1/notifications"
  /// The most bytes of one request: a broker's record limit, less room for an id.
  static let longestItem = 900_000

  private let api: APIContext
  private var submissions = Submissions()

  init(_ api: APIContext) { self.api = api }

  var isEmpty: Bool { submissions.isEmpty }

  func began(_ exchange: StreamExchange) -> HTTPResponse? {
    api.refusal { () throws(Problem) in try begin(exchange) }
  }

  private func begin(_ exchange: StreamExchange) throws(Problem) {
    guard exchange.method == "POST" else { throw .method(exchange.method, allowed: ["POST"]) }
    let key = try api.key(exchange)
    let body = try Admission.body(
      type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"),
      idempotencyKey: exchange.header("Idempotency-Key"))
    try api.demandTurn(key)
    try Arguments.check(exchange, [])
    try api.demandProducer()
    let limit = key.maxBody ?? api.settings.maxBody
    if body.form == .document, let length = exchange.announcedLength, length > limit {
      throw .tooLarge(limit)
    }
    try api.demandRoom(key)
    let submission = Submission(
      exchange, KeyInUse(key, api.keys), SubmittedBody(body.form, isPacked: body.isPacked),
      idempotencyKey: body.idempotencyKey, maxBody: limit)
    submission.slot = submissions.insert(submission)
    exchange.owner = key.name
    exchange.attachment = submission
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    guard let submission = exchange.attachment as? Submission else { return bytes.count }
    // The rest after a fault is read and dropped: the answer can only follow it.
    if submission.isGivenUp { return bytes.count }
    guard !submission.isBlocked else {
      submission.exchange.pause()
      return 0
    }
    api.counters.add(.bytes, bytes.count)
    if let inflater = submission.body.inflater {
      inflater.append(bytes)
    } else {
      submission.body.buffer.append(bytes)
      submission.bill.bytes += bytes.count
      spend(bytes.count, on: submission)
    }
    proceed(submission)
    return bytes.count
  }

  func ended(_ exchange: StreamExchange) {
    guard let submission = exchange.attachment as? Submission else { return }
    submission.body.isComplete = true
    proceed(submission)
  }

  func gone(_ exchange: StreamExchange) {
    guard let submission = exchange.attachment as? Submission else { return }
    exchange.attachment = nil
    if !submission.isAnswered { api.countUnanswered(exchange) }
    submission.isAnswered = true
    submission.isGivenUp = true
    submission.hasEnded = true
    submission.dropBody()
    // Frees its file, too, although Kafka's answers are still pending.
    submission.verdicts = VerdictLog()
    release(submission)
  }

  /// Processes received bytes, as far as this turn, Kafka and the key's rate allow.
  private func proceed(_ submission: Submission) {
    defer { if !submission.isAnswered { submission.account() } }
    while !submission.hasEnded {
      submission.isBlocked = !work(submission) || (submission.hasMore && !mayGoOn(submission))
      if submission.isBlocked { return }
      guard unpack(submission) else { break }
    }
    if submission.exchange.isPaused, !submission.body.isComplete { submission.exchange.goOn() }
    if submission.body.isComplete, !submission.hasEnded { end(submission) }
  }

  /// Unpacks the next piece of a compressed body; false when there is none now.
  private func unpack(_ submission: Submission) -> Bool {
    guard submission.hasMore, let inflater = submission.body.inflater else { return false }
    let before = submission.body.buffer.count
    guard inflater.unpack(into: &submission.body.buffer) else {
      giveUp(submission, .malformed("the body is not valid gzip, or goes on after its end"))
      return false
    }
    submission.bill.bytes += submission.body.buffer.count - before
    spend(submission.body.buffer.count - before, on: submission)
    return submission.body.buffer.count > before
  }

  /// Ends a body that has been read completely: answers as soon as Kafka has acknowledged everything.
  private func end(_ submission: Submission) {
    submission.hasEnded = true
    submission.deadline = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
    if submission.outstanding == 0 { finish(submission) }
  }

  private func finish(_ submission: Submission) {
    guard !submission.isAnswered else { return release(submission) }
    submission.isAnswered = true
    submission.isDecided = true
    submission.deadline = .max
    api.counters.add(.unacknowledged, submission.outstanding)
    let response = submission.response()
    countForKey(submission)
    api.note(submission.exchange, submission.key.key, requests: submission.acknowledged)
    submission.body.buffer = ByteBuffer(capacity: 16)
    submission.exchange.held = response.heldBytes
    submission.exchange.stored = submission.verdicts.storedBytes
    api.count(response)
    submission.exchange.answer(response)
    release(submission)
  }

  /// Takes Kafka's answer to a request of a body.
  func delivered(_ place: VerdictTag, isAcknowledged: Bool) {
    guard let submission = submissions[place.slot] else { return }
    submission.outstanding -= 1
    if isAcknowledged { submission.acknowledged += 1 }
    if !submission.isDecided {
      api.counters.add(isAcknowledged ? .acknowledged : .unacknowledged)
      if isAcknowledged, !submission.isAnswered { submission.verdicts.accept(at: place.offset) }
    }
    if submission.outstanding == 0, submission.hasEnded { finish(submission) }
  }

  /// Counts what Kafka has acknowledged since the last call: a body may arrive for hours.
  private func countForKey(_ submission: Submission) {
    api.keys.figures.count(
      submission.acknowledged - submission.counted, of: submission.key.key)
    submission.counted = submission.acknowledged
  }

  /// Resumes waiting bodies, and answers those whose time is up.
  func turn() {
    for submission in submissions.inTurn(api.turns) {
      countForKey(submission)
      if !submission.hasEnded { proceed(submission) }
      if api.now >= submission.deadline { finish(submission) }
    }
  }

  /// Releases a body once it is answered and no record in flight refers to it.
  private func release(_ submission: Submission) {
    guard submission.isAnswered, submission.outstanding == 0, let slot = submission.slot else {
      return
    }
    submission.slot = nil
    countForKey(submission)
    submissions.remove(slot)
  }

  /// Whether to continue with a body now: this turn has room for it, Kafka accepts records, and the key's rate allows
  /// it.
  private func mayGoOn(_ submission: Submission) -> Bool {
    guard api.budget.allows(submission.used(in: api.turns)) else {
      api.hasBacklog = true
      return false
    }
    return !api.producer.isFull && api.producer.outstandingBytes < api.settings.maxInFlightBytes
      && (!submission.bill.isBegun || api.keys.wait(submission.key.key, now: api.now) == 0)
  }

  /// Charges work on a body to this turn.
  private func spend(_ cost: Int, on submission: Submission) {
    submission.use(cost, in: api.turns)
    api.budget.spend(cost)
  }

  private func charge(_ submission: Submission) {
    submission.noteEmptyLines()
    api.keys.take(submission.key.key, submission.bill.due(), now: api.now)
  }

  /// Ends the bodies of a key that was revoked or has expired; changed rights apply from the next request on.
  private func renewKey(_ submission: Submission) {
    if !submission.key.renew(api.keys) {
      giveUp(submission, .unauthorized("this API key is not valid any more"))
    }
  }

  /// Processes the complete items; false when it has to wait.
  private func work(_ submission: Submission) -> Bool {
    if submission.body.isCutOff { giveUp(submission, .malformed("the gzip body ends too early")) }
    if !submission.isGivenUp { renewKey(submission) }
    guard !submission.isGivenUp else { return true }
    do throws(ItemSplitter.Problem) {
      while let item = try submission.body.next() {
        guard mayGoOn(submission) else { return false }
        submission.body.passItem()
        guard item.count <= Self.longestItem else {
          giveUp(submission, .itemTooLarge)
          return true
        }
        spend(TurnBudget.perRequest + item.count, on: submission)
        submit(submission, item)
        charge(submission)
        bound(submission)
        if submission.isGivenUp { return true }
      }
    } catch {
      giveUp(submission, .malformed("\(error)"))
      return true
    }
    submission.body.removePassed()
    charge(submission)
    bound(submission)
    limit(submission)
    return true
  }

  /// Limits a body's verdicts, and ends bodies that have hardly any valid requests.
  private func bound(_ submission: Submission) {
    if submission.bill.isMostlyRefused {
      giveUp(
        submission,
        .tooLarge(
          "more than 1000 of its requests are refused or empty, and most of them; nothing after this was read"
        ))
    } else if submission.verdicts.count > api.settings.maxVerdicts {
      giveUp(
        submission,
        .tooLarge(
          "the verdicts on one body have more than \(api.settings.maxVerdicts) bytes; send the rest in another one"
        ))
    }
  }

  /// Limits the memory of a body, and of all bodies together.
  private func limit(_ submission: Submission) {
    if submission.body.shape != .lines, submission.bill.bytes > submission.maxBody {
      giveUp(submission, .tooLarge(submission.maxBody))
    } else if submission.body.buffer.count > Self.longestItem {
      giveUp(submission, .itemTooLarge)
    } else if submission.body.buffer.count > Inflater.piece, api.isOutOfMemory(submission.key.key) {
      giveUp(submission, .outOfMemory)
    }
  }

  /// Hands the current request to Kafka. A scheduled one names its holder, so that it ends when the key is removed.
  private func produce(_ submission: Submission, _ tag: UInt) -> ProduceResult {
    let (items, producer) = (api.items, api.producer)
    guard items.isForSchedule else {
      return producer.produce(
        api.topics.requests, key: items.recordKey, value: items.recordValue, tag: tag)
    }
    return producer.produce(
      api.topics.requests, key: items.recordKey, value: items.recordValue,
      headers: [KafkaHeader("\(ScheduledRequest.byHeader)", submission.key.key.actor)], tag: tag)
  }

  private func submit(_ submission: Submission, _ range: Range<Int>) {
    submission.bill.requests += 1
    let bytes = UnsafeRawBufferPointer(rebasing: submission.body.buffer.bytes[range])
    let outcome = api.items.read(
      bytes, key: submission.key.key, idempotencyKey: submission.idempotencyKey,
      number: submission.bill.requests, isOnly: submission.body.shape == .single)
    switch outcome {
    case .failure(let refusal): refuse(submission, refusal)
    case .success:
      let offset = submission.appendVerdict(api.items)
      let tag = VerdictTag(slot: submission.slot ?? 0, offset: offset).tag
      switch produce(submission, tag) {
      case .queued: submission.outstanding += 1
      case .full:
        // Rare, because there was room a moment ago. The client repeats requests without a 202.
        api.counters.add(.unacknowledged)
      case .refused(let error):
        api.tellRefusal(error, of: api.topics.requests, "\(error)")
        api.counters.add(.unacknowledged)
      }
    }
    spill(submission)
  }

  private func refuse(_ submission: Submission, _ refusal: ItemReader.Refusal) {
    api.counters.add(.refused)
    submission.bill.refused += 1
    submission.noteRefusal(refusal.problem.status)
    submission.appendRefusal(refusal.problem, id: refusal.id)
  }

  private func spill(_ submission: Submission) {
    let before = submission.verdicts.storedBytes
    do throws(SystemError) {
      try submission.verdicts.spillIfLong()
    } catch {
      giveUp(submission, .unavailable("the verdicts cannot be kept: \(error)"))
    }
    guard submission.verdicts.storedBytes > before else { return }
    submission.account()
    if api.isOutOfStorage(submission.key.key) { giveUp(submission, .outOfStorage) }
  }

  /// Ends processing of the body; records already handed to Kafka are still answered.
  private func giveUp(_ submission: Submission, _ problem: Problem) {
    guard !submission.isGivenUp else { return }
    submission.isGivenUp = true
    submission.noteRefusal(problem.status)
    submission.ending = problem
    submission.dropBody()
  }
}

extension Problem {
  fileprivate static let itemTooLarge = tooLarge(
    "one request has more than \(NotificationsAPI.longestItem) bytes; nothing after it was read")
}
