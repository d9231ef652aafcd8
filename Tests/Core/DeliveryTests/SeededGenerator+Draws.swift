// SPDX-License-Identifier: Apache-2.0
import TestSupport

extension SeededGenerator {
  /// True once in `n` times.
  mutating func oneIn(_ n: UInt64) -> Bool { next() % n == 0 }

  /// A number in `0 ..< n`.
  mutating func below(_ n: Int) -> Int { Int(next() % UInt64(n)) }
}
