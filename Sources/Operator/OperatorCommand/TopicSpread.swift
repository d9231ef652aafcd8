// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import ServiceKit

/// Waits until every broker of a cluster knows topics that were just created: each broker learns of them on its own,
/// and a program that asks one too early considers the topics missing.
struct TopicSpread {
  let configuration: KafkaConfiguration
  let brokers: [String]
  let topics: [String]

  /// - Returns: What one broker still lacked at the time limit; nil if each has all topics.
  func wait(timeLimit: TimeLimit) -> String? {
    for broker in brokers {
      // A new client is connected only to the broker that it was given, and so asks that one.
      guard let admin = try? KafkaAdmin(configuration.addressed(to: broker)) else { continue }
      defer { admin.close() }
      while let lacking = lacking(broker, admin) {
        if timeLimit.left == 0 { return lacking }
        usleep(50_000)
      }
    }
    return nil
  }

  private func lacking(_ broker: String, _ admin: KafkaAdmin) -> String? {
    do throws(KafkaError) {
      // No broker lists what this user may not see.
      let listing = try admin.topicListing(naming: topics, timeoutMilliseconds: 2_000)
      let missing = topics.filter { listing.sizes[$0] == nil && listing.hidden[$0] == nil }
      return missing.isEmpty ? nil : "broker \(broker) lacks \(missing.joined(separator: ", "))"
    } catch {
      return "broker \(broker) does not answer: \(error)"
    }
  }
}
