// SPDX-License-Identifier: Apache-2.0

/// Random numbers that are the same for the same seed: SplitMix64 (Steele, Lea and Flood, 2014).
///
/// Fast, evenly spread, and good with any seed, also with consecutive ones. From one number an attacker can compute the
/// next: not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  var state: UInt64

  /// - Parameter seed: any number, 0 included.
  public init(seed: UInt64) { state = seed }

  /// 64 random bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `n` times; `n` is above 0.
  public mutating func oneIn(_ n: Int) -> Bool { next() % UInt64(n) == 0 }

  /// True in `share` of 10,000 calls.
  public mutating func chance(per10000 share: UInt64) -> Bool { next() % 10_000 < share }

  /// A number in `0 ..< n`; `n` is above 0.
  public mutating func below(_ n: Int) -> Int { Int(next() % UInt64(n)) }

  public mutating func within(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + below(range.upperBound - range.lowerBound + 1)
  }

  /// One of the choices; there is at least one.
  public mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[below(choices.count)]
  }

  /// Evenly spread over 0 ..< 1.
  public mutating func share() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }
}
