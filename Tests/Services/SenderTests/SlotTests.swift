// SPDX-License-Identifier: Apache-2.0
import Delivery
import Testing

@testable import Sender

@Suite("Slots and blocks of the sender")
struct SlotTests {
  @Test("slots are reused and their pushes do not move")
  func slotsAreReused() {
    var table = PushTable()
    var addresses: [UInt32: UnsafeMutablePointer<Push>] = [:]
    var taken: [UInt32] = []
    for _ in 0..<1_000 { taken.append(table.take(.transactional, earlier: 0)) }
    for slot in taken { addresses[slot] = table[slot] }
    #expect(Set(taken).count == 1_000)
    #expect(taken.max()! < UInt32(PushTable.slots(for: 1_000)))
    for slot in taken.prefix(500) { table.put(slot) }
    let half = table.count
    #expect(half == 500)
    for _ in 0..<500 { _ = table.take(.transactional, earlier: 0) }
    let full = table.count
    #expect(full == 1_000)
    for slot in taken {
      let address = table[slot]
      #expect(address == addresses[slot])
    }
  }

  @Test("a block is the smallest size that fits, and comes back for reuse")
  func blocksFit() {
    #expect(BlockPool.size(fitting: 1) == 1_024)
    #expect(BlockPool.size(fitting: 1_025) == 2_560)
    #expect(BlockPool.size(fitting: 2_561) == 9_216)
    // The largest checked record: path prefix, token, line, newline, body, response.
    #expect(BlockPool.size(fitting: Push.blockBytes(token: 512, value: 2_048 + 1 + 5_120)) == 9_216)
    #expect(19 + 255 + 512 + 2_048 + 1 + 5_120 + Push.responseCapacity <= 9_216)
    var pool = BlockPool()
    let block = pool.take(2_560)
    pool.put(block, 2_560)
    let again = pool.take(2_560)
    #expect(again == block)
    pool.put(again, 2_560)
  }
}
