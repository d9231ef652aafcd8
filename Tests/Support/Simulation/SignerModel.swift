// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import Random

/// The signer as senders see it: a record for each credential on the provider tokens' topic, a newer one every 45
/// minutes, and now and then a credential that is withdrawn, comes back, or serves other apps.
struct SignerModel {
  private struct Key {
    var stamp: ProviderTokenStamp
    var apps: [String]
    var isWithdrawn = false
  }

  private var keys: [Key] = []
  /// All that was ever written to the topic.
  private(set) var updates: [ProviderTokenBook.Update] = []

  /// - Parameter apps: of each credential.
  init(apps: [[String]], wall: Int64) {
    for apps in apps {
      keys.append(Key(stamp: .init(issuedAt: wall / 1_000 - 5, generation: 1), apps: apps))
      write(keys.count - 1)
    }
  }

  /// The stamps that APNs takes now.
  func stamp(_ key: Int) -> ProviderTokenStamp { keys[key].stamp }

  private mutating func write(_ index: Int) {
    let key = keys[index]
    updates.append(
      .token(
        .init(
          credential: "key\(index)", teamID: "team", keyID: "k\(index)", scope: .any,
          apps: key.apps, stamp: key.stamp,
          token: Array("token \(index) \(key.stamp.issuedAt) \(key.stamp.generation)".utf8))))
  }

  mutating func turn(wall: Int64, isCalm: Bool, _ chance: inout SeededGenerator) {
    for index in keys.indices {
      let isDue = wall / 1_000 - keys[index].stamp.issuedAt >= 45 * 60
      if isDue || (isCalm && keys[index].isWithdrawn) { renew(index, wall) }
      guard !isCalm, !keys[index].isWithdrawn, chance.oneIn(40_000) else { continue }
      keys[index].isWithdrawn = true
      updates.append(.removed(credential: "key\(index)"))
    }
    if !isCalm, chance.oneIn(5_000) {
      for index in keys.indices where keys[index].isWithdrawn { renew(index, wall) }
    }
  }

  private mutating func renew(_ index: Int, _ wall: Int64) {
    keys[index].isWithdrawn = false
    keys[index].stamp = .init(
      issuedAt: wall / 1_000 - 5, generation: keys[index].stamp.generation + 1)
    write(index)
  }
}
