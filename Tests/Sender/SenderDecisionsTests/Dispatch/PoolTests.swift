// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import ConsumerGroup
@testable import SenderDecisions

/// A pool with a certificate, a connection of a hundred streams, and twenty pushes in its line.
@Suite struct PoolTests {
  private static let connection: Int32 = 0

  private func waiting(_ work: inout Workload) -> Pool {
    _ = work.granted(GrantedPartition(topicKind: .lane(.first), resume: ResumePoint(next: 0)))
    var pool = Pool(0, .certificate(0), .production, DispatchSettings())
    pool.lookedUp([PeerAddress(bytes: [10, 0, 0, 1], port: 443)!], &work)
    pool.handle(.connected, of: Self.connection, &work.turn)
    pool.handle(.settings(limit: 100), of: Self.connection, &work.turn)
    for offset in 0..<20 as Range<Int64> {
      let facts = PushFacts(
        dedupKey: NotificationID(high: 0, low: UInt64(offset)), app: 1, device: UInt64(offset),
        lane: .first, created: 0, expiresAt: .max)
      _ = work.admit(offset, from: 0)
      pool.enqueue(work.accept(facts, offset: offset, from: 0, written: 0).slot, &work)
    }
    return pool
  }

  /// The pushes that go out now.
  private func send(_ pool: inout Pool, _ work: inout Workload) -> [UInt32] {
    pool.dispatch(&work)
    var sent: [UInt32] = []
    while let action = work.turn.nextAction() {
      if case .send(let slot, _) = action { sent.append(slot) }
    }
    return sent
  }

  @Test func `an outage stops the line and its demand`() {
    var work = Workload(DispatchSettings(), Turn(now: 1_000, wall: 1, seed: 1))
    var pool = waiting(&work)
    let first = send(&pool, &work)
    for slot in first {
      _ = work.close(slot)
      pool.accepted(slot, on: Self.connection, &work)
    }
    let sent = send(&pool, &work)
    #expect(sent.count == 18 && pool.demand(for: .first, now: 1_000) == 82)
    for slot in sent {
      work.turn.begin(now: work.turn.now + 2, wall: 1)
      _ = work.close(slot)
      let failed = pool.refused(
        slot, on: Self.connection, GatewayResponse(status: 500, reason: .internalServerError),
        retryAfter: 0, &work)
      guard case .goesAgain(let isLast) = failed else {
        Issue.record("it ended")
        continue
      }
      pool.enqueue(slot, isLast: isLast, &work)
    }
    let demand = pool.demand(for: .first, now: work.turn.now)
    let (next, later) = (
      pool.next(capacity: 100, now: work.turn.now), pool.next(capacity: 100, now: 10_000)
    )
    #expect(demand == -18 && next == nil && later != nil)
  }

  @Test func `before the first push is served two may be open`() {
    var work = Workload(DispatchSettings(), Turn(now: 1_000, wall: 1, seed: 1))
    var pool = waiting(&work)
    #expect(send(&pool, &work).count == 2)
  }
}
