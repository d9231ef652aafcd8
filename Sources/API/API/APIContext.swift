// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import Kafka
import Records
import ServiceKit
import Telemetry

/// The state shared by all requests to the API: the keys with their rates, the producer, and the rest of the turn.
final class APIContext {
  let settings: APISettings
  let context: ServiceContext
  let counters = Counters<APIMetrics>()
  let producer: KafkaProducer
  let topics: Topics
  let controls: ControlsView
  let items: ItemReader
  /// For requests of campaigns: `items` keeps its last request.
  let requests: RequestReader
  let stored: StoredInHand
  let parser = JSONParser()
  var keys: KeyRing
  var budget = TurnBudget()
  var turns: UInt64 = 0
  var hasBacklog = false
  /// What Kafka refuses for good.
  private var refusals = RepeatedMessages()
  /// The time of this turn, in monotonic milliseconds.
  var now = MonotonicClock.milliseconds()
  var server: StreamServer!

  struct Topics {
    let requests: KafkaTopic
    let devices: KafkaTopic
    let schedule: KafkaTopic
    let controls: KafkaTopic
  }

  init(
    _ settings: APISettings, _ context: ServiceContext, _ keys: KeyRing, _ producer: KafkaProducer,
    _ names: TopicNames, _ controls: ControlsView
  ) throws(KafkaError) {
    self.settings = settings
    self.context = context
    self.keys = keys
    self.producer = producer
    self.controls = controls
    topics = Topics(
      requests: try producer.topic(known: names.requests),
      devices: try producer.topic(known: names.devices),
      schedule: try producer.topic(known: names.schedule),
      controls: try producer.topic(known: names.controls))
    items = ItemReader(settings)
    requests = RequestReader(settings)
    stored = StoredInHand(names.schedule, context)
  }

  func beginTurn(now: UInt64) {
    self.now = now
    turns += 1
    budget = TurnBudget()
    hasBacklog = false
  }

  // MARK: Rights and room

  func key(_ exchange: StreamExchange) throws(Problem) -> APIKey {
    guard let key = keys.find(try Admission.bearer(exchange.header("Authorization"))) else {
      throw .unauthorized("this API key is not known")
    }
    return try valid(key)
  }

  /// The key, unless it has expired.
  func valid(_ key: APIKey) throws(Problem) -> APIKey {
    guard !key.isExpired(now: WallClock.milliseconds()) else {
      throw .unauthorized("this API key has expired")
    }
    return key
  }

  /// The key of an open request with its current rights.
  func current(_ key: APIKey) throws(Problem) -> APIKey {
    guard let key = keys.current(key) else {
      throw .unauthorized("this API key is not valid any more")
    }
    return key
  }

  /// Checks that the key's rate allows a request, and that this process is not stopping.
  func demandTurn(_ key: APIKey) throws(Problem) {
    let wait = keys.wait(key, now: now)
    if wait > 0 { throw .tooMany(seconds: Int(wait / 1_000) + 1) }
    if context.signals.isStopping { throw .unavailable("this process is stopping") }
  }

  func demandProducer() throws(Problem) {
    if producer.trouble != nil || producer.isFull {
      throw .unavailable("Kafka does not take requests now")
    }
  }

  /// Checks that this process may hold more bodies and answers, in memory and in files.
  func demandRoom(_ key: APIKey) throws(Problem) {
    if isOutOfMemory(key) { throw .outOfMemory }
    if isOutOfStorage(key) { throw .outOfStorage }
  }

  /// A key may use half of the total memory, which leaves room for others.
  func isOutOfMemory(_ key: APIKey) -> Bool {
    Self.isOver(server.held, settings.maxBufferedBytes) { server.held(by: key.name) }
  }

  /// The same for files.
  func isOutOfStorage(_ key: APIKey) -> Bool {
    Self.isOver(server.stored, settings.maxStoredBytes) { server.stored(by: key.name) }
  }

  private static func isOver(_ all: Int, _ limit: Int, own: () -> Int) -> Bool {
    all > limit || (all > limit / 2 && own() > limit / 2)
  }

  // MARK: Answers

  /// Answers, unless the client has gone or was answered: then another object is attached.
  func answer(_ exchange: StreamExchange, _ owner: AnyObject, _ response: HTTPResponse) {
    guard exchange.attachment === owner else { return }
    count(response)
    exchange.attachment = nil
    exchange.held = response.heldBytes
    exchange.answer(response)
  }

  /// Admits a request.
  ///
  /// - Parameter words: the wording of the refusal; nil for the problem's own.
  /// - Returns: the answer to a refused request; nil if it is admitted.
  func refusal(
    _ words: ((Problem) -> HTTPResponse)? = nil, _ admit: () throws(Problem) -> Void
  ) -> HTTPResponse? {
    do throws(Problem) {
      try admit()
      return nil
    } catch {
      let response = words?(error) ?? error.response
      count(response)
      return response
    }
  }

  func count(_ response: HTTPResponse) {
    counters.add(
      response.status < 300
        ? .httpAccepted : response.status >= 500 ? .httpUnavailable : .httpRefused)
  }

  /// Counts a request that ended before it was answered here.
  func countUnanswered(_ exchange: StreamExchange) {
    counters.add(exchange.isTurnedAway ? .httpUnavailable : .httpAborted)
  }

  /// Logs why Kafka will not take a record: its client only hears that it was not acknowledged. One line stands for all
  /// that are alike within half a minute.
  func tellRefusal(_ error: KafkaError, of topic: KafkaTopic?, _ words: String) {
    let name = topic.map(producer.name(of:)) ?? ""
    guard let more = refusals.admit("\(name) \(error.name)", now: now) else { return }
    context.log(
      APILog.requestRefused, ["error": words, "left_out": more > 0 ? "\(more)" : ""])
  }

  /// Logs how many were left out of those that have come no more.
  func tellEndedRefusals() {
    for ended in refusals.drainEnded(now: now) {
      context.log(ServiceKitLog.errorEnded, ["error": ended.text, "left_out": "\(ended.more)"])
    }
  }

  /// Logs who has sent something, at level debug: there may be thousands of lines per second.
  func note(_ exchange: StreamExchange, _ key: APIKey, requests: Int) {
    context.log(
      APILog.requestAccepted,
      [
        "key": key.name.text, "client": exchange.client, "method": exchange.method,
        "path": exchange.path, "requests": "\(requests)",
      ])
  }
}
