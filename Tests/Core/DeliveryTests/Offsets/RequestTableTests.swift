// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Delivery

@Suite("Requests whose records are not all acknowledged")
struct RequestTableTests {
  @Test
  func `complete a request after its last record, and never one that was given up`() {
    var table = RequestTable(capacity: 2)
    let first = table.insert(partition: 3, epoch: 1, offset: 77)
    let second = table.insert(partition: 3, epoch: 1, offset: 78)
    let isFull = table.isFull
    #expect(isFull)
    table.expect(first)
    table.expect(first)
    #expect(table.settle(first) == nil)
    #expect(table.settle(first) == nil)
    #expect(table.settle(first)?.offset == 77)
    table.expect(second)
    table.abandon(second)
    #expect(table.settle(second)?.epoch == RequestTable.noEpoch)
    let count = table.count
    #expect(count == 0)
    let third = table.insert(partition: 0, epoch: 2, offset: 1)
    #expect(table.settle(third)?.epoch == 2)
  }
}
