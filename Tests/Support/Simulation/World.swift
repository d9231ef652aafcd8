// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import Random

/// All that is outside of the sender's processes, and the time.
struct World {
  /// Monotonic milliseconds, and milliseconds since the epoch.
  var now: UInt64 = 1_000_000
  var wall: Int64 { Int64(now) + Self.epoch }
  static let epoch: Int64 = 1_760_000_000_000

  var chance: SeededGenerator
  var kafka = KafkaModel()
  var signer: SignerModel
  var mood = GatewayMood()
  /// Devices that APNs throttles now.
  var throttled: Set<UInt64> = []
  /// The gateway's addresses.
  let addresses: [PeerAddress]
  /// Everything works from now on.
  var isCalm = false

  init(seed: UInt64, apps: [[String]]) {
    chance = SeededGenerator(seed: seed)
    signer = SignerModel(apps: apps, wall: Int64(1_000_000) + Self.epoch)
    addresses = (1...3).map { PeerAddress(bytes: [10, 0, 0, $0], port: 443)! }
  }
}
