// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Telemetry

/// What a signer counts.
enum SignerCounter: Int, CounterKey {
  /// Provider tokens that were signed and that Kafka has.
  case minted
  /// Requests of senders.
  case requests
  /// Records of the requests' topic that say nothing usable.
  case badRequests
  /// Tokens on the topic that are sealed with a key that this signer does not have.
  case unreadableTokens
  /// Records on the tokens' topic that this signer's keys have not signed; they are replaced.
  case foreignTokens
  /// Tokens on the topic that are dated into the future: a clock was wrong.
  case futureTokens
  /// Requests of senders because APNs refused a token.
  case refusals
  /// How far a sender's clock was ahead of this process's when that was noticed last; 0 if it never was.
  case clockDifferenceSeconds
  /// 1 while this signer is the one that mints.
  case owner

  var kind: CounterKind {
    switch self {
    case .owner, .clockDifferenceSeconds: .gauge
    default: .total
    }
  }
}
