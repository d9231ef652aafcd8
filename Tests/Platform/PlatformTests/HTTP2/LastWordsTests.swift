// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTP2
import Testing

/// What still leaves when a connection ends, and what is said of the requests that wait.
@Suite struct LastWordsTests {
  private typealias Requests = [UnsafeMutablePointer<Exchange>]

  /// A client whose socket takes no more, and the requests that it was given: as many as that takes, for how much a
  /// socket takes is the system's choice (more than 4 MB on some).
  ///
  /// - Parameter waiting: bytes that wait at least.
  private func stuffed(body: Int, waiting: Int = 100_000) throws -> (Rig, Requests) {
    let rig = try Rig(.engine, connectionWindow: .max, maxConcurrentStreams: 100_000)
    try rig.connect()
    rig.isServerReading = false
    var exchanges: Requests = []
    try rig.turn(
      until: { rig.client.bytesWaiting >= waiting },
      each: {
        for _ in 0..<20 {
          let new = rig.exchange(body: body)
          let isTaken = rig.submit(new)
          #expect(isTaken)
          exchanges.append(new)
        }
      })
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

  @Test(arguments: [false, true])
  func `requests that wait for the socket do not leave when the connection ends`(
    isClosed: Bool
  ) throws {
    let (rig, exchanges) = try stuffed(body: 5_000)
    // The server makes room in the socket.
    rig.isClientTurning = false
    rig.isServerReading = true
    try rig.turn(until: { rig.arrivedStreams.count >= 100 })
    let written = exchanges.count { $0.pointee.bodySent == $0.pointee.bodyCount }
    let waiting = rig.client.bytesWaiting / 5_200
    if isClosed { rig.client.close() } else { rig.client.giveUp() }
    let completed = rig.completed()
    #expect(completed.count == exchanges.count)
    // Four requests may begin in a record that has left in part.
    let unseen = unprocessed(completed).count
    #expect(unseen >= exchanges.count - written + waiting - 4)
  }

  @Test func `closing sends no request for which the server makes room meanwhile`() throws {
    let rig = try Rig(.engine)
    try rig.connect()
    // Four of them fill the connection's window.
    let exchanges = (0..<20).map { _ in rig.exchange(body: 16_000) }
    for exchange in exchanges {
      let isTaken = rig.submit(exchange)
      #expect(isTaken)
    }
    rig.client.flush()
    rig.isClientTurning = false
    try rig.turn(until: { rig.arrivedStreams.count == 4 })
    rig.client.close()
    let completed = rig.completed()
    #expect(Set(completed) == Set(exchanges))
    #expect(exchanges[..<4].allSatisfy { $0.pointee.fate == .ambiguous })
    #expect(exchanges[4...].allSatisfy { $0.pointee.fate == .unprocessed })
    try rig.turn(until: { rig.server?.isClosed == true })
    #expect(rig.arrivedStreams == [1, 3, 5, 7])
  }

  @Test func `what the server did wrong is reported although it closes behind it`() throws {
    let rig = try Rig(.engine)
    try rig.connect()
    rig.isClientTurning = false
    // Nobody has opened this stream.
    rig.server?.faulty?.sendRawReset(77, code: 0)
    rig.server?.flush()
    rig.server?.close()
    rig.client.socketReady(readable: true, writable: false, hangup: false)
    #expect(
      rig.client.drainNotices() == [.closed(.http2("RST_STREAM on stream 77, which is idle"))])
  }

  @Test func `a server that breaks the protocol and reads no more is left at once`() throws {
    let (rig, exchanges) = try stuffed(body: 5_000, waiting: SecureChannel.waitingLimit)
    // Nobody has opened this stream.
    rig.server?.faulty?.sendRawReset(777_777, code: 0)
    rig.server?.flush()
    rig.client.socketReady(readable: true, writable: false, hangup: false)
    rig.client.flush()
    #expect(
      rig.client.drainNotices() == [.closed(.http2("RST_STREAM on stream 777777, which is idle"))])
    #expect(rig.completed().count == exchanges.count)
  }
}
