// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import SenderDecisions

@Suite struct PushStatesTests {
  @Test func `slots are reused, and stay below what was reckoned with`() {
    var pushes = PushStates()
    var taken: [UInt32] = []
    for _ in 0..<1_000 { taken.append(pushes.take(.first, earlier: 0)) }
    #expect(Set(taken).count == 1_000)
    #expect(taken.max()! < UInt32(PushStates.slots(for: 1_000)))
    for slot in taken.prefix(500) { pushes.put(slot) }
    #expect(pushes.count == 500)
    for _ in 0..<500 { #expect(taken.contains(pushes.take(SendClass(.bulk), earlier: 0))) }
    #expect(pushes.count == 1_000)
    #expect(pushes.byClass[Int(SendClass(.bulk).place)] == 500)
  }

  @Test func `what an end reads of a push is in one cache line, what a send reads in another`() {
    typealias Layout = MemoryLayout<PushState>
    #expect(Layout.stride == 4 * 64)
    // The first line of an element has 16 bytes.
    func line(_ path: PartialKeyPath<PushState>) -> Int? {
      Layout.offset(of: path).map { ($0 + 48) / 64 }
    }
    let end: [PartialKeyPath<PushState>] = [
      \.life, \.sentAt, \.origin, \.connection, \.destination, \.hasTurn, \.countsForLane,
      \.hasWaitedForPace, \.hasReservation, \.isFreeOfDevicePace, \.kind, \.target, \.app,
    ]
    for path in end { #expect(line(path) == 1, "\(path)") }
    let send: [PartialKeyPath<PushState>] = [
      \.device, \.expiresAt, \.agesAt, \.lastFailure.connection,
    ]
    for path in send { #expect(line(path) == 2, "\(path)") }
  }
}

/// Addresses of gateways as bits.
@Suite struct PeerAddressTests {
  @Test(arguments: [4, 16])
  func `the bytes of both families come back`(_ count: Int) throws {
    let bytes = (0..<UInt8(count)).map { $0 &* 37 &+ 1 }
    let address = try #require(PeerAddress(bytes: bytes, port: 443))
    #expect(address.bytes == bytes)
    #expect(address == PeerAddress(bytes: bytes, port: 443))
    #expect(address != PeerAddress(bytes: bytes, port: 2_197))
  }

  @Test func `addresses of other lengths are refused`() {
    #expect(PeerAddress(bytes: [1, 2, 3], port: 443) == nil)
  }
}
