// SPDX-License-Identifier: Apache-2.0
import Dispatch

extension RandomBits {
  /// True once in `n` times.
  mutating func oneIn(_ n: Int) -> Bool { next() >> 11 % UInt64(n) == 0 }

  /// A number in `0 ..< n`.
  mutating func below(_ n: Int) -> Int { Int(next() >> 11 % UInt64(n)) }

  /// A number of the range.
  mutating func within(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + below(range.upperBound - range.lowerBound + 1)
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
