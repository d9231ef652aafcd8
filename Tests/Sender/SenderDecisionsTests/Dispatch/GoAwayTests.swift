// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// GOAWAY, as a loop of the sender reacts to it. Its forms on the wire are in `SenderTests/GoAwayTests`.
@Suite struct GoAwayTests {
  /// A connection answers its first push, holds the others, and leaves with the 20th.
  private func leaving(last: Int, reason: Reason?) -> ScriptedLoop {
    let loop = ScriptedLoop(addresses: 2) { $0.requestTimeout = 10_000 }
    loop.answer { request in
      guard request.connection == 1, request.stream > 1 else { return .accepted }
      return request.stream == 20 ? .goAway(last: last, reason) : .hold
    }
    loop.produce(0..<20)
    return loop
  }

  @Test(arguments: [Reason.shutdown, nil], [0, 1, 6])
  func `streams above the last one of a GOAWAY go elsewhere, uncounted, before the others time out`(
    reason: Reason?, last: Int
  ) {
    let loop = leaving(last: last, reason: reason)
    let unprocessed = 20 - max(1, last)
    #expect(loop.runToEnd(of: unprocessed + 1, within: 4_000))
    #expect(loop.counted(.resentUnprocessed) == unprocessed)
    #expect(loop.runToEnd(of: 20))
    #expect(loop.delivered(0..<20))
    #expect(loop.endings.values.count { $0.attempts == 1 } == unprocessed + 1)
    #expect(loop.counted(.resentAmbiguous) == max(1, last) - 1)
    #expect(loop.moves.isEmpty)
  }

  @Test func `answers to streams that a GOAWAY covers still count`() {
    let loop = leaving(last: 6, reason: nil)
    #expect(loop.run { loop.counted(.goAways) == 1 })
    loop.answerHeld()
    #expect(loop.runToEnd(of: 20, within: 4_000))
    #expect(loop.delivered(0..<20, attempts: 1))
    #expect(loop.counted(.resentAmbiguous) == 0)
  }

