// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import HTTP2
import Kafka
import Records
import SenderDecisions
import ServiceKit
import Telemetry
import Waiting

/// The requests that a connection has completed.
private struct Completed: ~Copyable {
  var exchanges: [UnsafeMutablePointer<Exchange>] = []
  /// The time at which each was sent: looked up for all of them at once, so that the misses of the cache pass side by side.
  var sendTimes: [Int64] = []
}

/// One thread of the sender, and all that it owns: connections, Kafka queues, pushes in flight, offset
/// ledgers, a producer. It shares nothing with other loops but mailboxes for control messages.
///
/// A turn gathers everything that is ready, tells the `Dispatcher`, does what that wants done, and then acts once: one
/// write per connection, receipts in batches. Free stream credit is what pulls records out of Kafka; without it they
/// stay in librdkafka's queues, which then stop fetching.
final class SenderLoop {
  /// The longest sleep; a missed wake-up costs no more than this.
  private static let longestSleep: UInt64 = 100
  private static let wakeupToken: UInt64 = 0
  private static let queuesToken = UInt64.max
  private static let allCounters = SenderCounter.allCases

  private let context: ServiceContext
  private let counters = Counters<SenderCounter>()
  private let telemetry: LoopTelemetry
  private let heartbeat: Heartbeat
  private let inbox: Mailbox<LoopMessage>
  private let reports: ControlReports
  private let gateways: GatewayPools
  private let publisher: Publisher
  private let outcomes: OutcomeWriter
  private let performer: ActionPerformer
  private let parser = JSONParser()

  // One thread owns the loop and no property is handed to a callback, so what every push touches goes without
  // the run-time checks of overlapping access, which were 8 % of its instructions.

  @exclusivity(unchecked) private var dispatcher: Dispatcher
  @exclusivity(unchecked) private var queues = PartitionQueues()
  @exclusivity(unchecked) private var reading: NotificationReading
  @exclusivity(unchecked) private var batch = KafkaBatch(capacity: Dispatcher.takeAtOnce)
  @exclusivity(unchecked) private var completed = Completed()
  @exclusivity(unchecked) private var turns: LoopTurns
  private var statusPace = StatusPace()
  private var hasEnded = false

  init(
    _ settings: SenderSettings, _ context: ServiceContext, access: GatewayAccess, names: TopicNames,
    cluster: ClusterView, inbox: Mailbox<LoopMessage>, control: Mailbox<ControlMessage>,
    seed: UInt64, name: String = "loop"
  ) throws {
    self.context = context
    self.inbox = inbox
    reading = NotificationReading(settings)
    telemetry = LoopTelemetry(settings.lanes)
    reports = ControlReports(log: context.log, control: control)
    turns = try LoopTurns()
    let poller = turns.poller
    gateways = try GatewayPools(settings, context.log, access, poller, inbox.wakeup)
    publisher = try Publisher(context, names, cluster, inbox.wakeup)
    outcomes = OutcomeWriter(publisher, telemetry.recorder, freesIDs: settings.dedupWindow > 0)
    performer = ActionPerformer(context.log, gateways, outcomes, reports)
    heartbeat = context.status.heartbeat(name)
    dispatcher = Dispatcher(
      settings.dispatch, certificates: access.certificates.map(\.entry),
      now: MonotonicClock.milliseconds(), wall: WallClock.milliseconds(), seed: seed)
    try poller.add(inbox.wakeup.fd, token: Self.wakeupToken, .readable)
    try poller.add(queues.signals.fd, token: Self.queuesToken, .readable)
    nameApps(of: access)
    context.counters.add(counters)
    context.counters.add(metrics: telemetry)
    context.status.show(name) { [telemetry] in telemetry.latest.json }
  }

