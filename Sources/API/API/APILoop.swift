// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTP
import HTTPServer
import Kafka
import ServiceKit
import Settings

/// The single thread of the HTTP API: receives bodies, hands requests to Kafka, and answers once Kafka has them.
///
/// No client delays another: a body is read as it arrives, but no further than Kafka and the key's rate allow.
final class APILoop: StreamHandler {
  private static let idleSeconds: UInt32 = 30
  /// Longer than load balancers and proxies keep theirs (nginx and AWS 60 s, Google 600 s): one that sends a request on
  /// a connection which is just being closed answers its client 502.
  private static let keepAliveSeconds: UInt32 = 620
  private static let turnMilliseconds: Int32 = 100
  private static let tellMilliseconds: UInt64 = 60_000

  private let api: APIContext
  private let notifications: NotificationsAPI
  /// Runs the small resources.
  private let frame: APIFrame
  private let queries: QueryWorker?
  private let loop: ServiceLoop
  private var watch: ProducerWatch
  private var identity: IdentityWatch?
  private var lookAt: UInt64 = 0
  private var tellAt: UInt64 = 0

  init(
    _ settings: APISettings, _ context: ServiceContext, _ names: TopicNames, _ cluster: ClusterView
  ) throws(ServiceFailure) {
    watch = ProducerWatch(context, consequence: "HTTP requests are not answered")
    let keys = try KeyRing(settings.keys, context)
    do {
      var kafka = cluster.configuration
      kafka.preferLinger(milliseconds: KafkaDefaults.lingerOfAPI)
      loop = try ServiceLoop("loop", context)
      let wakeup = loop.wakeup
      api = try APIContext(
        settings, context, keys, KafkaProducer(kafka, wakeup: wakeup), names,
        ControlsView(names, cluster, wakeup: wakeup))
      queries = try settings.database.map {
        try QueryWorker(
          $0, schedule: settings.scheduleDatabase ?? $0, names.schedule, context, wakeup: wakeup)
      }
      notifications = NotificationsAPI(api)
      frame = APIFrame(api, queries)
    } catch {
      throw ServiceFailure("cannot start on Kafka: \(error)")
    }
    try listen()
  }

  var port: UInt16 { api.server.port }

  private func listen() throws(ServiceFailure) {
    do {
      identity = IdentityWatch(api.settings)
      let pair = try identity?.read()
      api.server = try StreamServer(
        host: api.settings.listen.numericHost, port: api.settings.listen.port,
        connections: api.settings.maxConnections, idleSeconds: Self.idleSeconds,
        keepAliveSeconds: Self.keepAliveSeconds, identity: pair,
        refusal: { Problem.refusal(status: $0.status, $0.text).response }, handler: self)
      try loop.add(api.server.fd)
    } catch {
      throw ServiceFailure("no HTTP API: \(error); --listen names another address")
    }
    let scheme = api.settings.certificate == nil ? "http" : "https"
    api.context.log(
      APILog.listening,
      ["url": "\(scheme)://\(Endpoint(host: api.settings.listen.numericHost, port: port))"])
  }

  /// Runs until a stop is requested; then accepts no more connections, and answers the open ones.
  func run() throws(ServiceFailure) {
    api.context.counters.add(api.counters)
    api.context.counters.add(metrics: api.keys.figures)
    api.context.counters.add(metrics: api.keys.reloads)
    if let identity { api.context.counters.add(metrics: identity.figures) }
    api.context.reportReady()
    var stopsAt: UInt64?
    while true {
      turn(
        now: loop.wait(
          api.hasBacklog ? 0 : min(Self.turnMilliseconds, api.server.timeout ?? .max)))
      guard api.context.signals.isStopping else { continue }
      if stopsAt == nil {
        api.server.stopListening()
        stopsAt = api.now + UInt64(api.settings.ackTimeoutMilliseconds)
      }
      let isDone =
        notifications.isEmpty && frame.isEmpty && !api.keys.isEnding && !api.server.hasUnsent
      if isDone || api.context.signals.isFastShutdown || api.now >= stopsAt ?? 0 { break }
    }
    // Send the last answers, and log the last changes.
    api.server.turn()
    tellChanges()
    api.server = nil
    api.controls.topic.close()
    _ = api.producer.flush(timeoutMilliseconds: 1_000)
    api.producer.close()
  }

  private func turn(now: UInt64) {
    api.beginTurn(now: now)
    drainDeliveries()
    api.controls.turn()
    drainAnswers()
    lookAtFiles()
    notifications.turn()
    frame.turn()
    api.server.turn()
    api.producer.sendPromptly()
    watch.turn(api.producer, now: api.now)
    api.counters.set(.connections, api.server.connections)
    api.counters.set(.inFlight, api.producer.outstanding)
    api.counters.set(.keys, api.keys.valid)
    api.counters.set(.heldBytes, api.server.held)
    api.counters.set(.storedBytes, api.server.stored)
    api.counters.set(.malformed, api.server.refusedHeads)
  }

  private func lookAtFiles() {
    let isAsked = api.context.signals.consumeReload()
    api.keys.look(now: api.now, isAsked: isAsked)
    guard isAsked || api.now >= lookAt else { return }
    lookAt = api.now + 1_000
    CampaignsAPI.end(api.keys.takeRemoved(), api)
    identity?.look(isAsked: isAsked, now: api.now, api.server, api.keys.reloads, api.context.log)
    tellChanges()
  }

  /// Logs who changes devices: one line per key and minute, since there may be thousands of changes per second.
  private func tellChanges() {
    guard api.now >= tellAt || api.context.signals.isStopping else { return }
    tellAt = api.now + Self.tellMilliseconds
    for (name, change) in api.keys.figures.drainUntold() {
      api.context.log(
        APILog.devicesChanged,
        [
          "key": name, "registered": "\(change.registered)", "removed": "\(change.removed)",
          "client": change.client,
        ])
    }
  }

  private func drainDeliveries() {
    api.tellEndedRefusals()
    for delivery in api.producer.drainDeliveries() {
      let isAcknowledged = delivery.errorCode == 0
      if let error = delivery.refused {
        api.tellRefusal(
          error, of: api.producer.refusedRecord(delivery.tag)?.topic,
          api.producer.describe(refused: delivery.tag, error))
      }
      guard !frame.delivered(delivery.tag, isAcknowledged: isAcknowledged) else { continue }
      notifications.delivered(VerdictTag(tag: delivery.tag), isAcknowledged: isAcknowledged)
    }
  }

  private func drainAnswers() {
    for answer in queries?.drainAnswers() ?? [] {
      api.counters.add(answer.next == nil ? .queriesFailed : .queriesAnswered)
      frame.answered(answer)
    }
  }

  func began(_ exchange: StreamExchange) -> HTTPResponse? {
    exchange.path == NotificationsAPI.path ? notifications.began(exchange) : frame.began(exchange)
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    exchange.attachment is Submission
      ? notifications.received(bytes, exchange) : frame.received(bytes, exchange)
  }

  // Each ignores requests of the other.

  func ended(_ exchange: StreamExchange) {
    notifications.ended(exchange)
    frame.ended(exchange)
  }

  func gone(_ exchange: StreamExchange) {
    notifications.gone(exchange)
    frame.gone(exchange)
  }
}
