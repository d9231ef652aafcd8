// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// Stream credit, the age of connections, and how many there are. (`ConnectionSet`, `Connection`)
@Suite struct ConnectionTests {
  @Test func `one stream before the first accepted push, then as many as SETTINGS allow`() {
    let loop = ScriptedLoop()
    loop.answer { $0.stream == 1 ? .hold : .accepted }
    loop.produce(0..<300)
    loop.run(milliseconds: 1_000)
    #expect(loop.requests.count == 1, "whatever SETTINGS say")
    loop.answerHeld()
    #expect(loop.runToEnd(of: 300))
    #expect(loop.mostOpen > 250)
  }

  /// pushy#356: "Maximum active streams violated for this endpoint".
  @Test
  func `a limit that falls to 1 and to 0, grows and flaps is never exceeded, nothing is lost`() {
    let loop = ScriptedLoop { $0.pool.maximum = 1 }
    loop.gateways[0].streams = 40
    loop.produce(0..<3_000)
    let limits = [40, 1, 0, 7, 200, 0, 1, 1, 40, 3]
    var step = 0
    #expect(
      loop.run {
        step += 1
        if step % 5 == 0 { loop.tell(.limit(limits[step / 5 % limits.count])) }
        return loop.endings.count == 3_000
      })
    #expect(loop.delivered(0..<3_000, attempts: 1))
    #expect(loop.violations == 0 && loop.mostOpen <= 200 && loop.connects.count == 1)
  }

  @Test func `while a connection's limit is 0 nothing goes out on it; another one serves`() {
    let loop = ScriptedLoop(addresses: 2) { $0.pool.minimum = 2 }
    loop.gateways[0].streams = 0
    loop.produce(0..<100)
    #expect(loop.runToEnd(of: 100))
    #expect(loop.requests.allSatisfy { $0.address == 1 })
  }

  @Test func `what expires while the limit is 0 ends as expired, in time`() {
    let loop = ScriptedLoop { $0.pool.maximum = 1 }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.tell(.limit(0))
    loop.run(milliseconds: 100)
    loop.produce(1..<20) { $0.expiresAt = loop.wall + 2_000 }
    loop.run(milliseconds: 3_000)
    #expect((1..<20).allSatisfy { loop.endings[$0]?.cause == .expiration })
    loop.tell(.limit(10))
    loop.produce(20)
    #expect(loop.runToEnd(of: 21) && loop.requests.count == 2)
  }

  @Test func `a gateway that allows no streams is in trouble as soon as something waits for it`() {
    let loop = ScriptedLoop { $0.pool.maximum = 2 }
    var trouble: DestinationHealth.Trouble? { loop.dispatcher.standing(ofPool: 0)?.trouble }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.gateways[0].streams = 0
    loop.tell(.limit(0))
    loop.run(milliseconds: 100)
    #expect(trouble == nil)
    loop.produce(1)
    // It answers PINGs meanwhile, on a second connection as well.
    for _ in 0..<120 {
      loop.run(milliseconds: 1_000)
      #expect(trouble == .gateway)
    }
    #expect(loop.counted(.silentConnections) == 0)
    #expect(loop.connects.count <= 7, "each is replaced once a minute")
    loop.tell(.limit(10))
    #expect(loop.runToEnd(of: 2))
    #expect(loop.delivered(0..<2, attempts: 1) && trouble == nil)
  }

  @Test func `a connection that allows no streams for a minute is replaced, by another address`() {
    let loop = ScriptedLoop(addresses: 2) { $0.pool.maximum = 1 }
    loop.gateways[0].streams = 0
    loop.named = [0]
    loop.produce(0..<5)
    loop.run(milliseconds: 30_000)
    #expect(loop.connects.count == 1 && loop.endings.isEmpty)
    loop.named = nil
    #expect(loop.runToEnd(of: 5, within: 40_000))
    #expect(loop.delivered(0..<5, attempts: 1))
    #expect(loop.requests.allSatisfy { $0.address == 1 })
    #expect(loop.run { loop.open == 1 } && loop.connects.count == 2)
  }

  @Test func `refused streams go again uncounted; a connection that refuses all is left`() {
    let loop = ScriptedLoop(addresses: 2) { $0.pool.minimum = 2 }
    loop.gateways[0].reply = { $0.stream == 1 ? .accepted : .refusedStream }
    loop.produce(0..<2_000)
    #expect(loop.runToEnd(of: 2_000))
    #expect(loop.delivered(0..<2_000, attempts: 1))
    #expect(loop.counted(.resentUnprocessed) >= 20 && loop.moves.isEmpty)
  }

  @Test func `a connection that refuses the only push there is is left within a minute`() {
    let loop = ScriptedLoop()
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .refusedStream : .accepted }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.produce(1)
    #expect(loop.runToEnd(of: 2, within: 60_000))
    #expect(loop.delivered(0..<2, attempts: 1) && loop.connects.count == 2)
  }

  @Test func `a connection that resets every stream is left, and later pushes are sent once`() {
    let loop = ScriptedLoop()
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .reset : .accepted }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    for number in 1..<20 {
      loop.produce(number)
      loop.run(milliseconds: 2_000)
    }
    #expect(loop.runToEnd(of: 20) && loop.delivered(0..<20, attempts: 2))
    #expect(loop.requests.count { $0.connection == 1 } <= 6)
    #expect(loop.delivered(10..<20, attempts: 1))
  }

  @Test func `under load, too, a connection that resets what is sent on it is left`() {
    let loop = ScriptedLoop(addresses: 2) {
      $0.pool = .init(minimum: 2, maximum: 2)
      $0.requestTimeout = 600_000
    }
    for address in 0...1 { loop.gateways[address].streams = 20 }
    loop.gateways[0].reply = { $0.stream == 1 ? .accepted : $0.stream == 2 ? .hold : .reset }
    for second in 0..<60 {
      loop.produce(second * 100..<second * 100 + 100)
      loop.run(milliseconds: 1_000)
    }
    let sends = loop.requests.filter { $0.address == 0 }
    let most = Dictionary(grouping: sends, by: \.connection).values.map(\.count).max() ?? 0
    #expect(most > 2 && most <= 102 + 20, "\(most) on one connection")
  }

  @Test func `a connection on which nothing gets out is left, although PINGs are answered`() {
    let loop = ScriptedLoop { $0.requestTimeout = 2_000 }
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .unwritten : .accepted }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.produce(1)
    #expect(loop.runToEnd(of: 2, within: 20_000))
    #expect(loop.requests(of: 1).map(\.connection) == [1, 1, 1, 2])
    #expect(loop.delivered(0..<2, attempts: 1))
  }

  @Test
  func `a connection is replaced at its age, after its successor is there, nothing sent twice`() {
    let loop = ScriptedLoop { $0.connectionAge = 20_000 }
    for number in 0..<200 {
      loop.produce(number)
      loop.run(milliseconds: 500)
      if number > 0 { #expect((1...2).contains(loop.open)) }
    }
    #expect(loop.delivered(0..<200, attempts: 1))
    #expect((5...10).contains(loop.counted(.replacedAged)), "at 10 to 20 s each, in 100 s")
    #expect((0..<200).allSatisfy { (loop.latency(of: $0) ?? .max) <= 100 || $0 == 0 })
  }

  @Test(arguments: [ConnectDeed.slow(1_000), .refused])
  func `an aged connection serves until another one does, however long that takes`(
    deed: ConnectDeed
  ) {
    let loop = ScriptedLoop { $0.connectionAge = 20_000 }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.gateways[0].connect = { _ in deed }
    for number in 1..<100 {
      loop.produce(number)
      loop.run(milliseconds: 400)
    }
    #expect(loop.delivered(0..<100, attempts: 1))
    #expect((1..<100).allSatisfy { (loop.latency(of: $0) ?? .max) <= 100 })
    #expect(loop.connects.count > 1 && (loop.counted(.replacedAged) > 0) == (deed != .refused))
  }

  @Test func `an aged connection that nothing is sent on is replaced as well, and once`() {
    let loop = ScriptedLoop { $0.connectionAge = 20_000 }
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    for _ in 0..<200 {
      loop.run(milliseconds: 500)
      #expect((1...2).contains(loop.open))
    }
    #expect((4...10).contains(loop.counted(.replacedAged)), "at 10 to 20 s each, in 100 s")
    #expect((0...1).contains(loop.connects.count - 1 - loop.counted(.replacedAged)))
  }

  @Test func `a connection is replaced before its stream ids run out`() {
    let loop = ScriptedLoop { $0.connectionRequests = 50 }
    loop.produce(0..<300)
    #expect(loop.runToEnd(of: 300))
    #expect(loop.delivered(0..<300, attempts: 1))
    #expect(loop.requests.allSatisfy { $0.stream <= 50 } && loop.connects.count >= 6)
    loop.run(milliseconds: 1_000)
    #expect(loop.open <= 1)
  }

  @Test func `sustained starvation opens another connection, up to the maximum`() {
    let loop = ScriptedLoop { $0.pool.maximum = 3 }
    loop.gateways[0].streams = 2
    loop.answer { $0.stream == 1 ? .accepted : .hold }
    loop.produce(0..<60)
    loop.run(milliseconds: 900)
    #expect(loop.connects.count == 1, "not before a second")
    loop.run(milliseconds: 8_000)
    #expect(loop.open == 3)
    loop.run(milliseconds: 8_000)
    #expect(loop.connects.count == 3)
  }

  @Test func `connections that are too many for minutes close one at a time`() {
    let loop = ScriptedLoop { $0.pool = .init(minimum: 1, maximum: 3, surplus: 60_000) }
    loop.gateways[0].streams = 2
    loop.answer { $0.stream == 1 ? .accepted : .accepted(after: 1_000) }
    loop.produce(0..<60)
    #expect(loop.run { loop.open == 3 })
    #expect(loop.runToEnd(of: 60))
    loop.run(milliseconds: 50_000)
    #expect(loop.open == 3)
    loop.run(milliseconds: 30_000)
    #expect(loop.open == 2)
    loop.run(milliseconds: 60_000)
    #expect(loop.open == 1)
  }

  @Test
  func `an idle connection is asked for a sign of life at most once in three quarters of an hour`()
  {
    let loop = ScriptedLoop()
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.run(milliseconds: 2_600_000, step: 1_000)
    loop.silence(1)
    loop.run(milliseconds: 90_000)
    #expect(loop.counted(.silentConnections) == 0)
    loop.run(milliseconds: 30_000)
    #expect(loop.counted(.silentConnections) == 1)
    loop.produce(1)
    #expect(loop.runToEnd(of: 2, within: 3_000))
    #expect(loop.delivered(0..<2, attempts: 1))
  }

  @Test func `a connection lost while idle: what comes next is sent once, on another one`() {
    let loop = ScriptedLoop()
    loop.produce(0..<20)
    #expect(loop.runToEnd(of: 20))
    loop.tell(.broken)
    #expect(loop.run { loop.counted(.connectionsLost) == 1 })
    loop.produce(20..<40)
    #expect(loop.runToEnd(of: 40))
    #expect(loop.delivered(0..<40, attempts: 1))
    #expect(Set(loop.requests.map(\.connection)) == [1, 2])
  }

  @Test(arguments: [true, false])
  func `a gateway that ends what is idle does not fail: the next push goes out at once`(
    isInOrder: Bool
  ) {
    let loop = ScriptedLoop()
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    for _ in 0..<10 {
      loop.run(milliseconds: 75_000, step: 100)
      loop.tell(isInOrder ? .goAway(last: .max, nil) : .broken)
      loop.run(milliseconds: 100)
    }
    let trouble = loop.dispatcher.standing(ofPool: 0)?.trouble
    #expect(trouble == nil && loop.connects.count == 2)
    loop.produce(1)
    #expect(loop.runToEnd(of: 2, within: 1_000))
    #expect(loop.delivered(0..<2, attempts: 1))
  }

  @Test func `a connection that died without a word while idle: what is sent on it moves`() {
    let loop = ScriptedLoop()
    loop.produce(0..<20)
    #expect(loop.runToEnd(of: 20))
    loop.silence(1)
    loop.produce(20..<40)
    #expect(loop.runToEnd(of: 40))
    #expect(loop.delivered(0..<40, attempts: 2))
    #expect(loop.counted(.silentConnections) == 1)
    #expect(loop.requests.count { $0.connection > 1 } == 20)
  }

  @Test func `a connection that breaks with open streams: each goes again at once, counted once`() {
    let loop = ScriptedLoop()
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<20)
    #expect(loop.run { loop.requests.count == 20 })
    loop.tell(.broken)
    #expect(loop.runToEnd(of: 20, within: 5_000))
    #expect(loop.delivered(0..<20, attempts: 2))
    #expect(loop.counted(.resentAmbiguous) + loop.counted(.keptInOutage) == 19)
  }
}

