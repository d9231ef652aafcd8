// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ChaosSuite

@Suite struct MemoryWatchTests {
  @Test func `what remembers all it was given may have a kibibyte for each push, others nothing`() {
    #expect(MemoryWatch.remembered(by: "broker", pushes: 409_600) == 400)
    #expect(MemoryWatch.remembered(by: "simulator", pushes: 409_600) == 400)
    #expect(MemoryWatch.remembered(by: "sender-1", pushes: 409_600) == 0)
  }
}
