// SPDX-License-Identifier: Apache-2.0

/// The errors of Kafka's protocol that the broker answers with.
public enum ErrorCode: Int16, Sendable, CaseIterable {
  case unknown = -1
  case none = 0
  case offsetOutOfRange = 1
  case corruptMessage = 2
  case unknownTopicOrPartition = 3
  case notLeader = 6
  case requestTimedOut = 7
  case messageTooLarge = 10
  case offsetMetadataTooLarge = 12
  case coordinatorNotAvailable = 15
  case notCoordinator = 16
  case invalidTopic = 17
  case notEnoughReplicas = 19
  case invalidRequiredAcks = 21
  case illegalGeneration = 22
  case inconsistentProtocol = 23
  case invalidGroupID = 24
  case unknownMember = 25
  case invalidSessionTimeout = 26
  case rebalanceInProgress = 27
  case topicNotAuthorized = 29
  case groupNotAuthorized = 30
  case clusterNotAuthorized = 31
  case unsupportedSaslMechanism = 33
  case illegalSaslState = 34
  case unsupportedVersion = 35
  case topicExists = 36
  case invalidPartitions = 37
  case invalidReplicationFactor = 38
  case invalidConfig = 40
  case invalidRequest = 42
  case unsupportedForMessageFormat = 43
  case policyViolation = 44
  case outOfOrderSequence = 45
  case duplicateSequence = 46
  case invalidProducerEpoch = 47
  case invalidTransactionState = 48
  case transactionalIDNotAuthorized = 53
  case storageError = 56
  case saslAuthenticationFailed = 58
  case unknownProducer = 59
  case nonEmptyGroup = 68
  case groupNotFound = 69
  case fetchSessionNotFound = 70
  case fencedLeaderEpoch = 74
  case unknownLeaderEpoch = 76
  case memberIDRequired = 79
  case groupIsFull = 81
  case fencedInstance = 82
  case groupSubscribed = 86
  case invalidRecord = 87
  case unknownTopicID = 100
}