/// Many credentials, each with connections of its own.
@Suite struct ManyCredentialsTests {
  private func loop(_ count: Int, _ change: (inout DispatchSettings) -> Void) -> ScriptedLoop {
    let loop = ScriptedLoop(hasToken: false, change)
    for number in 0..<count { loop.publishToken("key\(number)", apps: ["app\(number)"]) }
    return loop
  }

  @Test func `more credentials than connections: they take turns, everything is delivered once`() {
    let loop = loop(7) { $0.budget.most = 2 }
    for number in 0..<7 { loop.produce(number * 10..<number * 10 + 10, app: "app\(number)") }
    var most = 0
    let isDone = loop.run {
      most = max(most, loop.open)
      return loop.endings.count == 70
    }
    #expect(isDone && most == 2)
    #expect(loop.delivered(0..<70, attempts: 1) && loop.requests.count == 70)
    #expect(loop.connects.count == 7, "each had one turn")
    #expect(loop.counted(.waitsForRoom) > 0)
  }

  @Test func `without room for a second connection an aged one goes while nothing is sent`() {
    let loop = loop(1) {
      $0.budget.most = 1
      $0.connectionAge = 20_000
    }
    for number in 0..<60 {
      loop.produce(number, app: "app0")
      loop.run(milliseconds: 1_000)
    }
    #expect(loop.runToEnd(of: 60) && loop.delivered(0..<60, attempts: 1))
    #expect((2...6).contains(loop.counted(.replacedAged)), "at 10 to 20 s each, in 60 s")
  }

