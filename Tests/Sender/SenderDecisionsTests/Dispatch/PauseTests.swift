// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// Apps and lanes that an operator has paused.
@Suite struct PauseTests {
  @Test func `a paused app's pushes go round the retry topics unsent, and out when it is resumed`()
  {
    let loop = ScriptedLoop()
    loop.pause(.app("app", .production))
    loop.produce(0..<20)
    loop.run(milliseconds: 30_000)
    #expect(loop.requests.isEmpty && loop.endings.isEmpty)
    #expect(loop.moves.count >= 5 * 20 && loop.moves.allSatisfy { $0.reason == .paused })
    loop.pause()
    #expect(loop.runToEnd(of: 20, within: 70_000))
    #expect(loop.delivered(0..<20, attempts: 1))
  }

  @Test func `a paused app does not keep another app of its credential waiting`() {
    let loop = ScriptedLoop(hasToken: false)
    loop.publishToken(apps: ["app", "other"])
    loop.pause(.app("app", .production))
    loop.produce(0..<500)
    loop.produce(500..<600, app: "other")
    #expect(loop.run(within: 1_000) { loop.delivered(500..<600) })
    #expect(loop.requests.allSatisfy { $0.app == "other" })
  }

  @Test func `an app is paused in one environment, and goes on in the other`() {
    let loop = ScriptedLoop()
    loop.pause(.app("app", .sandbox))
    loop.produce(0..<10)
    loop.produce(10..<20) { $0.environment = .sandbox }
    loop.run(milliseconds: 1_000)
    #expect(loop.delivered(0..<10) && loop.endings.count == 10 && loop.moves.count == 10)
  }

  @Test func `what was sent when its app is paused is answered as ever`() {
    let loop = ScriptedLoop()
    loop.answer { $0.stream == 1 ? .accepted : .accepted(after: 2_000) }
    loop.produce(0..<10)
    #expect(loop.run { loop.requests.count == 10 })
    loop.pause(.app("app", .production))
    #expect(loop.runToEnd(of: 10))
    #expect(loop.delivered(0..<10, attempts: 1) && loop.moves.isEmpty)
  }

  @Test func `what fails while its app is paused is not sent again before it is resumed`() {
    let loop = ScriptedLoop()
    loop.answer { $0.stream == 1 ? .accepted : .hold }
    loop.produce(0..<10)
    #expect(loop.run { loop.requests.count == 10 })
    loop.pause(.app("app", .production))
    loop.answer { _ in .accepted }
    loop.answerHeld(.reset)
    loop.run(milliseconds: 20_000)
    #expect(loop.requests.count == 10)
    loop.pause()
    #expect(loop.runToEnd(of: 10))
    #expect(loop.delivered(0..<10, attempts: 2))
  }

  @Test func `a push that expires while its app is paused ends as expired`() {
    let loop = ScriptedLoop()
    loop.pause(.app("app", .production))
    loop.produce(0) { $0.expiresAt = loop.wall + 12_000 }
    #expect(loop.runToEnd(of: 1, within: 20_000))
    #expect(loop.endings[0]?.cause == .expiration)
  }

  @Test func `a paused lane stays in Kafka, in order, while the other lane goes on`() {
    let loop = ScriptedLoop()
    loop.pause(.lane("bulk"))
    loop.produce(0..<100, lane: .bulk)
    loop.produce(100..<200)
    loop.run(milliseconds: 60_000)
    #expect(loop.delivered(100..<200) && loop.endings.count == 100)
    #expect(loop.unread(of: 1) == 99, "the head is taken, and nothing else")
    loop.pause()
    #expect(loop.runToEnd(of: 200))
    #expect(loop.requests.suffix(100).map(\.push) == Array(0..<100))
    #expect(loop.moves.isEmpty)
  }

  @Test func `retries of a paused lane go out: they are no part of it`() {
    let loop = ScriptedLoop()
    loop.answer { _ in .reason(.tooManyRequests) }
    loop.produce(0..<5, lane: .bulk)
    #expect(loop.run { loop.moves.count == 5 })
    loop.pause(.lane("bulk"))
    loop.answer { _ in .accepted }
    #expect(loop.runToEnd(of: 5))
  }
}
