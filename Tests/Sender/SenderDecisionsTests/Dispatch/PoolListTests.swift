// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import SenderDecisions

@Suite struct PoolListTests {
  @Test func `a pool is in it once, and may come again when it was taken out`() {
    var list = PoolList()
    for pool in [3, 1, 3, 1] as [Int32] { list.insert(pool) }
    let first = list.popFirst()
    list.insert(3)
    let rest = [list.popFirst(), list.popFirst(), list.popFirst()]
    let isEmpty = list.isEmpty
    #expect(first == 3 && rest == [1, 3, nil] && isEmpty)
  }

  @Test func `all are taken out in their order, and none is in it then`() {
    var list = PoolList()
    for pool in [2, 0, 2] as [Int32] { list.insert(pool) }
    let (has, hasOther) = (list.contains(2), list.contains(7))
    let drained = list.drain()
    let (isEmpty, stillHas) = (list.isEmpty, list.contains(2))
    #expect(has && !hasOther && drained == [2, 0] && isEmpty && !stillHas)
  }
}
