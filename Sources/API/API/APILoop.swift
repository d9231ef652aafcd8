// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import Compatibility
import Contract
import EventLoop
import HTTP1
import HTTPServer
import JSON
import Kafka
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

  private let api: APIDesk
  private let notifications: NotificationsAPI
  private let devices: DevicesAPI
  private let controls: ControlsView
  private let paces: PacesAPI
  private let campaigns: CampaignsAPI
  /// Asks the database; nil without one.
  private let queries: QueryWorker?
  private let gorush: GorushAPI
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
      api = try APIDesk(
        settings, context, keys, KafkaProducer(kafka, wakeup: wakeup), topic: names.requests)
      notifications = NotificationsAPI(api)
      queries = try settings.database.map {
        try QueryWorker(
          $0, schedule: settings.scheduleDatabase ?? $0, names.schedule, context, wakeup: wakeup)
      }
      devices = try DevicesAPI(api, names, queries)
      controls = try ControlsView(names, cluster, wakeup: wakeup)
      paces = try PacesAPI(api, names, controls)
      campaigns = try CampaignsAPI(api, names, controls, queries)
      gorush = GorushAPI(api)
    } catch {
      throw ServiceFailure("cannot start on Kafka: \(error)")
    }
    try listen()
  }

  /// Where it listens.
  var port: UInt16 { api.server.port }

  private func listen() throws(ServiceFailure) {
    do {
      identity = IdentityWatch(api.settings)
      let pair = try identity?.read()
      api.server = try StreamServer(
        host: api.settings.listen.numericHost, port: api.settings.listen.port,
        connections: api.settings.maxConnections, idleSeconds: Self.idleSeconds, identity: pair,
        refusal: { Problem.refusal(status: $0.status, $0.text).response }, handler: self)
      try loop.add(api.server.fd)
    } catch {
      throw ServiceFailure("no HTTP API: \(error); --listen names another address")
    }
    let scheme = api.settings.certificate == nil ? "http" : "https"
    api.context.log.info(
      "HTTP API",
      ["url": "\(scheme)://\(Endpoint(host: api.settings.listen.numericHost, port: port))"])
  }

  /// Works until a stop is requested; then takes no connection more, and answers those that it has.
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
      let isDone = parts.allSatisfy(\.isEmpty) && !api.server.hasUnsent
      if isDone || api.context.signals.isFastShutdown || api.now >= stopsAt ?? 0 { break }
    }
    // What was answered last still has to leave, and what was changed last is told.
    api.server.turn()
    tellChanges()
    api.server = nil
    controls.close()
    _ = api.producer.flush(timeoutMilliseconds: 1_000)
    api.producer.close()
  }

  private func turn(now: UInt64) {
    api.beginTurn(now: now)
    drainDeliveries()
    controls.turn()
    drainAnswers()
    lookAtFiles()
    for part in parts { part.turn() }
    api.server.turn()
    api.producer.sendPromptly()
    watch.turn(api.producer, now: api.now)
    api.counters.set(.connections, api.server.connections)
    api.counters.set(.inFlight, api.producer.outstanding)
    api.counters.set(.keys, api.keys.table.keys.count)
    api.counters.set(.heldBytes, api.server.held)
    api.counters.set(.storedBytes, api.server.stored)
    api.counters.set(.malformed, api.server.refusedHeads)
  }

  private func lookAtFiles() {
    let isAsked = api.context.signals.consumeReload()
    api.keys.look(now: api.now, isAsked: isAsked)
    let removed = api.keys.takeRemoved()
    if !removed.isEmpty { api.keys.putBack(campaigns.end(removed)) }
    guard isAsked || api.now >= lookAt else { return }
    lookAt = api.now + 1_000
    identity?.look(isAsked: isAsked, now: api.now, api.server, api.keys.reloads, api.context.log)
    tellChanges()
  }

  /// The lines of the log that say who has changed devices since when: one a minute for a key, since there may be
  /// thousands of changes per second.
  private func tellChanges() {
    guard api.now >= tellAt || api.context.signals.isStopping else { return }
    tellAt = api.now + Self.tellMilliseconds
    for (name, change) in api.keys.figures.drainUntold() {
      api.context.log.info(
        "devices changed",
        [
          "key": name, "registered": "\(change.registered)", "removed": "\(change.removed)",
          "client": change.client,
        ])
    }
  }

  private func drainDeliveries() {
    for delivery in api.producer.drainDeliveries() {
      let isAcknowledged = delivery.errorCode == 0
      if let number = DeviceExchanges.number(ofTag: delivery.tag) {
        devices.delivered(number, isAcknowledged: isAcknowledged)
      } else if let number = OpenExchanges<PaceExchange>.number(ofTag: delivery.tag) {
        paces.delivered(number, isAcknowledged: isAcknowledged)
      } else if let number = OpenExchanges<CampaignExchange>.number(ofTag: delivery.tag) {
        campaigns.delivered(number, isAcknowledged: isAcknowledged)
      } else if let number = GorushExchanges.number(ofTag: delivery.tag) {
        gorush.delivered(number, isAcknowledged: isAcknowledged)
      } else {
        notifications.delivered(VerdictTag(tag: delivery.tag), isAcknowledged: isAcknowledged)
      }
    }
  }

  private func drainAnswers() {
    for answer in queries?.drainAnswers() ?? [] {
      api.counters.add(answer.content == nil ? .queriesFailed : .queriesAnswered)
      switch answer.asker {
      case .devices: devices.answered(answer.number, answer.content)
      case .campaigns: campaigns.answered(answer.number, answer.content)
      }
    }
  }

  // MARK: StreamHandler

  private var parts: [any APIPart] { [notifications, devices, paces, campaigns, gorush] }

  /// The part that an exchange belongs to; nil for one that is answered.
  private func part(of exchange: StreamExchange) -> (any APIPart)? {
    switch exchange.attachment {
    case is Submission: notifications
    case is DeviceExchange: devices
    case is PaceExchange: paces
    case is CampaignExchange: campaigns
    case is GorushExchange: gorush
    default: nil
    }
  }

  func began(_ exchange: StreamExchange) -> HTTPResponse? {
    let resource = APIResource(path: exchange.path, gorush: api.settings.gorush)
    switch admit(exchange, resource) {
    case .success: return nil
    case .failure(let failure):
      api.counters.add(failure.problem.status == 503 ? .httpUnavailable : .httpRefused)
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
      return gorush.key(exchange).flatMap { key in
        Result { () throws(Admission.Failure) in try gorush.begin(exchange, key) }
      }
    }
    return api.key(exchange).flatMap { key in
      switch resource {
      case .notifications: break
      case .paces, .pace:
        return Result { () throws(Admission.Failure) in try paces.begin(exchange, resource, key) }
      case .campaigns, .campaign, .campaignChange:
        return Result { () throws(Admission.Failure) in
          try campaigns.begin(exchange, resource, key)
        }
      default:
        return Result { () throws(Admission.Failure) in try devices.begin(exchange, resource, key) }
      }
      return Admission.body(
        type: exchange.header("Content-Type"), encoding: exchange.header("Content-Encoding"),
        idempotencyKey: exchange.header("Idempotency-Key")
      ).flatMap { body in
        Result { () throws(Admission.Failure) in try notifications.begin(exchange, key, body) }
      }
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
    part(of: exchange)?.received(bytes, exchange) ?? bytes.count
  }

  func ended(_ exchange: StreamExchange) { part(of: exchange)?.ended(exchange) }

  func gone(_ exchange: StreamExchange) { part(of: exchange)?.gone(exchange) }
}
