// SPDX-License-Identifier: Apache-2.0

/// Random numbers that are the same for the same seed (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// Time that passes only when a test says so, in milliseconds.
package struct ManualClock: Sendable {
  package private(set) var milliseconds: UInt64

  package init(_ milliseconds: UInt64 = 1_000_000) { self.milliseconds = milliseconds }

  package mutating func advance(by milliseconds: UInt64) { self.milliseconds += milliseconds }

  /// The same moment in seconds.
  package var seconds: UInt64 { milliseconds / 1_000 }
}
