// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// Addresses of a gateway that differ: pushes go where they are served. How a connect finds the good ones is in
/// `AddressRaceTests`.
@Suite struct AddressTests {
  @Test func `connections spread over the addresses that serve; a refusing one is left alone`() {
    let loop = ScriptedLoop(addresses: 3) { $0.pool.minimum = 4 }
    loop.gateways[0].connect = { _ in .refused }
    loop.produce(0..<50)
    #expect(loop.runToEnd(of: 50))
    #expect(loop.delivered(0..<50, attempts: 1))
    #expect(loop.run { loop.open == 4 })
    let served = loop.connects.filter { $0.address > 0 }
    #expect(served.count { $0.address == 1 } == 2 && served.count { $0.address == 2 } == 2)
    #expect(loop.connects.count <= 7, "the dead address is not tried again and again")
    #expect(loop.counted(.addressesAside) >= 1)
  }

  @Test func `a silent address costs no attempt, and its connect is given up`() {
    let loop = ScriptedLoop(addresses: 2) { $0.pool.minimum = 2 }
    loop.gateways[0].connect = { _ in .silence }
    loop.produce(0..<20)
    #expect(loop.runToEnd(of: 20, within: 3_000))
    #expect(loop.delivered(0..<20, attempts: 1))
    #expect(loop.run { loop.counted(.connectTimeouts) >= 1 })
    #expect(loop.requests.allSatisfy { $0.address == 1 })
  }

  @Test func `a name that leads elsewhere is looked up again before each connect`() {
    let loop = ScriptedLoop(addresses: 2)
    loop.named = [0]
    loop.produce(0..<5)
    #expect(loop.runToEnd(of: 5))
    loop.named = [1]
    loop.tell(.broken, on: 1)
    loop.produce(5..<10)
    #expect(loop.runToEnd(of: 10))
    #expect(loop.requests.filter { $0.push >= 5 }.allSatisfy { $0.address == 1 })
  }

  @Test
  func `one silent stream among healthy ones: its push moves to another address, the others go on`()
  {
    let loop = ScriptedLoop(addresses: 2) {
      $0.pool.minimum = 2
      $0.requestTimeout = 2_000
    }
    var isIgnored = false
    loop.answer { request in
      guard request.push == 7, !isIgnored else { return .accepted }
      isIgnored = true
      return .hold
    }
    for number in 0..<150 {
      loop.produce(number)
      loop.run(milliseconds: 20)
    }
    #expect(loop.runToEnd(of: 150))
    #expect(loop.delivered(0..<150))
    #expect(loop.endings.filter { $0.value.attempts == 2 }.map(\.key) == [7])
    #expect(Set(loop.requests(of: 7).map(\.address)).count == 2)
    #expect(loop.counted(.silentStreams) == 1 && loop.counted(.movedAddress) == 1)
    #expect(loop.counted(.silentConnections) == 0)
  }

  @Test
  func `a connection that falls silent is found by a PING; its pushes move to another address`() {
    let loop = ScriptedLoop(addresses: 2) { $0.requestTimeout = 60_000 }
    loop.answer { $0.connection == 1 && $0.stream == 11 ? .silence : .accepted }
    loop.produce(0..<60)
    #expect(loop.runToEnd(of: 60))
    #expect(loop.delivered(0..<60, attempts: 2))
    #expect(loop.counted(.silentConnections) == 1 && loop.counted(.movedAddress) >= 1)
    #expect(
      loop.endings.values.allSatisfy { $0.at <= 100_000 + 25_000 }, "10 s each for PING and pong")
  }

  @Test func `a dead address beside the only good one parks nothing and counts no attempt`() {
    let loop = ScriptedLoop(addresses: 2)
    loop.gateways[1].connect = { _ in .refused }
    loop.produce(0..<50)
    #expect(loop.runToEnd(of: 50))
    #expect(loop.delivered(0..<50, attempts: 1))
    #expect(loop.moves.isEmpty && loop.connects.count <= 3)
  }

  @Test func `a foreign answer at one of two addresses: that one is left, all goes to the other`() {
    let loop = ScriptedLoop(addresses: 2) { $0.pool.minimum = 2 }
    let foreign = GatewayResponse(status: 410, id: .none)
    loop.gateways[0].reply = { _ in .answer(foreign, after: 20, retryAfter: 0) }
    loop.produce(0..<50)
    #expect(loop.runToEnd(of: 50))
    #expect(loop.delivered(0..<50) && loop.moves.isEmpty)
    #expect(loop.counted(.foreignAnswers) <= 5)
    #expect(loop.requests.count { $0.address == 1 } == 50)
  }

  @Test(arguments: [
    Reason.shutdown, .idleTimeout, .invalidProviderToken, .forbidden,
    .tooManyProviderTokenUpdates, .unrelatedKeyIdInToken,
  ])
  func `one answer that ends its connection: what is open there is answered, not sent again`(
    reason: Reason
  ) {
    let loop = ScriptedLoop { $0.pool.maximum = 1 }
    var isFirst = true
    loop.answer { request in
      guard request.push == 150, isFirst else { return .accepted(after: 400) }
      isFirst = false
      return .reason(reason, after: 50)
    }
    loop.produce(0..<300)
    #expect(loop.runToEnd(of: 300))
    #expect((0..<300).filter { $0 != 150 }.allSatisfy { loop.delivered($0..<$0 + 1, attempts: 1) })
    #expect(loop.requests.count <= 301 && loop.connects.count <= 2)
  }
}
