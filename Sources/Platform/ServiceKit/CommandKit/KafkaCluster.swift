// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
public import Kafka

/// A cluster as a command first meets it. Its connections end with its last use.
public struct KafkaCluster {
  public let configuration: KafkaConfiguration
  public let admin: KafkaAdmin

  /// Waits for a broker to answer; a stop request ends the wait.
  public init(
    _ configuration: KafkaConfiguration, _ context: ServiceContext,
    timeLimit: TimeLimit = TimeLimit(milliseconds: 10_000)
  ) throws(ServiceFailure) {
    do {
      let admin = try KafkaAdmin(configuration)
      try Self.awaitAnswer(admin, context, timeLimit)
      self.configuration = configuration
      self.admin = admin
    } catch {
      throw ServiceFailure(error)
    }
  }

  /// Fails unless the topic is known to exist.
  ///
  /// - Returns: its partitions.
  @discardableResult
  public func demand(_ topic: String, _ advice: String) throws(ServiceFailure) -> Int {
    let listing = try orFail {
      try admin.topicListing(naming: [topic], timeoutMilliseconds: 10_000)
    }
    if let refusal = listing.hidden[topic] {
      throw ServiceFailure(
        "this user may not see topic \(topic): needs Describe, Read or Write on it (\(refusal.name))"
      )
    }
    if let size = listing.sizes[topic] { return size.partitions }
    if listing.knows(topic) { throw ServiceFailure("there is no topic \(topic); \(advice)") }
    let error = listing.errors[topic].map { ": \($0)" } ?? ""
    throw ServiceFailure(
      "the cluster has not said whether there is a topic \(topic)\(error); try again")
  }

  /// Writes one record, and waits until Kafka has it.
  ///
  /// - Parameter topic: one that the cluster is known to have (`demand`).
  public func write(
    _ topic: String, key: [UInt8], _ value: [UInt8]?, headers: [KafkaHeader] = []
  ) throws(ServiceFailure) {
    try orFail {
      let throttled = KafkaThrottle.milliseconds
      let producer = try KafkaProducer(configuration)
      defer { producer.close() }
      let result = producer.produce(
        try producer.topic(known: topic), key: key, value: value, headers: headers, tag: 0)
      if case .refused(let error) = result { throw error }
      guard producer.flush(timeoutMilliseconds: 20_000) else {
        let reason = obstacle(to: [topic], producer.standing, throttledBefore: throttled).reason
        throw ServiceFailure(
          "Kafka has not acknowledged it within 20s, and may have it or not: \(reason)")
      }
      if let error = producer.drainDeliveries().lazy.compactMap(\.refused).first { throw error }
    }
  }

  /// How long another broker may take to answer when one has refused this user, in milliseconds.
  private static let refusalPatience: UInt64 = 2_000

  private static func awaitAnswer(
    _ admin: KafkaAdmin, _ context: ServiceContext, _ timeLimit: TimeLimit
  ) throws {
    let start = MonotonicClock.milliseconds()
    var trouble: KafkaError?
    var refusal: KafkaError?
    while true {
      do throws(KafkaError) {
        try admin.awaitAnswer(timeoutMilliseconds: Int32(min(250, max(1, timeLimit.left))))
        return
      } catch {
        for heard in admin.drainErrors() {
          trouble = heard
          if heard.isRefusal, !heard.isBrokenHandshake { refusal = heard }
        }
        if let refusal, MonotonicClock.milliseconds() - start > refusalPatience {
          throw ServiceFailure(
            "no Kafka broker takes this user, or can be trusted: \(refusal); correct kafka.security.protocol,"
              + " kafka.sasl.* or kafka.ssl.*")
        }
        if timeLimit.left == 0 || !error.isRetriable {
          throw ServiceFailure("\(error)\(trouble.map { "; the last problem: \($0)" } ?? "")")
        }
        if context.signals.isStopping { throw context.signals.interrupted("no broker answered") }
        usleep(UInt32(min(100, timeLimit.left)) * 1_000)
      }
    }
  }
}
