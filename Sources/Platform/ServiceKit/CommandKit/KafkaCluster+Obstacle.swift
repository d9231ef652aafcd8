// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka

extension KafkaCluster {
  private static let answerMilliseconds: Int32 = 1_000

  /// What is known of the reason why the cluster acknowledges nothing. Asks it, for some seconds at most.
  ///
  /// - Parameter throttledBefore: the milliseconds for which brokers had delayed answers when all was well
  ///   (`KafkaThrottle`).
  func obstacle(
    to topics: [String], _ standing: ProducerSnapshot, throttledBefore: Int
  ) -> WriteObstacle {
    var found = WriteObstacle()
    found.lastError = standing.lastError.map { "\($0)" }
    if let trouble = standing.trouble {
      let topic = trouble.topics.isEmpty ? "" : "topic \(trouble.topics.joined(separator: ", ")): "
      let remedy = trouble.error.remedy.map { "; \($0)" } ?? ""
      found.refusal = "\(topic)\(trouble.error)\(remedy)"
    }
    do throws(KafkaError) {
      _ = try admin.brokers(timeoutMilliseconds: Self.answerMilliseconds)
    } catch {
      found.silence = "\(error)"
      return found
    }
    found.topics = topics.map(describe)
    if KafkaThrottle.milliseconds > throttledBefore { found.throttling = KafkaThrottle.broker }
    return found
  }

  private func describe(_ name: String) -> WriteObstacle.Topic {
    var topic = WriteObstacle.Topic(name)
    do throws(KafkaError) {
      let replicas = try admin.replicas(of: name, timeoutMilliseconds: Self.answerMilliseconds)
      topic.partitions = replicas.partitions
      topic.leaderless = replicas.leaderless
      // Whoever may not ask, or asks a broker that does not know the question, learns nothing of it.
      let settings = try? admin.topicSettings([name], timeoutMilliseconds: Self.answerMilliseconds)
      topic.minimum = settings?[name]?["min.insync.replicas"].flatMap { Int($0) }
      let few = replicas.inSync.filter { $0 < topic.minimum ?? 1 }
      topic.belowMinimum = few.count
      topic.fewestInSync = few.min() ?? 0
    } catch {
      topic.error = "\(error)"
    }
    return topic
  }
}
