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
  /// 1 while this signer is the one that mints.
  case owner

  var kind: CounterKind { self == .owner ? .gauge : .total }
}
