// SPDX-License-Identifier: Apache-2.0
import Kafka
import ServiceKit

/// How long a command waits for the next record of a topic that it reads to its end, whose partition may have lost its
/// leader: it fails if nothing arrives for 20 seconds.
struct ReadingLimit {
  static let standard = 20_000

  private let milliseconds: Int
  private var limit: TimeLimit

  init(milliseconds: Int = Self.standard) {
    self.milliseconds = milliseconds
    limit = TimeLimit(milliseconds: milliseconds)
  }

  /// Starts anew, after records have arrived.
  mutating func restart() { limit = TimeLimit(milliseconds: milliseconds) }

  func demand(_ topic: String, _ lastError: KafkaError?) throws(ServiceFailure) {
    if let refusal = lastError?.refusal(toRead: topic) { throw ServiceFailure(refusal) }
    guard limit.left > 0 else {
      throw ServiceFailure(
        "\(topic) could not be read to its end\(lastError.map { ": \($0)" } ?? "")")
    }
  }
}
