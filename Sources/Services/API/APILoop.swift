// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Compatibility
import EventLoop
import HTTP1
import HTTPServer
import JSON
import Kafka
import Pipeline
import ServiceKit
import Settings
import TLS

/// The one thread of the HTTP API: bodies come in, requests go to Kafka, and when it has them, answers go out.
///
/// No client delays another: a body is read as it comes, and no further than Kafka and the key's rate allow.
final class APILoop: StreamHandler {
  private static let idleSeconds: UInt32 = 30
  private static let turnMilliseconds: Int32 = 100
  private static let tellMilliseconds: UInt64 = 60_000

  let settings: APISettings
  let context: ServiceContext
  let counters = Counters<APICounter>()
  let producer: KafkaProducer
  let topic: KafkaTopic
  let devicesTopic: KafkaTopic
  /// Asks the database; nil without one.
  let queries: QueryWorker?
  var devices = DeviceExchanges()
  var gorush = GorushExchanges()
  let gorushTranslator: GorushTranslator
  let deviceParser = JSONParser()
  let items: ItemReader
  var keys: KeyRing
  var submissions = Submissions()
  var budget = TurnBudget()
  /// Turns so far.
  var turns: UInt64 = 0
  /// Something waits for the next turn only.
  var hasBacklog = false
  private let heartbeat: Heartbeat
  private let wakeup = Wakeup()
  private let poller: Poller
  var server: StreamServer!
  private var watch: ProducerWatch
  private var identity: IdentityWatch?
  private var lookAt: UInt64 = 0
  private var tellAt: UInt64 = 0
  private var deliveries: [Delivery] = []
  private var failure: ServiceFailure?
  /// Monotonic milliseconds of this turn.
  var now = MonotonicClock.milliseconds()

  init(
    _ settings: APISettings, _ context: ServiceContext, _ names: TopicNames, _ cluster: ClusterView
  ) throws(ServiceFailure) {
    self.settings = settings
    self.context = context
    items = ItemReader(settings.pushTypes)
    gorushTranslator = GorushTranslator(
      app: settings.gorushApp, environment: settings.gorushEnvironment, types: settings.pushTypes)
    heartbeat = context.status.heartbeat("loop")
    watch = ProducerWatch(context, consequence: "HTTP requests are not answered")
    keys = try KeyRing(settings.keys, context)
    do {
      var kafka = cluster.configuration
      kafka.preferLinger(milliseconds: KafkaDefaults.lingerOfAPI)
      poller = try Poller(capacity: 4)
      try poller.add(wakeup.fd, token: 0, .readable)
      producer = try KafkaProducer(kafka, wakeup: wakeup)
      topic = try producer.topic(known: names.requests)
      devicesTopic = try producer.topic(known: names.devices)
      let wakeup = wakeup
      queries = try settings.database.map { try QueryWorker($0, context.log, wakeup: wakeup) }
    } catch {
      throw ServiceFailure("cannot start on Kafka: \(error)")
    }
    try listen()
  }

  /// The port that it listens on.
  var port: UInt16 { server.port }

  private func listen() throws(ServiceFailure) {
    do {
      identity = IdentityWatch(settings)
      let pair = try identity?.read()
      server = try StreamServer(
        host: settings.listen.numericHost, port: settings.listen.port,
        connections: settings.maxConnections, idleSeconds: Self.idleSeconds, identity: pair,
        refusal: { Problem.refusal(status: $0.status, $0.text).response }, handler: self)
      try poller.add(server.fd, token: 1, .readable)
    } catch {
      throw ServiceFailure("no HTTP API: \(error); --listen names another address")
    }
    let scheme = settings.certificate == nil ? "http" : "https"
    context.log.info(
      "HTTP API",
      ["url": "\(scheme)://\(Endpoint(host: settings.listen.numericHost, port: server.port))"])
  }

