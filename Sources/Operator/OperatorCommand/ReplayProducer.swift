// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import ServiceKit

/// Produces the records of a replay, and reports the cause if Kafka accepts none.
final class ReplayProducer {
  /// The producer, with each record's topic as tag.
  private let producer: TaggedProducer<String>
  private let cluster: KafkaCluster
  private let context: ServiceContext
  /// The existing topics: a replay never creates one.
  private var known: Set<String>
  private var watch: WriteWatch
  private var noProgress: ProgressLine?
  /// The number of records that Kafka has acknowledged, by destination topic.
  private(set) var sent: [String: Int] = [:]
  /// The number of records that Kafka rejected permanently.
  private(set) var refused = 0

  /// - Parameter topics: The destination topics, as far as they exist.
  init(
    _ cluster: KafkaCluster, _ topics: [String], _ context: ServiceContext
  ) throws(ServiceFailure) {
    (self.cluster, self.context) = (cluster, context)
    do {
      producer = try TaggedProducer(cluster.configuration)
      let listing = try cluster.admin.topicListing(naming: topics, timeoutMilliseconds: 10_000)
      let known = Set(listing.sizes.keys)
      self.known = known
      watch = WriteWatch(cluster, topics.filter { known.contains($0) })
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// Produces one record, or a tombstone; returns false if the command is being stopped.
  func produce(
    _ name: String, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader] = []
  ) throws(ServiceFailure) -> Bool {
    if !known.contains(name) {
      try cluster.demand(name, "martlet topics create creates it")
      known.insert(name)
    }
    try drain()
    let topic = try orFail { try producer.topic(name) }
    while !context.signals.isStopping {
      do throws(KafkaError) {
        if try producer.produce(topic, key: key, value: value, headers: headers, as: name) {
          return true
        }
      } catch {
        refuse(error)
        return true
      }
      usleep(1_000)
      try drain()
    }
    return false
  }

  private func refuse(_ error: KafkaError) {
    refused += 1
    StandardError.line("Kafka refuses a record: \(error)")
  }

  private func takeAnswers() {
    for answer in producer.drainAnswers() {
      if let error = answer.refused {
        refuse(error)
      } else {
        sent[answer.tag, default: 0] += 1
      }
    }
  }

  private func drain() throws(ServiceFailure) {
    takeAnswers()
    try watch.look(producer.standing, &noProgress)
  }

  /// Waits until Kafka has acknowledged or rejected everything. A second stop signal ends the process anyway.
  func finish() throws(ServiceFailure) {
    while producer.outstanding > 0 {
      producer.flush(timeoutMilliseconds: 200)
      try drain()
    }
    try drain()
  }

  /// Ends the client, after a short wait for answers if the replay has failed.
  ///
  /// - Returns: What Kafka has, for the audit.
  func end() -> String {
    producer.flush(timeoutMilliseconds: Audit.lastWait)
    takeAnswers()
    producer.close()
    return Self.deed(sent, unanswered: producer.outstanding)
  }

  /// - Parameter unanswered: The number of further records that Kafka may have or not.
  static func deed(_ sent: [String: Int], unanswered: Int) -> String {
    let counts = sent.sorted { $0.key < $1.key }.map { "\($0.value) to \($0.key)" }
    return (counts.isEmpty ? "nothing" : counts.joined(separator: ", ")) + Audit.doubt(unanswered)
  }
}
