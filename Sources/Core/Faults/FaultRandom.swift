// SPDX-License-Identifier: Apache-2.0

/// Random numbers that are the same for the same seed (SplitMix64, Steele and others 2014).
struct FaultRandom: Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Evenly spread over 0 ..< 1.
  mutating func share() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }

  /// About normally distributed with mean 0 and deviation 1: the sum of twelve even ones less six.
  /// Its tails end at ±6.
  mutating func deviation() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += share() }
    return sum
  }
}
