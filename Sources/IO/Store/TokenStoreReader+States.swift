// SPDX-License-Identifier: Apache-2.0
import DeviceTokens
import Gateways

extension TokenStoreReader {
  /// The number of rows in each state; a device is in one of the first three.
  public struct StateCounts: Equatable, Sendable {
    public let live: Int
    /// The application has taken the registration back.
    public let removed: Int
    public let dead: Int
    /// Called bad by APNs since the registration, which alone makes no token dead.
    public let suspected: Int
    /// Waves that hold answers and that nobody has decided.
    public let wavesHeld: Int

    public init(live: Int, removed: Int, dead: Int, suspected: Int, wavesHeld: Int = 0) {
      self.wavesHeld = wavesHeld
      self.live = live
      self.removed = removed
      self.dead = dead
      self.suspected = suspected
    }
  }

  /// The rows are counted as they change; only suspicions, which are few, are counted here.
  public func stateCounts() throws(StoreError) -> StateCounts {
    let counts = try deviceCounts()
    let suspected = Int(try database.integer("SELECT count(*) FROM suspicions") ?? 0)
    let held = try waves().count { $0.wave.decision == nil && $0.held > 0 }
    return StateCounts(
      live: counts.registered, removed: counts.removed, dead: counts.invalid, suspected: suspected,
      wavesHeld: held)
  }
}
