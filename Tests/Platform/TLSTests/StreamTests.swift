// SPDX-License-Identifier: Apache-2.0
import Signing
import TLS
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
