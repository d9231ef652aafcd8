// SPDX-License-Identifier: Apache-2.0
public import CRdKafka

public struct KafkaError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The Kafka protocol's error code, or librdkafka's own (negative).
  public let code: Int32
  /// What was attempted and the error, in words.
  public let message: String
  /// True if the client that raised it can no longer be used.
  public let isFatal: Bool
  /// True if the same call may succeed later.
  public let isRetriable: Bool

  public init(code: Int32, message: String, isFatal: Bool = false, isRetriable: Bool = false) {
    self.code = code
    self.message = message
    self.isFatal = isFatal
    self.isRetriable = isRetriable
  }

  /// The code's name, as Kafka's and librdkafka's documentation have it (`_TRANSPORT`, …).
  public var name: String { String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(code))) }

  public var description: String { "\(message) (\(name))" }
}

extension KafkaError {
  /// An error from a bare code; `attempt` describes the failed operation.
  public init(_ code: rd_kafka_resp_err_t, _ attempt: String, isFatal: Bool = false) {
    let text = String(cString: rd_kafka_err2str(code))
    self.init(
      code: code.rawValue, message: attempt.isEmpty ? text : "\(attempt): \(text)",
      isFatal: isFatal || code == RD_KAFKA_RESP_ERR__FATAL,
      isRetriable: KafkaError.passing.contains(code.rawValue))
  }

  /// An error of a question to the leaders of partitions. librdkafka calls them unknown also where none has a leader.
  init(ofLeaders code: rd_kafka_resp_err_t, _ attempt: String) {
    guard code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION else {
      self.init(code, attempt)
      return
    }
    self.init(code: code.rawValue, message: "\(attempt): no leader, or no such partition")
  }

  /// An error of the caller or of the configuration, in our own words.
  public static func invalid(_ message: String) -> KafkaError {
    KafkaError(code: RD_KAFKA_RESP_ERR__INVALID_ARG.rawValue, message: message)
  }

  public var isOfMissingPartition: Bool { DeliveryFailure.isOfPlace(rd_kafka_resp_err_t(code)) }

  /// True if a smaller record might be accepted.
  public var isOfSize: Bool {
    code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE.rawValue
      || code == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE.rawValue
      || code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE.rawValue
  }

  /// True if the coordinator stores no metadata of that length with an offset (`offset.metadata.max.bytes`).
  public var isOfMetadataSize: Bool {
    code == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE.rawValue
  }

  /// A hint for the operator, for errors whose cause is not obvious.
  public var remedy: String? {
    switch rd_kafka_resp_err_t(code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
      "grant this Kafka user Write and Describe on the topic"
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      "grant this Kafka user Write on its topics (before Kafka 2.8: IdempotentWrite on the cluster)"
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
      RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      "create the topic again with the partitions it had: martlet topics create"
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      "raise the topic's max.message.bytes, or lower --kafka.producer.batch.size below it"
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
      "raise the brokers' offset.metadata.max.bytes to 4096 or more"
    case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
      "set the clocks of this host and of the brokers (NTP); the topic's message.timestamp.before.max.ms and"
        + " message.timestamp.after.max.ms (Kafka before 3.6: message.timestamp.difference.max.ms) say how far apart"
        + " they may be"
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
      "check the topic's cleanup.policy and what validates its records: martlet topics create has the right one"
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE:
      "set kafka.producer.compression.type to gzip or none: the cluster does not take this codec"
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION: "check the cluster's policy for this topic"
    case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
      "set kafka.consumer.session.timeout.ms between the brokers' group.min.session.timeout.ms and"
        + " group.max.session.timeout.ms (6000 and 1800000 unless set)"
    case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
      "see that no other program is in this group, and that kafka.consumer.partition.assignment.strategy is the same"
        + " for all of its members"
    case RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED:
      "raise the brokers' group.max.size, or end other members"
    default: nil
    }
  }

  /// True if the coordinator reports that another process uses this member's instance id.
  public var isFenced: Bool { code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID.rawValue }

  public var isOfAuthorization: Bool {
    code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED.rawValue
      || code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED.rawValue
      || code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED.rawValue
  }

  /// Why a topic is not read, if this user may not; nil for any other error.
  public func refusal(toRead topic: String) -> String? {
    isOfAuthorization ? "this user may not read topic \(topic): needs Read on it (\(name))" : nil
  }

  public var isOfGroupAuthorization: Bool {
    code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED.rawValue
  }

  /// True if the coordinator will not admit this process to its group until a setting is changed.
  public var isOfMembership: Bool {
    code == RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT.rawValue
      || code == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL.rawValue
      || code == RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED.rawValue
  }

  /// True if a broker refused this process or cannot be trusted: credentials or certificates are wrong.
  public var isRefusal: Bool { Self.refusing.contains(code) }

  /// True if a TLS handshake was broken off without a word of why, as by a load balancer whose brokers are away: no
  /// certificate was looked at.
  public var isBrokenHandshake: Bool {
    code == RD_KAFKA_RESP_ERR__SSL.rawValue
      && (message.contains("unexpected eof while reading")
        || message.contains("SSL transport error"))
  }

  /// True if the response is not one of a Kafka broker that librdkafka can parse: another service answered, or only one
  /// side uses TLS.
  public var isUnreadable: Bool {
    code == RD_KAFKA_RESP_ERR__BAD_MSG.rawValue || code == RD_KAFKA_RESP_ERR__UNDERFLOW.rawValue
      || message.contains("Invalid response size")
  }

  private static let refusing: Set<Int32> = [
    RD_KAFKA_RESP_ERR__AUTHENTICATION.rawValue, RD_KAFKA_RESP_ERR__SSL.rawValue,
    RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED.rawValue,
    RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM.rawValue,
    RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED.rawValue,
  ]

  /// Transient codes: the broker is away, an election or a rebalance is under way.
  private static let passing: Set<Int32> = [
    RD_KAFKA_RESP_ERR__TRANSPORT.rawValue, RD_KAFKA_RESP_ERR__TIMED_OUT.rawValue,
    RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.rawValue, RD_KAFKA_RESP_ERR__RESOLVE.rawValue,
    RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE.rawValue,
    RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION.rawValue,
    RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT.rawValue,
    RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS.rawValue,
    RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE.rawValue,
    RD_KAFKA_RESP_ERR_NOT_COORDINATOR.rawValue,
    RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS.rawValue,
    RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS.rawValue,
    RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND.rawValue,
    RD_KAFKA_RESP_ERR__QUEUE_FULL.rawValue,
  ]
}
