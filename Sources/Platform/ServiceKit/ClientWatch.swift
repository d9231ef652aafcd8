// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import EventLoop
import Kafka

/// Ends the process when one of its Kafka clients finds no broker any more although there is one (`StrandedClients`).
/// Owned by one thread.
struct ClientWatch {
  /// The first librdkafka that forgets brokers.
  private static let first = LibraryVersion(2, 10, 0)
  private static let answerMilliseconds: Int32 = 1_000

  private let configuration: KafkaConfiguration
  private let context: ServiceContext
  private var clients = StrandedClients()

  init(_ configuration: KafkaConfiguration, _ context: ServiceContext) {
    self.configuration = configuration
    self.context = context
  }

  /// - Parameter isReached: whether a client of the process has just reached the cluster.
  mutating func look(isReached: Bool, now: UInt64) {
    guard LibraryVersion.librdkafka >= Self.first, !context.signals.isStopping else { return }
    let names =
      isReached || canBeReached
      ? OpenClients.withoutBroker(timeoutMilliseconds: Self.answerMilliseconds) : nil
    guard let name = clients.saw(names, now: now) else { return }
    context.fail(
      ServiceFailure(
        "the Kafka client \(name) has found no broker for \(StrandedClients.patience / 1_000) s although there"
          + " is one: librdkafka has forgotten the cluster (librdkafka#5301), and only a new process helps;"
          + " what was not committed is done again"))
  }

  /// Asks by a client of its own.
  private var canBeReached: Bool {
    guard let admin = try? KafkaAdmin(configuration) else { return false }
    defer { admin.close() }
    return (try? admin.clusterID(timeoutMilliseconds: Self.answerMilliseconds)) != nil
  }
}
