// SPDX-License-Identifier: Apache-2.0

/// A topic as it is created: name, partitions, what becomes of old records, and who reads it.
package struct TopicSpecification: Equatable, Sendable {
  package enum Cleanup: String, Sendable {
    case delete
    case compact
  }

  package let name: String
  /// The default for one machine; the count is the user's.
  package var partitions: Int32
  package let cleanup: Cleanup
  /// The consumer group that reads the topic to its end, if one does. What it has not committed must
  /// not be dropped.
  package let readerGroup: String?

  package init(
    name: String, partitions: Int32, cleanup: Cleanup = .delete, readerGroup: String? = nil
  ) {
    self.name = name
    self.partitions = partitions
    self.cleanup = cleanup
    self.readerGroup = readerGroup
  }
}

/// The consumer groups, one a service.
package enum ReaderGroup: String, Sendable, CaseIterable {
  case ingest = "martlet-ingest"
  case sender = "martlet-sender"
  case feedback = "martlet-feedback"
  case signer = "martlet-signer"
}

/// The names of all topics under one prefix.
package struct TopicNames: Equatable, Sendable {
  package static let defaultPrefix = "push."

  package let prefix: String

  package init(prefix: String = defaultPrefix) {
    self.prefix = prefix
  }

  package var requests: String { prefix + "requests" }
  package var notifications: String { prefix + "notifications" }
  package var notificationsBulk: String { prefix + "notifications.bulk" }
  package var retries5s: String { prefix + "retries.5s" }
  package var retries1m: String { prefix + "retries.1m" }
  package var retries15m: String { prefix + "retries.15m" }
  package var receipts: String { prefix + "receipts" }
  package var feedback: String { prefix + "feedback" }
  package var devices: String { prefix + "devices" }
  package var invalidTokens: String { prefix + "invalid-tokens" }
  package var providerTokens: String { prefix + "provider-tokens" }
  package var tokenRequests: String { prefix + "token-requests" }
  package var deadLetters: String { prefix + "dead-letters" }

  /// The name of a consumer group. Two pipelines on one cluster differ by their prefix, and so must their
  /// groups: with another prefix than the default it goes before the group's name.
  package func group(_ reader: ReaderGroup) -> String {
    prefix == Self.defaultPrefix ? reader.rawValue : prefix + reader.rawValue
  }

  /// The topic of a lane.
  package func notifications(_ lane: Lane) -> String {
    switch lane {
    case .transactional: notifications
    case .bulk: notificationsBulk
    }
  }

  /// The topic of a retry tier.
  package func retries(_ tier: RetryTier) -> String {
    prefix + "retries." + tier.suffix.description
  }

  /// Every topic with its default form.
  ///
  /// `feedback`, `devices` and `invalid-tokens` share key, partitioner and partition count, so that one
  /// process owns all that is said about a token.
  package var all: [TopicSpecification] {
    func topic(
      _ name: String, _ partitions: Int32, _ reader: ReaderGroup?,
      _ cleanup: TopicSpecification.Cleanup = .delete
    ) -> TopicSpecification {
      .init(name: name, partitions: partitions, cleanup: cleanup, readerGroup: reader.map(group))
    }
    return [
      topic(requests, 12, .ingest),
      topic(notifications, 12, .sender),
      topic(notificationsBulk, 12, .sender),
      topic(retries5s, 4, .sender),
      topic(retries1m, 4, .sender),
      topic(retries15m, 4, .sender),
      topic(receipts, 6, nil),
      topic(feedback, 4, .feedback),
      topic(devices, 4, ReaderGroup.feedback, .compact),
      topic(invalidTokens, 4, nil, .compact),
      topic(providerTokens, 1, nil, .compact),
      topic(tokenRequests, 1, .signer),
      topic(deadLetters, 4, nil),
    ]
  }
}
