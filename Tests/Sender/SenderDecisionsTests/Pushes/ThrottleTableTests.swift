// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing
import Waiting

@Suite struct ThrottleTableTests {
  @Test func `only the throttled device is held, and only for its time`() {
    var table = ThrottleTable()
    #expect(!table.mayThrottle(now: 0))
    table.throttle(7, until: 6_000)
    #expect(table.mayThrottle(now: 1_000))
    #expect(table.remaining(7, now: 1_000) == 5_000)
    #expect(table.remaining(8, now: 1_000) == 0)
    #expect(table.remaining(7, now: 6_000) == 0)
    #expect(!table.mayThrottle(now: 6_000))
    table.throttle(7, until: 5_000)
    #expect(table.remaining(7, now: 1_000) == 5_000, "a time is never shortened")
  }

  /// The table has a fixed size. It may forget a device, and never invents one.
  @Test(arguments: 0..<10 as Range<UInt64>)
  func `bounded and never wrong`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = ThrottleTable(capacity: 64)
    var truth: [UInt64: UInt64] = [:]
    var found = 0
    for now in 0..<20_000 as Range<UInt64> {
      let hash = random.next() % 200
      if random.oneIn(4) {
        let until = now + UInt64(random.below(100))
        table.throttle(hash, until: until)
        truth[hash] = max(truth[hash] ?? 0, until)
      }
      let remaining = table.remaining(hash, now: now)
      let longest = (truth[hash] ?? 0) > now ? truth[hash]! - now : 0
      #expect(remaining <= longest, "seed \(seed)")
      if remaining > 0 { found += 1 }
    }
    #expect(found > 1_000, "seed \(seed): it holds nothing")
  }
}

@Suite struct DeviceOrderTests {
  @Test func `one goes and the rest follow in their order`() {
    var order = DeviceOrder(slots: 16, waitingAtMost: 2)
    #expect(order.enter(1, device: 9) == .goes)
    #expect(order.enter(2, device: 9) == .waits)
    #expect(order.enter(3, device: 9) == .waits)
    #expect(order.enter(4, device: 9) == .refused)
    #expect(order.enter(5, device: 10) == .goes, "another device is not slowed")
    #expect(order.leave(1) == 2)
    #expect(order.leave(2) == 3)
    #expect(order.leave(3) == nil)
    #expect(order.leave(5) == nil)
    #expect(order.devices == 0 && order.waiting == 0)
  }

  @Test func `whose turn comes is handed out once`() {
    var order = DeviceOrder(slots: 16, waitingAtMost: 2)
    #expect(order.isLast(1), "none has entered")
    for slot in [1, 2] as [UInt32] { _ = order.enter(slot, device: 9) }
    #expect(!order.isLast(1) && order.isLast(2))
    #expect(order.nextTurn() == nil)
    _ = order.leave(1)
    #expect(order.nextTurn() == 2)
    #expect(order.nextTurn() == nil)
  }

  /// Random pushes of few devices: never two of a device under way, each device's order kept, all leave.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `order is kept`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var order = DeviceOrder(slots: 64, waitingAtMost: 10)
    var free = Array(0..<64 as Range<UInt32>)
    var lines: [UInt64: [UInt32]] = [:]
    for _ in 0..<50_000 {
      if random.oneIn(2), let slot = free.popLast() {
        let device = UInt64(random.below(40))
        let line = lines[device] ?? []
        switch order.enter(slot, device: device) {
        case .goes: #expect(line.isEmpty, "seed \(seed)")
        case .waits: #expect(!line.isEmpty && line.count <= 10, "seed \(seed)")
        case .refused:
          #expect(line.count == 11, "seed \(seed)")
          free.append(slot)
          continue
        }
        lines[device, default: []].append(slot)
      } else if let device = lines.keys.sorted().randomElement(using: &random) {
        let slot = lines[device]!.removeFirst()
        #expect(order.leave(slot) == lines[device]!.first, "seed \(seed)")
        if lines[device]!.isEmpty { lines[device] = nil }
        free.append(slot)
      }
      #expect(order.devices == lines.count, "seed \(seed)")
      #expect(order.waiting == lines.values.reduce(0) { $0 + $1.count - 1 }, "seed \(seed)")
    }
  }
}