  @Test func `a GOAWAY in two steps: the first takes no stream back, the second those above it`() {
    let loop = ScriptedLoop(addresses: 2)
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<20)
    #expect(loop.run { loop.requests.count == 20 })
    loop.tell(.goAway(last: .max, nil), on: 1)
    loop.run(milliseconds: 500)
    #expect(loop.counted(.resentUnprocessed) == 0)
    loop.tell(.goAway(last: 6, .shutdown), on: 1)
    loop.run(milliseconds: 500)
    #expect(loop.counted(.resentUnprocessed) == 14)
    loop.answerHeld()
    #expect(loop.runToEnd(of: 20, within: 4_000))
    #expect(loop.delivered(0..<20, attempts: 1))
  }

  @Test func `a connection that has said goodbye takes no push, and closes with its last stream`() {
    let loop = ScriptedLoop(addresses: 2)
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<3)
    #expect(loop.run { loop.requests.count == 3 })
    loop.tell(.goAway(last: .max, nil), on: 1)
    loop.produce(3..<30)
    #expect(loop.runToEnd(of: 28))
    #expect(loop.requests.filter { $0.push >= 3 }.allSatisfy { $0.connection > 1 })
    #expect(loop.open == 2)
    loop.answerHeld()
    #expect(loop.run { loop.open == 1 })
  }

  @Test(arguments: [Reason.badCertificate, .badCertificateEnvironment])
  func `a GOAWAY about the credential from every address: one connect to each, and nothing is lost`(
    reason: Reason
  ) {
    let loop = ScriptedLoop(addresses: 2)
    loop.connect(.goAway(reason))
    loop.produce(0..<10)
    #expect(loop.run { loop.counted(.credentialRefusals) == 1 })
    loop.run(milliseconds: 20_000)
    #expect(loop.connects.map(\.address).sorted() == [0, 1])
    #expect(loop.endings.isEmpty && loop.held == 10)
    loop.connect(.served)
    loop.publishToken()
    #expect(loop.runToEnd(of: 10, within: 5_000))
    #expect(loop.delivered(0..<10, attempts: 1))
  }

  @Test func `a GOAWAY that calls the provider token too old asks for another one`() {
    let loop = ScriptedLoop()
    loop.connect(.goAway(.expiredProviderToken))
    loop.produce(0..<3)
    #expect(loop.run { !loop.tokenRequests.isEmpty })
    #expect(loop.tokenRequests.map(\.reason) == [.expiredProviderToken])
    loop.connect(.served)
    loop.publishToken()
    #expect(loop.runToEnd(of: 3))
    #expect(loop.delivered(0..<3, attempts: 1))
  }

  @Test func `a GOAWAY that calls the newest token too old: the credential waits for the next one`()
  {
    let loop = ScriptedLoop()
    loop.answer { _ in .goAway(last: 0, .expiredProviderToken) }
    loop.produce(0..<3)
    #expect(loop.run { loop.counted(.credentialRefusals) == 1 })
    #expect(loop.dispatcher.standing(ofPool: 0)?.trouble == .credential)
    loop.run(milliseconds: 20_000)
    #expect(loop.connects.count == 1)
    #expect(loop.tokenRequests.map(\.reason) == [.expiredProviderToken])
    loop.answer { _ in .accepted }
    loop.publishToken()
    #expect(loop.runToEnd(of: 3, within: 5_000))
    #expect(loop.delivered(0..<3, attempts: 1))
  }

  @Test func `a GOAWAY for too many provider tokens: all wait, and no address is blamed`() {
    let loop = ScriptedLoop(addresses: 2)
    loop.answer { _ in .goAway(last: 0, .tooManyProviderTokenUpdates) }
    loop.produce(0..<10)
    #expect(loop.run { loop.counted(.credentialRefusals) == 1 })
    #expect(loop.dispatcher.standing(ofPool: 0)?.trouble == .credential)
    loop.run(milliseconds: 1_900)
    #expect(loop.connects.count == 1 && loop.requests.count == 1)
    #expect(loop.counted(.addressesAside) == 0 && loop.tokenRequests.isEmpty)
    loop.answer { _ in .accepted }
    #expect(loop.runToEnd(of: 10, within: 10_000))
    #expect(loop.delivered(0..<10, attempts: 1))
  }

  @Test func `an empty GOAWAY behind the one that names the reason blames no address`() {
    let loop = ScriptedLoop()
    loop.answer { _ in .hold }
    loop.produce(0)
    #expect(loop.run { loop.requests.count == 1 })
    loop.tell(.goAway(last: 0, .badCertificate))
    loop.tell(.goAway(last: 0, nil))
    loop.run(milliseconds: 1_000)
    #expect(loop.counted(.goAways) == 2 && loop.counted(.credentialRefusals) == 1)
    #expect(loop.counted(.addressesAside) == 0)
  }

  @Test func `GOAWAY before SETTINGS: the pushes go over another connection`() {
    let loop = ScriptedLoop()
    var isFirst = true
    loop.gateways[0].connect = { _ in
      defer { isFirst = false }
      return isFirst ? .goAway(.shutdown) : .served
    }
    loop.produce(0..<50)
    #expect(loop.runToEnd(of: 50))
    #expect(loop.delivered(0..<50, attempts: 1))
    #expect(loop.connects.count == 2 && loop.counted(.credentialRefusals) == 0)
    #expect(loop.requests.allSatisfy { $0.connection == 2 })
  }

  @Test func `a gateway that ends each connection after 100 requests is not waited for`() {
    let loop = ScriptedLoop()
    loop.answer { $0.stream == 100 ? .goAway(last: 100) : .accepted }
    loop.produce(0..<1_000)
    // Nine ends that each cost a second or two would be more than ten.
    #expect(loop.runToEnd(of: 1_000, within: 8_000))
    #expect(loop.delivered(0..<1_000))
    #expect(loop.connects.count >= 10)
  }
}
