// SPDX-License-Identifier: Apache-2.0
import Kafka
import ServiceKit

extension KafkaTable {
  /// Reads the topic to its current end; fails if nothing arrives for 20 seconds, or a stop is requested.
  ///
  /// - Parameter forget: Called before the topic is read again from the start.
  func readToEnd(
    _ context: ServiceContext, forget: () -> Void, _ note: (KafkaRecord) -> Void
  ) throws(ServiceFailure) {
    var limit = ReadingLimit()
    repeat {
      var hasRead = false
      pollRecords(
        timeoutMilliseconds: 50, forget: forget,
        { record in
          hasRead = true
          note(record)
        })
      if hasRead { limit.restart() }
      if context.signals.isStopping {
        throw context.signals.interrupted("\(topic) was not read to its end")
      }
      try limit.demand(topic, lastError)
    } while !isCaughtUp
  }
}
