// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Telemetry

/// What the sender's control thread counts.
enum SenderGroupCounter: Int, CounterKey {
  /// Maps beside committed offsets that were not ours, cut or impossible: the offset alone was used.
  case offsetMapsRefused
  /// Provider tokens that are sealed with a key that this sender does not have, or that were changed.
  case unreadableTokens
  /// Records on the provider tokens' topic that are none.
  case badTokenRecords
  /// Provider tokens that were taken off their topic, and not withdrawn by a signer.
  case vanishedTokens
  /// Provider tokens that were dated into the future when they came.
  case futureTokens
  /// Credentials that have no provider token that may be sent: their notifications wait.
  case credentialsWithoutToken
  /// Apps, lanes and campaigns that an operator has paused.
  case pausedApps
  case pausedLanes
  case pausedCampaigns
  /// Paces that an operator has set.
  case paces
  /// Windows of `apns-id`s that were kept over a rebalance, and need not be read again.
  case dedupWindowsKept
  /// Partitions that are this process's.
  case partitionsAssigned

  var kind: CounterKind {
    switch self {
    case .credentialsWithoutToken, .partitionsAssigned, .pausedApps, .pausedLanes,
      .pausedCampaigns, .paces:
      .gauge
    default: .total
    }
  }
}