  /// Runs turns until the control thread says stop and everything is handed over.
  func run() {
    while !hasEnded {
      let now = turns.begin(timeoutMilliseconds: sleepTime())
      let wall = WallClock.milliseconds()
      dispatcher.beginTurn(now: now, wall: wall)
      reading.beginTurn(wall: wall)
      publisher.beginTurn(now: now)
      outcomes.beginTurn(wall: wall)
      heartbeat.beat(now)
      turn()
      turns.end(isExpecting: dispatcher.pushCount > 0 && !dispatcher.hasReady)
    }
    publishCounts()
    context.status.end(heartbeat)
    publisher.close()
    reports.control.post(.ended)
  }

  private func turn() {
    for event in turns.ready {
      switch event.token {
      case Self.wakeupToken: wake()
      case Self.queuesToken: queues.signals.take { dispatcher.signalled(Int($0)) }
      default: socketReady(event)
      }
    }
    dispatcher.applyTokens()
    perform()
    // A signal that librdkafka did not give costs no more than the longest sleep.
    if queues.isLookDue(every: Self.longestSleep, now: dispatcher.now) {
      dispatcher.signalledAll()
    }
    publisher.drainDeliveries { dispatcher.acknowledged($0) }
    dispatcher.expireDeadlines()
    perform()
    readRecords()
    dispatcher.dispatch()
    perform()
    if dispatcher.upkeep() {
      perform()
      publisher.upkeep()
      gateways.upkeep(now: dispatcher.now)
      publishStatus()
    }
    publishCounts()
    gateways.flush()
    if processEvents() { publishCounts() }
    if publisher.hasReceipts {
      // A busy loop is idle for a moment again and again, and would write a record in each.
      publisher.flushReceipts(isIdle: !turns.pace.isBusy && dispatcher.pushCount == 0 && !canTake)
    }
    if !turns.pace.isBusy { publisher.sendPromptly() }
    if let news = dispatcher.report(), !news.isEmpty { reports.report(news, of: queues) }
    handOver()
  }

  /// Whoever sees what the loop does next finds it counted.
  private func publishCounts() {
    let counts = dispatcher.counts
    for counter in Self.allCounters { counters.set(counter, counts[counter]) }
    counters.set(.inFlight, dispatcher.pushCount)
  }

  /// How long the poller may wait, in milliseconds: until the next thing that time alone makes due.
  private func sleepTime() -> Int32 {
    if canTake { return 0 }
    let now = MonotonicClock.milliseconds()
    var wake = min(now + Self.longestSleep, max(dispatcher.nextDue, now + 1))
    if let due = publisher.nextDue { wake = min(wake, due) }
    return Int32(clamping: wake > now ? wake - now : 0)
  }

  /// Writes down how the loop stands: once a second while somebody watches, else now and then.
  private func publishStatus() {
    guard statusPace.isDue(telemetry, now: dispatcher.now) else { return }
    telemetry.publish(LoopStatus(&dispatcher, telemetry.lanes, gateways, queues, outcomes))
  }

  // MARK: Messages

  /// The wakeup was signalled: deliveries were reported, or somebody wrote to us.
  private func wake() {
    inbox.wakeup.clear()
    for message in inbox.drain() {
      handle(message)
      perform()
    }
    for (pool, addresses) in gateways.drainResolutions() {
      dispatcher.lookedUp(pool, addresses)
      perform()
    }
  }

  private func handle(_ message: LoopMessage) {
    switch message {
    case .granted(let grants):
      for grant in grants { queues.add(grant, as: dispatcher.granted(grant.start)) }
    case .window(let name, let epoch, let window, let isWhole):
      if let number = queues.number(of: name, epoch: epoch) {
        dispatcher.inherit(window, by: number, isWhole: isWhole)
      }
    case .drain(let deadline):
      queues.close()
      dispatcher.drain(until: deadline)
    case .shortenDrain(let deadline): dispatcher.shortenDrain(until: deadline)
    case .providerTokens(let updates, let isComplete):
      for case .token(let entry) in updates { telemetry.name(apps: entry.apps) }
      dispatcher.updateTokens(updates, isComplete: isComplete)
    case .pauses(let pauses): dispatcher.update(.pauses(pauses))
    case .partitions(let totals): dispatcher.update(.partitions(totals))
    case .paces(let paces): dispatcher.update(.paces(paces))
    case .devices(let news): dispatcher.update(.devices(news))
    case .access(let access): renew(access)
    case .stop(let deadline):
      queues.close()
      dispatcher.drain(until: deadline, isLast: true)
    }
  }

