// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
import ServiceKit

/// A cluster as a command first meets it.
struct KafkaCluster {
  let configuration: KafkaConfiguration
  let admin: KafkaAdmin
  let isEmbedded: Bool

  /// Waits up to ten seconds for a broker to answer; a stop request ends the wait.
  init(_ configuration: KafkaConfiguration, _ context: ServiceContext) throws(ServiceFailure) {
    do {
      let admin = try KafkaAdmin(configuration)
      let embedded = try Self.identify(admin, context)
      var adapted = configuration
      adapted.isEmbeddedBroker = embedded
      self.configuration = adapted
      self.admin = admin
      isEmbedded = embedded
    } catch let failure as ServiceFailure {
      throw failure
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// Fails unless the topic exists: looking one up by its name alone would create it on many clusters.
  ///
  /// - Parameter advice: what to do about it.
  /// - Returns: its partitions.
  @discardableResult
  func demand(_ topic: String, _ advice: String) throws(ServiceFailure) -> Int {
    let known: [String: Int]
    do throws(KafkaError) {
      known = try admin.partitionCounts(timeoutMilliseconds: 10_000)
    } catch {
      throw ServiceFailure("\(error)")
    }
    guard let partitions = known[topic] else {
      throw ServiceFailure("there is no topic \(topic), or this user may not see it; \(advice)")
    }
    return partitions
  }

  private static func identify(
    _ admin: KafkaAdmin, _ context: ServiceContext
  ) throws -> Bool {
    let deadline = MonotonicClock.milliseconds() + 10_000
    while true {
      do throws(KafkaError) {
        return try admin.isEmbeddedBroker(timeoutMilliseconds: 250)
      } catch {
        if MonotonicClock.milliseconds() >= deadline || !error.isRetriable { throw error }
        if context.signals.isStopping { throw context.signals.interrupted("no broker answered") }
        usleep(100_000)
      }
    }
  }
}
