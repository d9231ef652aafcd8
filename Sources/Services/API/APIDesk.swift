// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import EventLoop
import HTTPServer
import Identity
import JSON
import Kafka
import ServiceKit

/// What all requests to the API share: the keys with their rates, the producer, and how much of a turn is left.
final class APIDesk {
  let settings: APISettings
  let context: ServiceContext
  let counters = Counters<APIMetrics>()
  let producer: KafkaProducer
  /// Where notification requests go.
  let topic: KafkaTopic
  let items: ItemReader
  let parser = JSONParser()
  var keys: KeyRing
  var budget = TurnBudget()
  /// Turns so far.
  var turns: UInt64 = 0
  /// Something waits for the next turn only.
  var hasBacklog = false
  /// Monotonic milliseconds of this turn.
  var now = MonotonicClock.milliseconds()
  var server: StreamServer!

  init(
    _ settings: APISettings, _ context: ServiceContext, _ keys: KeyRing, _ producer: KafkaProducer,
    topic: String
  ) throws(KafkaError) {
    self.settings = settings
    self.context = context
    self.keys = keys
    self.producer = producer
    self.topic = try producer.topic(known: topic)
    items = ItemReader(settings)
  }

  func beginTurn(now: UInt64) {
    self.now = now
    turns += 1
    budget = TurnBudget()
    hasBacklog = false
  }

  // MARK: Rights and room

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

  // MARK: Answers

  /// Answers, unless the client has gone or was answered: then something else is attached.
  func answer(_ exchange: StreamExchange, _ owner: AnyObject, _ response: HTTPResponse) {
    guard exchange.attachment === owner else { return }
    count(response)
    exchange.attachment = nil
    exchange.held = response.heldBytes
    exchange.answer(response)
  }

  func count(_ response: HTTPResponse) {
    counters.add(
      response.status < 300
        ? .httpAccepted : response.status >= 500 ? .httpUnavailable : .httpRefused)
  }

  /// The line of the log that says who has sent something. At level debug: there may be thousands per second.
  func note(_ exchange: StreamExchange, _ key: APIKey, requests: Int) {
    context.log.debug(
      "HTTP request accepted",
      [
        "key": key.name.text, "client": exchange.client, "method": exchange.method,
        "path": exchange.path, "requests": "\(requests)",
      ])
  }
}
