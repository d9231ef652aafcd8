// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing
import Waiting

/// When rules fire, by their `FaultMemory`, and that a run can be replayed.
@Suite struct FaultEngineTests {
  private let refuse = FaultAction.answer(FaultAnswer(status: 503, body: .none))

  private func request(
    _ time: UInt64 = 0, connection: UInt64 = 1, token: String = "aa",
    topic: String = "com.example.a", type: PushType? = nil, status: UInt16 = 200,
    stage: FaultStage = .request, bad: Bool = false, stream: Int32 = 1, headers: Int = 0
  ) -> FaultEvent {
    FaultEvent(
      stage, time: time, connection: connection,
      request: FaultRequest(
        token: Array(token.utf8), topic: Array(topic.utf8), pushType: type, status: status,
        isBadDeviceToken: bad, streamID: stream, headerListSize: headers))
  }

  private func engine(_ rules: FaultRule..., seed: UInt64 = 1) -> FaultEngine {
    var engine = FaultEngine(seed: seed)
    engine.add(rules, at: 0)
    return engine
  }

  private func matcher(_ change: (inout FaultMatcher) -> Void) -> FaultMatcher {
    var matcher = FaultMatcher()
    change(&matcher)
    return matcher
  }

  /// At which of the first `count` identical requests the rule fires, from 1.
  private func fires(_ matcher: FaultMatcher, count: Int = 12) -> [Int] {
    var engine = engine(FaultRule(.anyAnswer, when: matcher, refuse))
    return (1...count).filter { _ in !engine.decide(request()).isEmpty }
  }

  @Test func `a rule without conditions fires each time at its stage only`() {
    var engine = engine(FaultRule(.anyAnswer, refuse))
    #expect(engine.decide(request()).map(\.fault) == [.anyAnswer])
    #expect(engine.decide(request(stage: .answer)).isEmpty)
    #expect(engine.decide(FaultEvent(.connection, time: 0)).isEmpty)
    #expect(engine.concerns(.request))
    #expect(!engine.concerns(.answer))
  }

  @Test func `nothing fires without rules`() {
    var engine = FaultEngine(seed: 1)
    #expect(engine.isEmpty)
    for stage in FaultStage.allCases {
      #expect(!engine.concerns(stage))
      #expect(engine.decide(FaultEvent(stage, time: 5)).isEmpty)
    }
  }