  /// Works until a stop is requested; then takes no connection more, and answers those that it has.
  func run() throws(ServiceFailure) {
    context.counters.add(counters)
    context.counters.add(metrics: keys.figures)
    context.counters.add(metrics: keys.reloads)
    if let identity { context.counters.add(metrics: identity.figures) }
    context.signals.subscribe(wakeup)
    context.reportReady()
    var ready: [ReadyEvent] = []
    var stopsAt: UInt64?
    while failure == nil {
      poller.wait(
        timeoutMilliseconds: hasBacklog ? 0 : min(Self.turnMilliseconds, server.timeout ?? .max),
        into: &ready)
      wakeup.clear()
      now = MonotonicClock.milliseconds()
      heartbeat.beat(now)
      turn()
      guard context.signals.isStopping else { continue }
      if stopsAt == nil {
        server.stopListening()
        stopsAt = now + UInt64(settings.ackTimeoutMilliseconds)
      }
      let isDone =
        submissions.isEmpty && devices.isEmpty && gorush.isEmpty && !server.hasUnsent
      if isDone || context.signals.isFastShutdown || now >= stopsAt ?? 0 { break }
    }
    // What was answered last still has to leave.
    server.turn()
    server = nil
    _ = producer.flush(timeoutMilliseconds: failure == nil ? 1_000 : 0)
    producer.close()
    if let failure { throw failure }
  }

  private func turn() {
    turns += 1
    budget = TurnBudget()
    hasBacklog = false
    takeDeliveries()
    lookAtFiles()
    for submission in submissions.inTurn(turns) {
      if !submission.hasEnded { proceed(submission) }
      if now >= submission.deadline { finish(submission) }
    }
    turnDevices()
    turnGorush()
    server.turn()
    producer.sendPromptly()
    watch.turn(producer, now: now)
    counters.set(.connections, server.connections)
    counters.set(.inFlight, producer.outstanding)
    counters.set(.keys, keys.table.keys.count)
    counters.set(.heldBytes, server.held)
    counters.set(.storedBytes, server.stored)
    counters.set(.malformed, server.refusedHeads)
  }

  private func lookAtFiles() {
    let isAsked = context.signals.takeReload()
    keys.look(now: now, isAsked: isAsked)
    guard isAsked || now >= lookAt else { return }
    lookAt = now + 1_000
    identity?.look(isAsked: isAsked, now: now, server, keys.reloads, context.log)
    tellChanges()
  }

  /// The lines of the log that say who has changed devices since when: one a minute for a key, since there may be
  /// thousands of changes per second.
  private func tellChanges() {
    guard now >= tellAt || context.signals.isStopping else { return }
    tellAt = now + Self.tellMilliseconds
    for (name, change) in keys.figures.takeUntold() {
      context.log.info(
        "devices changed",
        [
          "key": name, "registered": "\(change.registered)", "removed": "\(change.removed)",
          "client": change.client,
        ])
    }
  }

  private func takeDeliveries() {
    deliveries.removeAll(keepingCapacity: true)
    producer.drainDeliveries(into: &deliveries)
    for delivery in deliveries {
      if let number = DeviceExchanges.number(ofTag: delivery.tag) {
        deviceDelivered(number, isAcknowledged: delivery.errorCode == 0)
        continue
      }
      if let number = GorushExchanges.number(ofTag: delivery.tag) {
        gorushDelivered(number, isAcknowledged: delivery.errorCode == 0)
        continue
      }
      let place = VerdictPlace(tag: delivery.tag)
      guard let submission = submissions[place.slot] else { continue }
      submission.outstanding -= 1
      if delivery.errorCode == 0 {
        counters.add(.acknowledged)
        submission.acknowledged += 1
        if !submission.isAnswered { submission.verdicts.setStatus(at: place.offset, "202") }
      } else {
        counters.add(.unacknowledged)
      }
      if submission.outstanding == 0, submission.hasEnded { finish(submission) }
    }
  }
}
