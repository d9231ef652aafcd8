// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ChaosSuite

@Suite struct MemoryWatchTests {
  @Test func `what remembers all it was given may have a kibibyte for each push, others nothing`() {
    #expect(MemoryWatch.remembered(by: "simulator", pushes: 409_600) == 400)
    #expect(MemoryWatch.remembered(by: "broker", pushes: 409_600) == 0)
    #expect(MemoryWatch.remembered(by: "sender-1", pushes: 409_600) == 0)
  }

  @Test func `queues that fill are no growth, and what grows above them is`() {
    #expect(!MemoryWatch.isGrowth(from: 28 << 10, to: 46 << 10))
    #expect(!MemoryWatch.isGrowth(from: 68 << 10, to: 93 << 10))
    #expect(!MemoryWatch.isGrowth(from: 28 << 10, to: 120 << 10))
    #expect(MemoryWatch.isGrowth(from: 28 << 10, to: 121 << 10))
    #expect(!MemoryWatch.isGrowth(from: 104 << 10, to: 130 << 10))
    #expect(MemoryWatch.isGrowth(from: 104 << 10, to: 131 << 10))
  }
}