  @Test func `counts pick the nth every kth a range and at most n times`() {
    #expect(fires(matcher { $0.nth = 3 }) == [3])
    #expect(fires(matcher { $0.every = 5 }) == [5, 10])
    #expect(fires(matcher { $0.fromCount = 11 }) == [11, 12])
    #expect(fires(matcher { $0.untilCount = 2 }) == [1, 2])
    #expect(fires(matcher { $0.times = 2 }) == [1, 2])
    #expect(
      fires(
        matcher {
          $0.every = 2
          $0.times = 3
        }) == [2, 4, 6])
    #expect(fires(matcher { $0.probability = 0 }) == [])
    #expect(fires(matcher { $0.every = 0 }) == [])
  }

  @Test func `times count from the moment the rule was added`() {
    var engine = FaultEngine(seed: 1)
    let rule = FaultRule(
      .anyAnswer,
      when: matcher {
        $0.fromTime = 100
        $0.untilTime = 200
      }, refuse)
    engine.add([rule], at: 1_000)
    let fired = [0, 1_000, 1_099, 1_100, 1_199, 1_200].filter {
      !engine.decide(request(UInt64($0))).isEmpty
    }
    #expect(fired == [1_100, 1_199])
  }

  @Test func `connections count from the moment the rule was added and again after a reset`() {
    var engine = FaultEngine(seed: 1)
    let rule = FaultRule(
      .connectionLost, stage: .connection, when: matcher { $0.connection = 2 }, refuse)
    func fires(_ range: ClosedRange<UInt64>) -> [UInt64] {
      range.filter { !engine.decide(FaultEvent(.connection, time: 0, connection: $0)).isEmpty }
    }
    engine.add([rule], at: 0, after: 700)
    // One that was there before is none of them, whatever happens on it.
    #expect(fires(1...705) == [702])
    engine.restartConnections(after: 705)
    #expect(fires(1...710) == [707])
  }

  @Test func `rules with a seed of their own draw the same whatever was added before`() {
    let rules = [0.3, 0.5].map { share in
      FaultRule(.anyAnswer, when: matcher { $0.probability = share }, refuse)
    }
    func draws(after others: Int, seed: UInt64?) -> [[Int]] {
      var engine = FaultEngine(seed: 9)
      engine.add(
        Array(
          repeating: FaultRule(.anyAnswer, when: matcher { $0.probability = 0.5 }, refuse),
          count: others), at: 0)
      engine.add(rules, at: 0, seed: seed)
      return (0..<50).map { time in
        engine.decide(request(UInt64(time))).map { $0.rule - others }.filter { $0 >= 0 }
      }
    }
    #expect(draws(after: 0, seed: 4) == draws(after: 3, seed: 4))
    #expect(draws(after: 0, seed: 4) != draws(after: 0, seed: 5))
    #expect(draws(after: 0, seed: nil) != draws(after: 3, seed: nil))
  }

  @Test func `filters of the request must all hold`() {
    func passes(_ change: (inout FaultMatcher) -> Void, _ event: FaultEvent) -> Bool {
      var engine = engine(FaultRule(.anyAnswer, when: matcher(change), refuse))
      return !engine.decide(event).isEmpty
    }
    #expect(passes({ $0.token = Array("ab".utf8) }, request(token: "ab")))
    #expect(!passes({ $0.token = Array("ab".utf8) }, request(token: "abcd")))
    let prefix: (inout FaultMatcher) -> Void = {
      $0.token = Array("ab".utf8)
      $0.isTokenPrefix = true
    }
    #expect(passes(prefix, request(token: "abcd")))
    #expect(!passes(prefix, request(token: "a")))
    #expect(passes({ $0.topic = Array("t.voip".utf8) }, request(topic: "t.voip")))
    #expect(!passes({ $0.topic = Array("t".utf8) }, request(topic: "t.voip")))
    #expect(passes({ $0.app = Array("t".utf8) }, request(topic: "t.voip")))
    #expect(passes({ $0.app = Array("t".utf8) }, request(topic: "t")))
    #expect(!passes({ $0.app = Array("t".utf8) }, request(topic: "tt")))
    #expect(passes({ $0.pushType = .voip }, request(type: .voip)))
    #expect(!passes({ $0.pushType = .voip }, request()))
    #expect(!passes({ $0.status = 200 }, request(status: 410)))
    #expect(passes({ $0.streamID = 5 }, request(stream: 5)))
    #expect(!passes({ $0.streamID = 5 }, request(stream: 3)))
    #expect(passes({ $0.headerListSize = 8_000 }, request(headers: 8_001)))
    #expect(!passes({ $0.headerListSize = 8_000 }, request(headers: 8_000)))
    #expect(!passes({ $0.environment = .sandbox }, request()))
    #expect(!passes({ $0.connection = 2 }, request()))
    #expect(passes({ $0.connection = 2 }, request(connection: 2)))
    #expect(!passes({ $0.address = "127.0.0.2" }, request()))
    #expect(
      !passes(
        {
          $0.app = Array("t".utf8)
          $0.pushType = .voip
        }, request(topic: "t", type: .alert)))
  }

  @Test func `probability fires about that often and the same way for a seed`() {
    let rule = FaultRule(.serviceUnavailable, when: matcher { $0.probability = 0.3 }, refuse)
    func run(_ seed: UInt64) -> [Bool] {
      var engine = engine(rule, seed: seed)
      return (0..<10_000).map { _ in !engine.decide(request()).isEmpty }
    }
    let count = run(7).count { $0 }
    #expect((2_800...3_200).contains(count), "fired \(count) of 10000")
    #expect(run(7) == run(7))
    #expect(run(7) != run(8))
  }

  @Test func `adding a rule changes nothing for the others`() {
    let half = FaultRule(.anyAnswer, when: matcher { $0.probability = 0.5 }, refuse)
    var alone = engine(half)
    var both = engine(half, FaultRule(.addedLatency, .delay(.logNormal(median: 10, p99: 100))))
    for time in 0..<1_000 {
      let event = request(UInt64(time))
      #expect(alone.decide(event) == both.decide(event).filter { $0.fault == .anyAnswer })
    }
  }

  @Test func `errors of a connection add up and bad tokens weigh more`() {
    var engine = engine(
      FaultRule(
        .errorDisconnect,
        when: matcher {
          $0.errors = 10
          $0.badTokenWeight = 5
        }, .disconnect(.reset)))
    func answer(_ status: UInt16, _ connection: UInt64, bad: Bool = false) -> Bool {
      !engine.decide(request(connection: connection, status: status, stage: .answer, bad: bad))
        .isEmpty
    }
    for _ in 0..<9 { #expect(!answer(403, 1)) }
    // Neither a success nor a 410 is an error, and another connection has its own count.
    #expect(!answer(200, 1))
    #expect(!answer(410, 1))
    #expect(!answer(500, 2))
    #expect(answer(403, 1))
    #expect(!answer(403, 1))
    #expect(!answer(400, 3, bad: true))
    #expect(answer(400, 3, bad: true))
    engine.forget(connection: 2)
    for _ in 0..<9 { #expect(!answer(500, 2)) }
    #expect(answer(500, 2))
  }

  @Test func `a hot token exceeds its rate and others do not`() {
    var engine = engine(
      FaultRule(
        .tooManyRequests,
        when: matcher {
          $0.tokenRate = 2
          $0.tokenWindow = 1_000
        }, refuse))
    let hot = (0..<5).map { !engine.decide(request(UInt64($0 * 100), token: "aa")).isEmpty }
    #expect(hot == [false, false, true, true, true])
    #expect(engine.decide(request(450, token: "bb")).isEmpty)
    #expect(engine.decide(request(1_000, token: "aa")).isEmpty)
  }

  @Test func `connects beyond the rate are refused until the minute has passed`() {
    var engine = engine(
      FaultRule(.connectRefused, when: matcher { $0.connectsPerMinute = 3 }, .refuse))
    let fired = [0, 1_000, 2_000, 3_000, 59_999, 60_000, 60_001].map {
      !engine.decide(FaultEvent(.connection, time: $0)).isEmpty
    }
    #expect(fired == [false, false, false, true, true, false, true])
  }

  @Test func `an idle rule waits for its silence`() {
    var engine = engine(
      FaultRule(.idleConnection, when: matcher { $0.idle = 500 }, .silence(.everything)))
    #expect(engine.decide(FaultEvent(.idle, time: 0, idle: 499)).isEmpty)
    #expect(engine.decide(FaultEvent(.idle, time: 0, idle: 500)).count == 1)
  }

  @Test func `limits come in turn`() {
    var engine = engine(FaultRule(.streamLimitChanges, .limits([1, 0, 1_000], hold: nil)))
    #expect((0..<4).map { _ in engine.decide(request())[0].value } == [1, 0, 1_000, 1])
  }

  @Test func `reset codes are chosen among the given ones`() {
    var engine = engine(FaultRule(.streamReset, .resets([2, 7, 8])))
    let codes = Set((0..<100).map { _ in engine.decide(request())[0].value })
    #expect(codes == [2, 7, 8])
  }

  @Test func `standing rules hold for their time and are counted once`() {
    var engine = engine(
      FaultRule(.wrongClock, when: matcher { $0.untilTime = 100 }, .clock(-60_000)),
      FaultRule(.deadAddress, when: matcher { $0.address = "127.0.0.2" }, .refuse))
    let now = engine.standing(FaultEvent(.standing, time: 10))
    #expect(now.map(\.fault) == [.wrongClock, .deadAddress])
    #expect(engine.matcher(of: now[0]).address == nil)
    #expect(engine.matcher(of: now[1]).address == "127.0.0.2")
    _ = engine.standing(FaultEvent(.standing, time: 20))
    #expect(engine.standing(FaultEvent(.standing, time: 100)).map(\.fault) == [.deadAddress])
    #expect(engine.counts.map(\.fired) == [1, 1])
  }

  @Test func `counts tell what was seen and what fired`() {
    var engine = engine(
      FaultRule(.anyAnswer, name: "third", when: matcher { $0.every = 3 }, refuse),
      FaultRule(.goneTimestamp, when: matcher { $0.token = [1] }, refuse))
    for _ in 0..<7 { _ = engine.decide(request()) }
    #expect(engine.counts.map(\.seen) == [7, 0])
    #expect(engine.counts.map(\.fired) == [2, 0])
    #expect(engine.counts.map(\.rule.name) == ["third", "gone_timestamp"])
    engine.removeAll()
    #expect(engine.isEmpty)
    #expect(engine.decide(request()).isEmpty)
  }

  /// Same seed, same rules, same events: the same decisions, however wild the events are.
  @Test(arguments: UInt64(1)...20)
  func `a run can be replayed`(seed: UInt64) {
    func run() -> [[FaultDecision]] {
      var random = SeededGenerator(seed: seed)
      var engine = FaultEngine(seed: seed)
      engine.add(Self.wild, at: 0)
      var time: UInt64 = 0
      return (0..<2_000).map { step in
        time += random.next() % 30
        let stage = FaultStage.allCases[Int(random.next() % 6)]
        let event = FaultEvent(
          stage, time: time, connection: random.next() % 5, age: random.next() % 5_000,
          idle: random.next() % 1_000,
          request: FaultRequest(
            token: [UInt8(random.next() % 4)], status: random.next() % 2 == 0 ? 200 : 400,
            isBadDeviceToken: random.next() % 8 == 0, streamID: Int32(step * 2 + 1)))
        if random.next() % 100 == 0 { engine.forget(connection: random.next() % 5) }
        return stage == .standing ? engine.standing(event) : engine.decide(event)
      }
    }
    let first = run()
    #expect(first == run(), "seed \(seed)")
    #expect(first.contains { !$0.isEmpty }, "seed \(seed)")
  }

  private static let wild: [FaultRule] = {
    func rule(_ fault: Fault, _ action: FaultAction, _ change: (inout FaultMatcher) -> Void)
      -> FaultRule
    {
      var matcher = FaultMatcher()
      change(&matcher)
      return FaultRule(fault, when: matcher, action)
    }
    return [
      rule(.anyAnswer, .answer(FaultAnswer(status: 500, body: .none))) { $0.probability = 0.1 },
      rule(.streamReset, .resets([2, 7])) { $0.probability = 0.2 },
      rule(.addedLatency, .delay(.logNormal(median: 20, p99: 200))) { $0.every = 3 },
      rule(.addedLatency, .delay(.bimodal(fast: 1, slow: 900, share: 0.2))) {
        $0.untilTime = 9_000
      },
      rule(.unusualFrames, .shape([.padding, .outOfOrder])) { $0.times = 50 },
      rule(.connectRefused, .refuse) { $0.connectsPerMinute = 9 },
      rule(.wrongClock, .clock(1_000)) { $0.fromTime = 5_000 },
      rule(.tooManyRequests, .answer(FaultAnswer(status: 429, body: .none))) { $0.tokenRate = 3 },
      rule(.errorDisconnect, .disconnect(.reset)) { $0.errors = 6 },
      rule(.idleConnection, .silence(.everything)) { $0.idle = 700 },
    ]
  }()
}
