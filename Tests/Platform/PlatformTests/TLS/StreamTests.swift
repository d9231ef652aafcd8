// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Testing

@Suite struct StreamTests {
  private func pair() throws -> TLSPair {
    let certificates = try Certificates.shared.get()
    let pair = try TLSPair(
      .client(roots: .pem(certificates.authority.certificatePEM)),
      .server(identity: certificates.localhost))
    try pair.handshake()
    return pair
  }

  @Test func `many records arrive whole and in order`() throws {
    let pair = try pair()
    let sent = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try sent.withUnsafeBytes { try pair.client.write($0) }
    pair.carry(from: pair.client, to: pair.server)
    #expect(try readAll(pair.server) == sent)
  }

  @Test func `an orderly end is seen`() throws {
    let pair = try pair()
    pair.server.end()
    pair.carry(from: pair.server, to: pair.client)
    #expect(try readAll(pair.client).isEmpty)
    #expect(pair.client.isEnded)
  }

  @Test func `a tampered record breaks the stream`() throws {
    let pair = try pair()
    let record: [UInt8] = [23, 3, 3, 0, 32] + [UInt8](repeating: 7, count: 32)
    record.withUnsafeBytes { pair.client.receive($0) }
    let error = #expect(throws: TLSError.self) { try readAll(pair.client) }
    #expect(error?.kind == .stream)
  }

  @Test
  func `connections that work in the same memory, one after the other, keep their bytes apart`()
    throws
  {
    let pairs = [try pair(), try pair(), try pair()]
    let rounds = 24
    var shared = TLSBuffers()
    var sent = [[UInt8]](repeating: [], count: pairs.count)
    var (arrived, returned) = (sent, sent)
    for round in 0..<rounds {
      for (index, pair) in pairs.enumerated() {
        let size = (round * 977 + index * 5_003) % 20_000
        let piece = (0..<size).map { UInt8(truncatingIfNeeded: $0 + index * 85) }
        sent[index] += piece
        try piece.withUnsafeBytes { try pair.client.write($0) }
        // Some bytes wait for another turn, on the way in, unread, or on the way out; none in the end.
        let late = round == rounds - 1 ? 0 : (round + index) % 3 * 50
        pair.server.borrow(&shared)
        carry(pair.client, to: pair.server, but: late)
        let found = try round % 4 == 2 ? [] : readAll(pair.server)
        try found.withUnsafeBytes { try pair.server.write($0) }
        carry(pair.server, to: pair.client, but: late)
        pair.server.giveBack(&shared)
        arrived[index] += found
        returned[index] += try readAll(pair.client)
      }
    }
    #expect(arrived == sent && returned == sent)
    let kept = pairs.map { $0.server.ciphertext.pointee.reservedBytes }
    #expect(kept == [0, 0, 0], "whose bytes have all gone has no memory")
  }

  private func carry(_ from: TLSConnection, to: TLSConnection, but late: Int) {
    let bytes = from.ciphertext.pointee.bytes
    let count = bytes.count - late
    guard count > 0 else { return }
    to.receive(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    from.ciphertext.pointee.removeFirst(count)
  }

  private func readAll(_ connection: TLSConnection) throws -> [UInt8] {
    var received: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 5_000)
    while true {
      let count = try room.withUnsafeMutableBytes { try connection.read(into: $0) }
      guard count > 0 else { return received }
      received += room[..<count]
    }
  }
}
