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
    do throws(KafkaError) {
      let admin = try KafkaAdmin(configuration)
      let embedded = try Self.identify(admin, context)
      var adapted = configuration
      adapted.isEmbeddedBroker = embedded
      self.configuration = adapted
      self.admin = admin
      isEmbedded = embedded
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private static func identify(
    _ admin: KafkaAdmin, _ context: ServiceContext
  ) throws(KafkaError) -> Bool {
    let deadline = MonotonicClock.milliseconds() + 10_000
    while true {
      do throws(KafkaError) {
        return try admin.isEmbeddedBroker(timeoutMilliseconds: 1_000)
      } catch {
        let isLate = MonotonicClock.milliseconds() >= deadline || context.signals.isStopping
        if isLate || !error.isRetriable { throw error }
        usleep(100_000)
      }
    }
  }
}
