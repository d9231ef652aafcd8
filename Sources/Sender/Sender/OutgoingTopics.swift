// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit

/// The topics a loop writes to.
struct OutgoingTopics {
  let receipts: KafkaTopic
  let feedback: KafkaTopic
  let deadLetters: KafkaTopic
  /// By the lane's place.
  let lanes: [KafkaTopic]
  /// By tier.
  let retries: [KafkaTopic]

  init(_ names: TopicNames, _ producer: KafkaProducer) throws(KafkaError) {
    receipts = try producer.topic(known: names.receipts)
    feedback = try producer.topic(known: names.feedback)
    deadLetters = try producer.topic(known: names.deadLetters)
    lanes = try names.notifications.map { name throws(KafkaError) in try producer.topic(known: name)
    }
    var tiers: [KafkaTopic] = []
    for tier in RetryTier.allCases { tiers.append(try producer.topic(known: names.retries(tier))) }
    retries = tiers
  }
}