  @Test func `a credential that always has something to send gives its connection up after a time`()
  {
    let loop = loop(2) {
      $0.budget.most = 1
      $0.requestTimeout = 60_000
    }
    loop.answer { $0.connection == 1 && $0.stream > 1 ? .hold : .accepted }
    loop.produce(0..<2, app: "app0")
    #expect(loop.run { loop.requests.count == 2 })
    loop.produce(2, app: "app1")
    loop.run(milliseconds: 9_000)
    loop.produce(3, app: "app0")
    loop.run(milliseconds: 3_000)
    loop.answerHeld()
    #expect(loop.runToEnd(of: 4, within: 30_000))
    #expect(loop.requests(of: 2).map(\.connection) == [2])
    #expect(loop.delivered(0..<4, attempts: 1))
  }

  @Test func `idle connections close when there are many, and come back with the next push`() {
    let loop = loop(70) { $0.budget.idle = 60_000 }
    for number in 0..<70 { loop.produce(number, app: "app\(number)") }
    #expect(loop.runToEnd(of: 70))
    loop.run(milliseconds: 50_000, step: 100)
    #expect(loop.open == 70)
    loop.run(milliseconds: 60_000, step: 100)
    #expect(loop.open == 64 && loop.counted(.closedIdle) == 6)
    for number in 0..<70 { loop.produce(100 + number, app: "app\(number)") }
    #expect(loop.runToEnd(of: 140))
    #expect(loop.delivered(100..<170, attempts: 1) && loop.connects.count == 76)
  }

  @Test func `one credential in trouble leaves the connections of the others alone`() {
    let loop = loop(10) { _ in }
    loop.answer { $0.app == "app3" ? .reason(.expiredProviderToken) : .accepted }
    for round in 0..<20 {
      for number in 0..<10 { loop.produce(round * 10 + number, app: "app\(number)") }
      loop.run(milliseconds: 1_000)
    }
    let others = (0..<200).filter { $0 % 10 != 3 }
    #expect(others.allSatisfy { loop.delivered($0..<$0 + 1, attempts: 1) })
    let connects = loop.connects.count
    #expect(connects <= 9 + 6, "\(connects) connects")
  }
}
