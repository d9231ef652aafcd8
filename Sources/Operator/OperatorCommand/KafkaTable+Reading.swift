// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Kafka
import ServiceKit

extension KafkaTable {
  /// Reads the topic to its current end; fails if nothing arrives for 20 seconds, or a stop is requested.
  ///
  /// - Parameters:
  ///   - undone: What the command then has not done.
  ///   - forget: Called before the topic is read again from the start.
  func readToEnd(
    _ context: ServiceContext, undone: String, forget: () -> Void, _ note: (KafkaRecord) -> Void
  ) throws(ServiceFailure) {
    let patience = 20_000
    var limit = TimeLimit(milliseconds: patience)
    repeat {
      var hasRead = false
      pollRecords(
        timeoutMilliseconds: 50, forget: forget,
        { record in
          hasRead = true
          note(record)
        })
      if hasRead { limit = TimeLimit(milliseconds: patience) }
      if context.signals.isStopping { throw context.signals.interrupted(undone) }
      guard limit.left > 0 else {
        throw ServiceFailure(
          "\(topic) could not be read to its end\(lastError.map { ": \($0)" } ?? "")")
      }
    } while !isCaughtUp
  }
}
