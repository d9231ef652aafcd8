// SPDX-License-Identifier: Apache-2.0
import Delivery
import Testing

@testable import Dispatch

/// A pool's line and its health.
@Suite struct PoolTests {
  @Test func `an outage stops the line and its demand`() {
    var pool = Pool(.token(0), .production, DispatchSettings())
    pool.health.served(app: 1, sentAt: 0)
    for slot in 0..<20 as Range<UInt32> { pool.queue.append(slot, .transactional) }
    for _ in 0..<20 { pool.health.failed(now: 1_000, random: 0) }
    #expect(pool.next(capacity: 100, now: 1_001) == nil)
    #expect(pool.demand(for: .transactional, credit: 100, capacity: 100, now: 1_001) == -20)
    pool.health.served(app: 1, sentAt: 0)
    #expect(pool.next(capacity: 100, now: 1_001) == 0)
  }

  @Test func `before the first push is served two may be open`() {
    var pool = Pool(.token(0), .production, DispatchSettings())
    for slot in 0..<20 as Range<UInt32> { pool.queue.append(slot, .transactional) }
    #expect(pool.next(capacity: 100, now: 1) == 0)
    #expect(pool.next(capacity: 100, now: 1) == 1)
    #expect(pool.next(capacity: 100, now: 1) == nil)
  }
}
