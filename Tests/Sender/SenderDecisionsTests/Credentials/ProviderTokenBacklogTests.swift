// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Contract
@testable import SenderDecisions

/// Provider tokens that a loop applies some at a time.
@Suite struct ProviderTokenBacklogTests {
  private func updates(_ numbers: Range<Int>) -> [ProviderTokenBook.Update] {
    numbers.map { .removed(credential: "c\($0)") }
  }

  @Test
  func `5,000 at once come in bounded batches, in their order, and are complete with the last`() {
    var backlog = ProviderTokenBacklog()
    backlog.append(updates(0..<5_000), isComplete: true)
    backlog.append(updates(5_000..<5_001), isComplete: true)
    var seen: [ProviderTokenBook.Update] = []
    var batches = 0
    while let batch = backlog.next() {
      batches += 1
      #expect(batch.updates.count <= ProviderTokenBacklog.atOnce)
      seen += batch.updates
      let isEnd = seen.count == 5_000 || seen.count == 5_001
      #expect(batch.isLast == isEnd)
      #expect(batch.isComplete == isEnd)
    }
    #expect(seen == updates(0..<5_001))
    #expect(batches == (5_000 + ProviderTokenBacklog.atOnce - 1) / ProviderTokenBacklog.atOnce + 1)
    #expect(backlog.isEmpty)
  }

  @Test func `completeness is reported without a record, too`() {
    var backlog = ProviderTokenBacklog()
    #expect(backlog.isEmpty)
    backlog.append([], isComplete: true)
    #expect(!backlog.isEmpty)
    let batch = backlog.next()
    #expect(batch?.isLast == true && batch?.isComplete == true && batch?.updates.isEmpty == true)
    #expect(backlog.isEmpty)
  }
}
