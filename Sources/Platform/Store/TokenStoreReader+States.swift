// SPDX-License-Identifier: Apache-2.0
import Contract

extension TokenStoreReader {
  /// The number of rows in each state; a device is in one of the first three.
  public struct StateCounts: Equatable, Sendable {
    public let valid: Int
    /// The application has taken the registration back.
    public let removed: Int
    public let invalid: Int
    /// Called bad by APNs since the registration, which alone makes no token invalid.
    public let suspected: Int
    /// Waves that hold answers and that nobody has decided.
    public let wavesHeld: Int

    public init(valid: Int, removed: Int, invalid: Int, suspected: Int, wavesHeld: Int = 0) {
      self.wavesHeld = wavesHeld
      self.valid = valid
      self.removed = removed
      self.invalid = invalid
      self.suspected = suspected
    }
  }

  /// The rows are counted as they change; only suspicions, which are few, are counted here.
  public func stateCounts() throws(StoreError) -> StateCounts {
    let counts = try deviceCounts()
    let suspected = Int(try database.integer("SELECT count(*) FROM suspicions") ?? 0)
    let held = try waves().count { $0.wave.decision == nil && $0.held > 0 }
    return StateCounts(
      valid: counts.registered, removed: counts.removed, invalid: counts.invalid,
      suspected: suspected,
      wavesHeld: held)
  }
}
