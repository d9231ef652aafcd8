// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import IngestDecisions

/// Requests whose records are not all acknowledged.
@Suite struct RequestTableTests {
  @Test func `complete a request after its last record, and never one that was given up`() {
    var table = RequestTable(capacity: 2)
    let first = table.insert(partition: 3, epoch: 1, offset: 77, created: 0)
    let second = table.insert(partition: 3, epoch: 1, offset: 78, created: 0)
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
    let third = table.insert(partition: 0, epoch: 2, offset: 1, created: 0)
    #expect(table.settle(third)?.epoch == 2)
  }

  @Test func `the table knows when its oldest request was made`() {
    var table = RequestTable(capacity: 3)
    var ages = [table.oldest]
    let first = table.insert(partition: 0, epoch: 1, offset: 1, created: 100)
    let second = table.insert(partition: 0, epoch: 1, offset: 2, created: 90)
    ages.append(table.oldest)
    _ = table.settle(second)
    ages.append(table.oldest)
    _ = table.insert(partition: 0, epoch: 1, offset: 3, created: 110)
    ages.append(table.oldest)
    _ = table.settle(first)
    ages.append(table.oldest)
    #expect(ages == [nil, 90, 100, 100, 110])
  }
}
