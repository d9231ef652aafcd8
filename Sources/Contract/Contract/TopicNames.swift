// SPDX-License-Identifier: Apache-2.0

/// The consumer groups, one per service, except for `martlet-webhooks`.
public enum ReaderGroup: String, Sendable, CaseIterable {
  case ingest = "martlet-ingest"
  case sender = "martlet-sender"
  case feedback = "martlet-feedback"
  case signer = "martlet-signer"
  case scheduler = "martlet-scheduler"
  /// The prefix of the groups of `martlet-webhooks`: one per endpoint.
  case webhooks = "martlet-webhooks"
}

/// The names of all topics under one prefix.
public struct TopicNames: Equatable, Sendable {
  public static let defaultPrefix = "push."
  /// Kafka allows names of 249 bytes; the longest of ours after the prefix is that of a lane.
  public static let longestPrefix = 249 - "notifications.".utf8.count - Lanes.longestName

  public let prefix: String
  public let lanes: Lanes

  public init(prefix: String = defaultPrefix, lanes: Lanes = .standard) {
    self.prefix = prefix
    self.lanes = lanes
  }

  public var requests: String { prefix + "requests" }
  /// The topics of the lanes, in order.
  public var notifications: [String] { lanes.all.map(notifications) }
  /// The retry topics, shortest wait first.
  public var retries: [String] { RetryTier.allCases.map(retries) }
  public var receipts: String { prefix + "receipts" }
  public var feedback: String { prefix + "feedback" }
  public var devices: String { prefix + "devices" }
  public var invalidTokens: String { prefix + "invalid-tokens" }
  public var providerTokens: String { prefix + "provider-tokens" }
  public var tokenRequests: String { prefix + "token-requests" }
  public var deadLetters: String { prefix + "dead-letters" }
  public var controls: String { prefix + "controls" }
  public var schedule: String { prefix + "schedule" }
  /// The requests of campaigns, which only the scheduler writes.
  public var campaignRequests: String { prefix + "campaign-requests" }
  /// Device tokens of campaigns, from files.
  public var audiences: String { prefix + "audiences" }

  /// True for the topic of any lane, whatever its name.
  public func isOfLane(_ topic: String) -> Bool {
    let first = notifications(.first)
    return topic.utf8.elementsEqual(first.utf8) || topic.utf8.starts(with: "\(first).".utf8)
  }

  /// True for a topic of the pipeline, including lanes and retry tiers that this process does not know.
  public func isOwn(_ topic: String) -> Bool {
    guard topic.utf8.starts(with: prefix.utf8) else { return false }
    return isOfLane(topic) || topic.utf8.starts(with: "\(prefix)retries.".utf8)
      || all.contains { $0.name.utf8.elementsEqual(topic.utf8) }
  }

  /// The name of a consumer group. Two pipelines on one cluster have different prefixes and need different groups: any
  /// prefix other than the default precedes the group's name.
  public func group(_ reader: ReaderGroup) -> String {
    prefix == Self.defaultPrefix ? reader.rawValue : prefix + reader.rawValue
  }

  /// The group of one endpoint of `martlet-webhooks`.
  ///
  /// - Parameter endpoint: the name of the endpoint.
  public func webhookGroup(_ endpoint: String) -> String { "\(group(.webhooks)).\(endpoint)" }

  /// The topic of a lane.
  public func notifications(_ lane: Lane) -> String {
    prefix + (lane == .first ? "notifications" : "notifications.\(lanes.name(lane))")
  }

  /// The topic of a retry tier.
  public func retries(_ tier: RetryTier) -> String { prefix + "retries." + tier.suffix.description }

  /// Every topic with its defaults: the table shared by `martlet topics create`, `deploy/topics.txt` and
  /// `deploy/topics.sh`.
  ///
  /// The counts of `feedback`, `devices` and `invalid-tokens` are independent: every feedback process reads both tables
  /// whole, and the owner of a partition of `feedback` decides about the devices in it.
  public var all: [TopicSpecification] {
    func log(
      _ name: String, _ partitions: Int32, days: Int64, _ reader: ReaderGroup?
    ) -> TopicSpecification {
      .init(
        name: name, partitions: partitions, retentionMilliseconds: days * 86_400_000,
        readerGroup: reader.map(group))
    }
    func table(
      _ name: String, _ partitions: Int32, _ reader: ReaderGroup? = nil, lag: Int64 = 0
    ) -> TopicSpecification {
      .init(
        name: name, partitions: partitions, cleanup: .compact, readerGroup: reader.map(group),
        compactionLag: lag)
    }
    return [log(requests, 12, days: 1, .ingest)]
      + notifications.map { log($0, 12, days: 1, .sender) }
      + retries.map { log($0, 4, days: 1, .sender) } + [
        log(receipts, 6, days: 7, nil),
        log(feedback, 4, days: 7, .feedback),
        table(devices, 4, .feedback),
        table(invalidTokens, 4),
        table(providerTokens, 1),
        log(tokenRequests, 1, days: 1, .signer),
        log(deadLetters, 4, days: 14, nil),
        table(controls, 1),
        table(schedule, 12, .scheduler, lag: TopicSpecification.cancellationKept),
        log(campaignRequests, 12, days: 1, .ingest),
        log(audiences, 4, days: 7, nil),
      ]
  }
}
