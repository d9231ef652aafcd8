// SPDX-License-Identifier: Apache-2.0
import HTTP2
import HTTP2Server
import Testing

/// What still leaves when a connection ends, and what is said of the requests that wait.
@Suite struct LastWordsTests {
  private typealias Requests = [UnsafeMutablePointer<Exchange>]

  /// A client whose socket takes no more, and the requests that it was given.
  private func stuffed(body: Int) throws -> (Rig, Requests) {
    let rig = try Rig(.engine, connectionWindow: 1 << 24)
    try rig.connect()
    rig.isServerReading = false
    let exchanges = (0..<1_000).map { _ in rig.exchange(body: body) }
    for exchange in exchanges {
      let isTaken = rig.submit(exchange)
      #expect(isTaken)
    }
    try rig.turn(until: { rig.client.bytesWaiting > 100_000 })
    return (rig, exchanges)
  }

  private func unprocessed(_ completed: Requests) -> Requests {
    completed.filter { $0.pointee.fate == .unprocessed }
  }

  /// Two to four of these bodies, with their fields, take a whole TLS record and a part of one.
  @Test(arguments: [4_100, 5_000, 6_000, 7_600, 10_000, 12_000, 14_000, 15_300])
  func `a request that the server can read is not called unprocessed`(body: Int) throws {
    let (rig, exchanges) = try stuffed(body: body)
    rig.client.giveUp()
    let completed = rig.completed()
    #expect(completed.count == exchanges.count)
    rig.isServerReading = true
    try rig.turn(until: { rig.server?.isClosed == true })
    let arrived = Set(rig.arrivedStreams)
    #expect(!arrived.isEmpty)
    #expect(arrived.isDisjoint(with: unprocessed(completed).map(\.pointee.streamID)))
  }
}