  /// Apps of client certificates are counted by name.
  private func nameApps(of access: GatewayAccess) {
    for certificate in access.certificates { telemetry.name(apps: certificate.apps) }
  }

  /// Certificates and roots were read again.
  private func renew(_ access: GatewayAccess) {
    let places = gateways.replaceAccess(access)
    nameApps(of: access)
    dispatcher.updateCertificates(access.certificates.map(\.entry), places: places)
    perform()
    for pool in dispatcher.poolNumbers {
      guard let standing = dispatcher.standing(ofPool: pool), !standing.isRetired else { continue }
      gateways.renewTLS(pool, standing.credential)
    }
  }

  // MARK: Records

  /// Whether a turn right now would find records and room for them.
  private var canTake: Bool { dispatcher.canTake(isProducerOpen: publisher.isOpen) }

  private func readRecords() {
    dispatcher.beginIntake()
    while let take = dispatcher.nextReadRequest(isProducerOpen: publisher.isOpen) {
      perform()
      let count = queues.take(from: take.partition, into: &batch, upTo: take.count)
      for index in 0..<count { receive(batch[index], from: take.partition) }
      batch.release()
      turns.pace.note(count)
      dispatcher.took(count)
    }
    perform()
  }

  private func receive(_ record: KafkaRecord, from partition: Int) {
    if record.errorCode != 0, let error = record.error {
      return context.report(error, as: SenderLog.kafkaError)
    }
    if record.value.first == FreedID.mark, let freed = FreedID(record.value) {
      return dispatcher.free(freed.dedupKey, at: record.offset, from: partition)
    }
    switch dispatcher.admit(record.offset, from: partition) {
    case .new: break
    case .alreadyCompleted:
      if let envelope = try? record.envelope(&reading.envelopes) {
        dispatcher.remember(
          envelope.dedupKey, payload: PushFacts.hash(payload: envelope, record.value),
          record.state(envelope), at: record.offset, from: partition)
      }
      return
    case .alreadyReceived: return
    }
    do throws(UnsendableRecord) {
      if context.hasCrashed, context.isDeadly(record) {
        throw UnsendableRecord(detail: DeadLetter.crashed)
      }
      let envelope = try record.envelope(&reading.envelopes)
      let slot = dispatcher.accept(
        record.facts(envelope, collapseBefore: reading.collapseBefore), offset: record.offset,
        from: partition, written: record.timestamp)
      outcomes.fill(slot, record, envelope)
      perform()
    } catch {
      let origin = dispatcher.acceptUnreadable(record.offset, from: partition)
      outcomes.deadLetter(record, origin, detail: error.detail, from: queues.name(partition))
    }
  }

  // MARK: Connections

  private func socketReady(_ event: ReadyEvent) {
    guard let connection = gateways.connection(ofToken: event.token) else { return }
    connection.http.socketReady(
      readable: event.readable, writable: event.writable, hangup: event.hangup)
    processEvents(connection)
    // Acknowledgements and window updates go out with this turn's write.
    gateways.markDirty(connection)
  }

  /// Tells what the connections have completed and what has happened to them.
  ///
  /// - Returns: whether there was anything.
  private func processEvents() -> Bool {
    var hadEvents = false
    while let connection = gateways.nextEventful() {
      processEvents(connection)
      hadEvents = true
    }
    return hadEvents
  }

