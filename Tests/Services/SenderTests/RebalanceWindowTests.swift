// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

/// What a rebalance costs the partitions that stay.
@Suite("Windows over a rebalance", .serialized)
struct RebalanceWindowTests {
  @Test("what stays is not read again; what comes is; repeats are recognised", arguments: [1, 2])
  func windowsAreKept(loops: Int) throws {
    let rig = try SenderRig(partitions: 4, embedded: true)
    try rig.publishToken()
    let count = 400
    let first = try rig.startSender(loops: loops)
    try rig.sendMany(0..<count)
    #expect(try rig.receipts(of: 0..<count).count == count)
    #expect(try eventually { try rig.committed() == count })
    let second = try rig.startSender(loops: loops)
    // Two of the four partitions stay, and go on without their logs being read.
    #expect(eventually(withinMilliseconds: 20_000) { first.counter("dedup_windows_kept") == 2 })
    #expect(first.counter("dedup_rebuilds") == 0)
    #expect(eventually { second.counter("dedup_rebuilds") == 2 })
    #expect(second.counter("dedup_windows_kept") == 0)
    #expect(second.stop() == nil)
    #expect(eventually(withinMilliseconds: 20_000) { first.counter("dedup_windows_kept") == 4 })
    #expect(eventually { first.counter("dedup_rebuilds") == 2 })
    try rig.sendMany(0..<count)
    let receipts = try rig.receipts(2 * count)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: count, .deduplicated: count])
    #expect(first.counter("dedup_rebuilds_late") == 0)
    #expect(first.stop() == nil)
  }
}
