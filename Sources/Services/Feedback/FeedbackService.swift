// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
package import ServiceKit
package import Settings
import Store

/// `martlet-feedback`: records which device tokens are dead, and tells ingest.
///
/// Everything happens on one thread, in `FeedbackWorker`.
package enum FeedbackService: Service {
  package static let name = "martlet-feedback"
  package static let summary = """
    Keeps the database of device tokens: applies registrations and what APNs says about tokens, and publishes \
    which tokens are dead. A token is declared dead only on proof, never for a configuration mistake.
    """
  package static let table = FeedbackSettings.table

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> FeedbackSettings {
    try FeedbackSettings(values)
  }

  package static func run(
    _ settings: FeedbackSettings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    do {
      let names = TopicNames(prefix: settings.topicPrefix)
      let own = [names.feedback, names.devices, names.invalidTokens]
      guard
        var cluster = try ClusterView.wait(
          settings.kafka, topics: own + [names.deadLetters], context)
      else { return }
      let partitions = try partitionCount(own, cluster)
      // `range` gives a member the same partitions of both topics, so one process hears all that is said
      // about a token; `roundrobin` deals them out one by one and, with three members and four partitions,
      // does not.
      cluster.configuration.consumerPreferences.append(("partition.assignment.strategy", "range"))
      cluster.configuration.dividePrefetch(among: 2 * partitions)
      guard let store = try openStore(settings, context) else { return }
      try FeedbackWorker(
        settings, context, names, store, kafka: cluster.configuration, partitions: partitions
      ).run()
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// The three topics share key, partitioner and partition count: else one process would not own all that is
  /// said about a token, and could publish it out of order.
  private static func partitionCount(
    _ own: [String], _ cluster: ClusterView
  ) throws(ServiceFailure) -> Int {
    let counts = own.map { cluster.partitions[$0] ?? 0 }
    guard let count = counts.first, counts.allSatisfy({ $0 == count }) else {
      let list = zip(own, counts).map { "\($0) has \($1)" }.joined(separator: ", ")
      throw ServiceFailure(
        "the topics of device tokens must have the same number of partitions: \(list)")
    }
    return count
  }

  /// Waits for a database that is locked; nil when a stop was requested meanwhile.
  private static func openStore(
    _ settings: FeedbackSettings, _ context: ServiceContext
  ) throws(ServiceFailure) -> TokenStore? {
    var isReported = false
    while !context.signals.isStopping {
      do throws(StoreError) {
        return try TokenStore(path: settings.database, now: WallClock.milliseconds())
      } catch {
        // A wrong path does not heal by itself; a lock or a full disk may.
        guard error.isTemporary, access(settings.database, F_OK) == 0 else {
          throw ServiceFailure("\(error)")
        }
        if !isReported { context.log.warning("waiting for the database", ["error": "\(error)"]) }
        isReported = true
        usleep(500_000)
      }
    }
    return nil
  }
}
