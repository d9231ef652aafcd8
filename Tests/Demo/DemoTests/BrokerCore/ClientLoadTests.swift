// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import Testing

@Suite struct ClientLoadTests {
  private var load = ClientLoad(limit: 100)

  @Test mutating func `within the limit no connection is closed`() {
    load.update(ConnectionID(1), bytes: 60, moved: 0)
    load.update(ConnectionID(2), bytes: 40, moved: 0)
    #expect(load.bytes == 100 && load.excess(at: 1_000) == nil)
    load.update(ConnectionID(2), bytes: 0, moved: 0)
    load.update(ConnectionID(1), bytes: 30, moved: 0)
    load.update(ConnectionID(3), bytes: 0, moved: 0)
    #expect(load.bytes == 30)
  }

  @Test mutating func `beyond it the largest is closed, until the rest is within it`() {
    for number in 1...4 { load.update(ConnectionID(UInt64(number)), bytes: 20 * number, moved: 0) }
    var closed: [UInt64] = []
    while let connection = load.excess(at: 0) {
      closed.append(connection.number)
      load.update(connection, bytes: 0, moved: 0)
    }
    #expect(closed == [4, 3] && load.bytes == 60)
  }

  @Test mutating func `a client whose bytes move stays, beside a smaller one that is silent`() {
    load.update(ConnectionID(1), bytes: 80, moved: 999)
    load.update(ConnectionID(2), bytes: 30, moved: 0)
    #expect(load.excess(at: 1_000) == ConnectionID(2))
  }
}