  /// Tells what a connection has completed and what has happened to it.
  private func processEvents(_ connection: GatewayConnection) {
    guard gateways.connection(connection.id) === connection else { return }
    let quiet = dispatcher.now - connection.lastEvent
    connection.lastEvent = dispatcher.now
    dispatcher.handle(
      .touched(limit: Int(connection.http.remoteMaxConcurrentStreams)), of: connection.id)
    connection.http.drainCompleted(into: &completed.exchanges)
    turns.pace.note(completed.exchanges.count)
    completed.sendTimes.removeAll(keepingCapacity: true)
    for exchange in completed.exchanges {
      outcomes.prefetch(exchange.pointee.owner)
      completed.sendTimes.append(dispatcher.sentAt(exchange.pointee.owner))
    }
    for index in completed.exchanges.indices {
      streamEnded(
        completed.exchanges[index].pointee.owner, sentAt: completed.sendTimes[index],
        on: connection)
    }
    for notice in connection.http.drainNotices() {
      process(notice, of: connection, quiet: quiet)
      perform()
    }
  }

  private func streamEnded(_ slot: UInt32, sentAt: Int64, on connection: GatewayConnection) {
    let push = outcomes[slot]
    switch push.pointee.exchange.fate {
    case .answered where push.pointee.exchange.status == 200 && push.pointee.exchange.hasID:
      outcomes.noteAnswer(slot, sentAt: sentAt)
      connection.pool.countAnswer(isAccepted: true)
      dispatcher.accepted(slot)
    case .answered: otherwiseAnswered(slot, sentAt: sentAt, on: connection)
    case .unprocessed, .ambiguous, .pending:
      telemetry.streamFailed(code: push.pointee.exchange.closeCode)
      dispatcher.unanswered(
        slot, isUnprocessed: push.pointee.exchange.fate == .unprocessed,
        isLost: connection.http.isClosed)
    }
    perform()
  }

  /// The answer is another than APNs' 200.
  private func otherwiseAnswered(_ slot: UInt32, sentAt: Int64, on connection: GatewayConnection) {
    let push = outcomes[slot]
    let answer = outcomes.answer(to: slot)
    if !answer.response.isForeign {
      outcomes.noteAnswer(slot, sentAt: sentAt)
      connection.pool.countAnswer(isAccepted: false)
      telemetry.refused(answer.response.reason, push.pointee.envelope.environment)
    }
    dispatcher.refused(
      slot, answer.response,
      retryAfter: push.pointee.exchange.retryAfter(now: dispatcher.wall / 1_000))
  }

  /// - Parameter quiet: milliseconds since something happened on the connection.
  private func process(
    _ notice: ConnectionNotice, of connection: GatewayConnection, quiet: UInt64
  ) {
    let id = connection.id
    switch notice {
    case .advanced: dispatcher.handle(.advanced, of: id)
    case .connected:
      dispatcher.handle(.connected, of: id)
      context.log(SenderLog.connected, connection.place)
    case .settings(let limit):
      connection.isReady = true
      dispatcher.handle(.settings(limit: Int(limit)), of: id)
    case .goAway(_, let code, let debug):
      let reason = GoAwayReason(debug, parser: parser)
      telemetry.goAway(reason.reason, isSilent: debug.isEmpty)
      context.log(
        SenderLog.goAway,
        connection.place + [("code", .text("\(code)")), ("reason", .text(reason.text))])
      dispatcher.handle(.goAway(reason.reason, isError: reason.isError(code: code)), of: id)
    case .pong: dispatcher.handle(.ponged, of: id)
    case .closed(let failure):
      dispatcher.handle(.closed(isFailure: failure != nil), of: id)
      gateways.remove(id)
      if let failure { gateways.report(failure, of: connection, quiet: quiet) }
    }
  }

  /// Does what the dispatcher wants done: before it is told the next event.
  private func perform() { performer.perform(&dispatcher, queues) }

  // MARK: Partitions

  /// Gives the partitions back once they were asked for and are done with.
  private func handOver() {
    guard let given = dispatcher.handOver() else { return }
    reports.handOver(given, of: queues, isStopping: dispatcher.isStopping)
    queues.removeAll()
    guard dispatcher.isStopping else { return }
    hasEnded = true
    gateways.closeAll()
    while let connection = gateways.nextEventful() { processEvents(connection) }
  }
}
