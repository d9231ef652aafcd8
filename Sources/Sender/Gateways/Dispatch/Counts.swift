// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The counters of a sender loop. Every record taken ends in exactly one of the outcomes or a retry.
public enum SenderCounter: Int, CaseIterable, Sendable {
  /// Records taken out of Kafka.
  case taken
  case delivered
  case rejected
  case expired
  /// Not sent, because APNs called the token dead a short while ago.
  case suppressed
  case deduplicated
  /// Not sent, or not sent again, because a newer push with the same key was taken.
  case superseded
  /// Not sent, or not sent again, because their campaign was cancelled or has stopped itself.
  case cancelled
  case deadLettered
  /// Records that are no notification; they count as dead-lettered, too.
  case invalidRecords
  /// Moved to a retry topic.
  case retried
  /// Sent again at once on another connection because APNs certainly had not processed them.
  case resentUnprocessed
  /// Sent again at once though APNs may have processed them: possible duplicates.
  case resentAmbiguous
  /// Prompt retries that the destination's retry budget refused; they went to a retry topic.
  case retriesOverBudget
  /// Retries with a key that were due and went back to their lane, where it is known whether they were superseded.
  case returned
  /// Those of them that are older than what is known of their partition: none may be newer, or one that was sent.
  case returnedUnknown
  /// Moved to a retry topic unsent: over the destination's share, no credential, or a throttled device.
  case diverted
  /// Those of them that were over the pace of their app, group or device.
  case pacedAside
  /// Failed sends that were put back in line, not counted, because the whole destination failed.
  case keptInOutage
  /// Requests that got no answer in time.
  case timedOut
  /// Answers that are not of APNs, or about another push.
  case foreignAnswers
  /// Connections opened, and those that ended otherwise than by our own decision.
  case connects
  case connectionsLost
  /// Connects that were given up because the gateway was not ready in time.
  case connectTimeouts
  /// Requests without an answer while others on the same connection were answered.
  case silentStreams
  /// Connections closed because a PING went unanswered.
  case silentConnections
  /// Pushes sent again to another address than before.
  case movedAddress
  /// Times an address was put aside because it failed.
  case addressesAside
  /// Connections replaced because of their age.
  case replacedAged
  /// Destinations whose connections were closed because nothing was sent through them for long.
  case closedIdle
  /// Looks at which a destination had no connection because there were as many as there may be.
  case waitsForRoom
  /// Times APNs refused a credential.
  case credentialRefusals
  /// Times an answer of APNs made a loop ask for a newer provider token.
  case tokenRequests
  /// GOAWAY frames received.
  case goAways
  /// Records of a revoked partition that were dropped unsent; the next owner sends them.
  case handedBack
  /// Windows of earlier `apns-id`s that were read again, and partitions that had begun before theirs was whole.
  case dedupRebuilds
  case dedupRebuildsLate
  case inFlight
  case waiting
  case openConnections
  /// Pushes that wait in slots for the pace of their app or group.
  case waitingForPace
  /// Devices with a pace that were forgotten although their last pushes still count.
  case forgottenDevices
  /// Records taken and not completed, and completed runs among them, of all partitions.
  case openRecords
  case completedRuns
  /// The longest time that the oldest open record of a partition has kept its committed offset from moving.
  case oldestOpenMilliseconds
  /// Offsets between the oldest open record and the newest one, in the partition where that is most.
  case widestSpan
  /// Partitions from which nothing is taken because too much of them is open.
  case partitionsPaused
}

/// The counters' values, written by the one owner.
public struct Counts: Sendable {
  private var values = InlineArray<47, Int>(repeating: 0)

  init() { precondition(SenderCounter.allCases.count == values.count) }

  public subscript(_ counter: SenderCounter) -> Int { values[counter.rawValue] }

  mutating func add(_ counter: SenderCounter) { values[counter.rawValue] += 1 }

  mutating func set(_ counter: SenderCounter, _ value: Int) { values[counter.rawValue] = value }
}

extension Outcome {
  /// The counter of this outcome.
  var counter: SenderCounter {
    switch self {
    case .delivered: .delivered
    case .rejected: .rejected
    case .expired: .expired
    case .suppressed: .suppressed
    case .deduplicated: .deduplicated
    case .deadLettered: .deadLettered
    case .cancelled: .cancelled
    // The last is none of a push (`Outcome.ofPushes`); to trap on it would cost every push a comparison.
    case .superseded, .addressed: .superseded
    }
  }
}
