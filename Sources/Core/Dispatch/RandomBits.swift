// SPDX-License-Identifier: Apache-2.0

/// Cheap random bits for jitter (xorshift64*, Vigna 2016); equal seeds, equal bits.
package struct RandomBits: Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  package mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 0x2545_F491_4F6C_DD1D
  }
}
