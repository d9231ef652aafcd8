// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTP2
import Records
import Testing

@testable import Sender

/// Bytes of pushes and their blocks.
@Suite struct SlotTests {
  @Test func `pushes do not move when others come, and their memory is reused`() throws {
    var table = PushTable()
    let envelope = try Envelope.parse(SenderRig.envelope(id: SenderRig.id(1)).utf8.span)
    let fill = { (table: inout PushTable, slot: UInt32) in
      Array(SenderRig.token(Int(slot)).utf8).withUnsafeBytes { key in
        Array(SenderRig.envelope(id: SenderRig.id(1)).utf8).withUnsafeBytes { value in
          table.fill(slot, key: key, value: value, envelope)
        }
      }
    }
    fill(&table, 0)
    let first = table[0]
    for slot in 1..<1_000 as Range<UInt32> { fill(&table, slot) }
    let (again, owner) = (table[0], table[999].pointee.exchange.owner)
    #expect(again == first && owner == 999)
    #expect(first.pointee.token.elementsEqual(SenderRig.token(0).utf8))
    let block = first.pointee.block
    table.empty(0)
    fill(&table, 1_000)
    let reused = table[1_000].pointee.block
    #expect(reused == block)
  }

  @Test func `a block is the smallest size that fits, and comes back for reuse`() {
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
