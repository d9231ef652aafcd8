// SPDX-License-Identifier: Apache-2.0
import Random

extension SeededGenerator {
  /// About normally distributed with mean 0 and deviation 1: the sum of twelve even ones less six.
  /// Its tails end at ±6.
  mutating func deviation() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += share() }
    return sum
  }
}
