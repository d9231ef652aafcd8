// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit

/// Detects another pipeline on the topics that a new one is to use. Both would share their consumer groups, so each
/// would send the other's notifications to its own gateway, whose device tokens do not match.
///
/// No Kafka request shows that on every cluster, so it asks the other pipeline's signer: it writes a harmless request
/// for a provider token and checks whether a consumer commits it.
struct OtherPipeline {
  /// The time for a running signer to read and commit a request, in milliseconds.
  static let patience: UInt64 = 5_000

  private let cluster: KafkaCluster
  private let names: TopicNames

  init(_ cluster: KafkaCluster, _ names: TopicNames) {
    self.cluster = cluster
    self.names = names
  }

  /// Throws if there is another pipeline.
  func refuse(_ context: ServiceContext) throws {
    guard try isThere(context) else { return }
    let address = cluster.configuration.bootstrap
    throw ServiceFailure(
      "another pipeline works on the topics \(names.prefix)* at \(address): its signer answers. Two pipelines would"
        + " take each other's notifications; give this one topics of its own with --topic-prefix NAME, which martlet"
        + " topics create --kafka \(address) --topic-prefix NAME makes")
  }

  private func isThere(_ context: ServiceContext) throws -> Bool {
    let partition = TopicPartition(topic: names.tokenRequests, partition: 0)
    let before = try committed(partition)
    let offset = try ask()
    let deadline = MonotonicClock.milliseconds() + Self.patience
    while MonotonicClock.milliseconds() < deadline, !context.signals.isStopping {
      if let next = try committed(partition), next > offset, next != before { return true }
      usleep(100_000)
    }
    return false
  }

  private func committed(_ partition: TopicPartition) throws(KafkaError) -> Int64? {
    try cluster.admin.groupOffsets(
      names.group(.signer), [partition], timeoutMilliseconds: 5_000
    ).first?.offset
  }

  /// Writes the request; returns its offset.
  private func ask() throws -> Int64 {
    let producer = try KafkaProducer(cluster.configuration)
    defer { producer.close() }
    let request = TokenRequest(
      credential: "martlet-up", app: nil, environment: nil, reason: TokenRequest.probe,
      at: WallClock.milliseconds())
    let topic = try producer.topic(known: names.tokenRequests)
    let result = producer.produce(topic, key: request.key, value: request.value, tag: 0)
    if case .refused(let error) = result { throw error }
    _ = producer.flush(timeoutMilliseconds: 10_000)
    let deliveries = producer.drainDeliveries()
    guard let delivery = deliveries.first, delivery.refused == nil, delivery.offset >= 0 else {
      let error = deliveries.first?.refused ?? producer.trouble?.error ?? producer.lastError
      throw ServiceFailure(
        "cannot write to \(names.tokenRequests): \(error.map { "\($0)" } ?? "no answer")")
    }
    return delivery.offset
  }
}
