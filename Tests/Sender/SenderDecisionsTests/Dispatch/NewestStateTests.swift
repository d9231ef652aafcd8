// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Testing

/// Of the pushes with one device, app and key the newest one wins.
@Suite struct NewestStateTests {
  /// Produces a push of an identity.
  private func produce(
    _ number: Int, of identity: UInt64 = 7, isFinal: Bool = false, _ loop: ScriptedLoop
  ) {
    loop.produce(number) {
      $0.device = identity
      $0.state = StateFacts(identity, isFinal: isFinal)
    }
  }

  private func superseded(_ loop: ScriptedLoop) -> [Int] {
    loop.endings.filter { $0.value.outcome == .superseded }.keys.sorted()
  }

  /// A loop whose only stream is taken by push 1,000, until what is held is answered.
  private func full(
    _ change: (inout DispatchSettings) -> Void = { _ in }
  ) -> ScriptedLoop {
    let loop = ScriptedLoop(change)
    loop.gateways[0].streams = 1
    loop.answer { $0.push == 1_000 ? .hold : .accepted }
    loop.produce(1_000)
    loop.run(milliseconds: 100)
    #expect(loop.requests.count == 1)
    return loop
  }

  @Test(arguments: [false, true])
  func `an unsent older one is superseded at once, by whatever number of newer ones`(
    isOrdered: Bool
  ) {
    let loop = full { $0.isOrdered = isOrdered }
    for number in 1...5 {
      produce(number, loop)
      loop.run(milliseconds: 50)
      #expect(superseded(loop) == Array(1..<number))
    }
    #expect(loop.endings[1]?.cause == .newerState && loop.endings[1]?.attempts == 0)
    loop.answerHeld()
    #expect(loop.run(within: 5_000) { loop.endings[5] != nil })
    #expect(loop.endings[5]?.outcome == .delivered)
    #expect(loop.requests.map(\.push) == [1_000, 5])
    #expect(loop.held == 0 && loop.counted(.superseded) == 4)
    #expect(loop.run(within: 5_000) { loop.committable[0] == 6 })
  }

  @Test func `others are not touched: another key, another device, and pushes without a key`() {
    let loop = full()
    for number in 1...3 { produce(number, of: UInt64(number), loop) }
    for number in 4...6 { loop.produce(number) { $0.device = 1 } }
    loop.run(milliseconds: 100)
    loop.answerHeld()
    #expect(loop.runToEnd(of: 7))
    #expect(loop.delivered(1..<7))
  }

  @Test(arguments: [false, true])
  func `a newer one waits for the end of one that is sent, and is replaced meanwhile`(
    isOrdered: Bool
  ) {
    let loop = ScriptedLoop { $0.isOrdered = isOrdered }
    loop.answer { $0.push == 1 ? .hold : .accepted }
    for number in 1...4 {
      produce(number, loop)
      loop.run(milliseconds: 100)
    }
    #expect(loop.requests.map(\.push) == [1] && superseded(loop) == [2, 3])
    loop.answerHeld()
    #expect(loop.runToEnd(of: 4))
    #expect(loop.endings[1]?.outcome == .delivered && loop.endings[4]?.outcome == .delivered)
  }

  @Test(arguments: [
    ScriptedReply.reason(.serviceUnavailable, after: 200), .reason(.tooManyRequests, after: 200),
    .reason(.internalServerError, after: 200),
  ])
  func `one that fails while a newer one waits is superseded, not sent again`(
    reply: ScriptedReply
  ) {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 1 ? reply : .accepted }
    produce(1, loop)
    loop.run(milliseconds: 100)
    produce(2, loop)
    #expect(loop.run(within: 90_000) { loop.endings[2] != nil })
    #expect(superseded(loop) == [1] && loop.endings[1]?.attempts == 1)
    #expect(loop.requests(of: 1).count == 1 && loop.endings[2]?.outcome == .delivered)
  }

  @Test func `the last state supersedes and is not superseded`() {
    let loop = full()
    produce(1, loop)
    produce(2, isFinal: true, loop)
    produce(3, loop)
    produce(4, loop)
    loop.run(milliseconds: 100)
    #expect(superseded(loop) == [1, 3])
    loop.answerHeld()
    #expect(loop.runToEnd(of: 5))
    #expect(loop.requests.map(\.push) == [1_000, 2, 4])
  }

  /// Alternating, and all in the same line: each with what an update has (`Urgency`), and which of them are sent.
  @Test(
    arguments: [
      ([1, 0], [0, 1]), ([2, 0], [0, 1]), ([3, 0], [0, 1]), ([1, 2], [0, 1]), ([2, 1], [0, 1]),
      ([0, 3], [1]), ([1, 3], [1]), ([2, 3], [1]), ([3, 3], [1]), ([3, 0, 0, 0], [0, 3]),
      ([3, 0, 3, 0, 3, 0, 3, 0], [6, 7]), ([0, 3, 0, 1, 0, 2, 0], [1, 3, 5, 6]),
      ([1, 2, 1, 2, 1, 2], [4, 5]), ([2, 1, 3, 2, 2, 1], [2, 4, 5]), ([1, 2, 3], [2]),
    ] as [([UInt8], [Int])])
  func `a newer one takes neither alert nor priority away, whatever waits, and order stays`(
    urgencies: [UInt8], sent: [Int]
  ) {
    for isAtOnce in [true, false] {
      for place in ["stream", "credential", "same device"] {
        let loop: ScriptedLoop
        if place == "credential" {
          loop = ScriptedLoop(hasToken: false)
        } else {
          loop = full { $0.isOrdered = place == "same device" }
        }
        for (number, urgency) in urgencies.enumerated() {
          loop.produce(number) {
            $0.device = 7
            $0.state = StateFacts(7, urgency: Urgency(rawValue: urgency))
          }
          if !isAtOnce { loop.run(milliseconds: 20) }
        }
        loop.run(milliseconds: 100)
        if place == "credential" { loop.publishToken() } else { loop.answerHeld() }
        let others = place == "credential" ? 0 : 1
        #expect(
          loop.run(within: 5_000) { loop.endings.count == urgencies.count + others },
          "\(loop.endings)")
        let pushes = loop.requests.map(\.push).filter { $0 < 1_000 }
        #expect(pushes == sent, "\(place), at once: \(isAtOnce)")
        #expect(superseded(loop).count == urgencies.count - sent.count && loop.held == 0)
      }
    }
  }

  @Test func `of alerts and silent updates in turn few wait, and the newest of each is sent`() {
    // It takes longer than a pool waits before it opens another connection.
    let loop = full { $0.pool = .init(minimum: 1, maximum: 1) }
    for number in 0..<400 {
      loop.produce(number) {
        $0.device = 7
        $0.state = StateFacts(7, urgency: number % 2 == 0 ? [.alert, .immediate] : [])
      }
      loop.run(milliseconds: 10)
      #expect(loop.held <= 4)
    }
    loop.answerHeld()
    #expect(loop.run(within: 5_000) { loop.endings.count == 401 })
    #expect(loop.requests.map(\.push) == [1_000, 398, 399])
  }

  @Test(arguments: [([3, 0], false), ([3, 3], true), ([1, 2], false)] as [([UInt8], Bool)])
  func `what failed and comes back after a newer one is sent, unless that was as urgent`(
    urgencies: [UInt8], isSuperseded: Bool
  ) {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 0 && $0.at < 104_000 ? .reset : .accepted }
    for (number, urgency) in urgencies.enumerated() {
      loop.produce(number) {
        $0.device = 7
        $0.state = StateFacts(7, urgency: Urgency(rawValue: urgency))
      }
      #expect(loop.run(within: 5_000) { number > 0 || loop.moves.count == 1 })
    }
    #expect(loop.run(within: 60_000) { loop.endings.count == 2 })
    #expect(superseded(loop) == (isSuperseded ? [0] : []), "\(loop.endings)")
    #expect(loop.endings[1]?.outcome == .delivered)
    #expect(loop.requests.last?.push == (isSuperseded ? 1 : 0))
  }

  @Test func `what comes back after the end of its activity is superseded, though it had an alert`()
  {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 0 && $0.at < 104_000 ? .reset : .accepted }
    loop.produce(0) {
      $0.device = 7
      $0.state = StateFacts(7, urgency: [.alert, .immediate])
    }
    #expect(loop.run(within: 5_000) { loop.moves.count == 1 })
    produce(1, isFinal: true, loop)
    #expect(loop.run(within: 60_000) { loop.endings.count == 2 })
    #expect(superseded(loop) == [0] && loop.endings[1]?.outcome == .delivered)
  }

  @Test func `the end waits for an alert that is not sent yet`() {
    let loop = full()
    loop.produce(1) {
      $0.device = 7
      $0.state = StateFacts(7, urgency: [.alert, .immediate])
    }
    produce(2, loop)
    produce(3, isFinal: true, loop)
    loop.run(milliseconds: 100)
    loop.answerHeld()
    #expect(loop.runToEnd(of: 4))
    #expect(loop.requests.map(\.push) == [1_000, 1, 3])
  }

  @Test func `what waits for a credential is superseded there`() {
    let loop = ScriptedLoop(hasToken: false)
    for number in 1...3 {
      produce(number, loop)
      loop.run(milliseconds: 100)
    }
    #expect(superseded(loop) == [1, 2] && loop.held == 1)
    loop.publishToken()
    #expect(loop.run(within: 5_000) { loop.endings[3]?.outcome == .delivered })
  }

  @Test func `a retry goes back to its lane and is sent from there, with its attempts`() {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 1 && $0.at < 108_000 ? .reason(.tooManyRequests) : .accepted }
    produce(1, loop)
    #expect(loop.run(within: 200_000) { loop.endings[1] != nil })
    #expect(loop.endings[1]?.outcome == .delivered)
    #expect(loop.endings[1]?.attempts == loop.requests(of: 1).count)
    #expect(loop.moves.map(\.tier) == [.seconds5, .minute1])
    #expect(loop.counted(.returned) == 2 && loop.counted(.deduplicated) == 0)
    #expect(loop.counted(.returnedUnknown) == 0 && loop.held == 0)
  }

  @Test func `a retry whose newer one was sent meanwhile is superseded in its lane`() {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 1 ? .reason(.tooManyRequests, retryAfter: 4) : .accepted }
    produce(1, loop)
    #expect(loop.run(within: 2_000) { loop.moves.count == 1 })
    // Its device is throttled: the newer one waits in a retry topic, too, and comes after it.
    produce(2, loop)
    #expect(loop.run(within: 30_000) { loop.endings.count == 2 })
    #expect(superseded(loop) == [1] && loop.endings[2]?.outcome == .delivered)
    #expect(loop.requests.map(\.push) == [1, 2])
  }

  /// Two owners moved it to retry topics, so that both records come back.
  @Test(arguments: [[1, 2], [2, 1], [1, 1]] as [[UInt16]])
  func `of two records of a push the one that was moved most goes on`(moves: [UInt16]) {
    let loop = full()
    for (number, moves) in moves.enumerated() {
      loop.produce(number) {
        $0.device = 7
        $0.state = StateFacts(
          7, of: NotificationID(high: 3, low: 4),
          position: LanePosition(partition: 0, offset: 0, moves: moves, tier: .minute1))
      }
    }
    loop.run(milliseconds: 100)
    let (ended, left) = moves[1] > moves[0] ? (0, 1) : (1, 0)
    #expect(loop.endings[ended]?.outcome == (ended == 0 ? .superseded : .deduplicated))
    #expect(loop.endings[left] == nil)
    loop.answerHeld()
    #expect(loop.runToEnd(of: 3))
    #expect(loop.requests.map(\.push) == [1_000, left])
  }

  /// The window that a new owner read again begins between a record and its repeat.
  @Test(arguments: [true, false])
  func `one that comes back is not superseded by its own repeat, and by another's push it is`(
    isOwn: Bool
  ) {
    let loop = ScriptedLoop()
    let (own, other) = (NotificationID(high: 3, low: 4), NotificationID(high: 3, low: 6))
    var window = DedupWindow(capacity: 10)
    window.states.note(7, at: 500, of: StateFacts(7, of: isOwn ? own : other).push)
    window.states.forget(through: 400)
    loop.inherit(window)
    loop.produce(0)
    loop.produce(1) {
      $0.device = 7
      $0.state = StateFacts(
        7, of: own, position: LanePosition(partition: 0, offset: 0, moves: 1, tier: .minute1))
    }
    #expect(loop.runToEnd(of: 2))
    #expect(superseded(loop) == (isOwn ? [] : [1]))
    // Of what is forgotten something newer may have been sent.
    #expect(loop.counted(.returnedUnknown) == (isOwn ? 1 : 0))
  }

  /// Its first record was behind where it is now, so that was in another log.
  @Test func `one that comes back to a lane that was made again is older than what is there`() {
    let loop = ScriptedLoop()
    loop.produce(0)
    produce(1, loop)
    #expect(loop.runToEnd(of: 2))
    loop.produce(2) {
      $0.device = 7
      $0.state = StateFacts(
        7, of: NotificationID(high: 3, low: 4),
        position: LanePosition(partition: 0, offset: 1_000, moves: 1, tier: .minute1))
    }
    #expect(loop.runToEnd(of: 3))
    #expect(superseded(loop) == [2] && loop.requests(of: 2).isEmpty)
  }

  @Test func `a last state that comes back is sent although newer ones were`() {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 1 && $0.at < 104_000 ? .reset : .accepted }
    produce(1, isFinal: true, loop)
    #expect(loop.run(within: 4_000) { loop.moves.count == 1 })
    produce(2, loop)
    #expect(loop.run(within: 30_000) { loop.endings.count == 2 })
    #expect(loop.delivered(1..<3))
  }

  @Test func `a retry of a version without keys is sent as it is`() {
    let loop = ScriptedLoop()
    loop.produceRetry(1) {
      $0.device = 7
      $0.state = StateFacts(7)
    }
    #expect(loop.run(within: 30_000) { loop.endings[1] != nil })
    #expect(loop.endings[1]?.outcome == .delivered && loop.counted(.returned) == 0)
  }

  /// A tenth of what comes can be sent: each activity gets its newest state in its turn.
  @Test func `under ten times more states than the gateway takes all activities go on`() {
    let loop = ScriptedLoop { $0.maxInFlight = 1_000 }
    loop.gateways[0].streams = 2
    loop.answer { _ in .accepted(after: 20) }
    let activities = 100
    var number = 0
    for _ in 0..<100 {
      for activity in 0..<activities {
        produce(number, of: UInt64(activity + 1), loop)
        number += 1
      }
      loop.run(milliseconds: 100)
    }
    #expect(loop.run(within: 10_000) { loop.endings.count == number })
    for activity in 0..<activities {
      let sent = loop.requests.filter { $0.device == UInt64(activity + 1) }.map(\.push)
      #expect(sent == sent.sorted() && sent.last == number - activities + activity)
      #expect(sent.count >= 5, "activity \(activity) was sent \(sent.count) times")
    }
    let times = Dictionary(uniqueKeysWithValues: loop.requests.map { ($0.push, $0.at) })
    let late = times.count { push, at in at > 100_000 + UInt64(push / activities) * 100 + 2_500 }
    #expect(late == 0, "\(late) states were old when they were sent")
  }
}

@Suite struct NewestStatesTests {
  @Test func `the newest place of each identity is known, in whatever order places come`() {
    var states = NewestStates(capacity: 100)
    for position in [5, 9, 7] as [Int64] { states.note(1, at: position) }
    states.begin(2, at: 3, in: 17)
    #expect(states.find(1)?.position == 9 && states.find(3) == nil)
    #expect(states.find(2)?.slot == 17)
    states.move(2, to: 18)
    states.end(2, in: 17)
    #expect(states.find(2)?.slot == 18)
    states.end(2, in: 18)
    #expect(states.find(2)?.slot == NewestStates.none && states.find(2)?.position == 3)
  }

  @Test func `memory is bounded: what had no push for long is forgotten, and that is known`() {
    var states = NewestStates(capacity: 1_000)
    states.begin(1, at: 0, in: 3)
    for number in 1..<100_000 {
      states.note(UInt64(number + 1), at: Int64(number))
      #expect(states.count <= 1_001)
      if number % 100 == 0 { states.note(5, at: Int64(number)) }
    }
    #expect(states.find(1)?.slot == 3 && states.find(5)?.position == 99_900)
    #expect(states.find(100_000)?.position == 99_999)
    #expect(states.forgotten > 90_000 && states.forgotten < 99_500)
    // The newest half is known.
    for number in 99_500..<100_000 { #expect(states.find(UInt64(number + 1)) != nil) }
  }

  @Test func `what another table knows is taken in`() {
    var (one, two) = (NewestStates(capacity: 100), NewestStates(capacity: 100))
    one.begin(1, at: 5, in: 2)
    two.note(1, at: 4)
    two.note(2, at: 8)
    two.forget(through: 3)
    one.merge(two)
    #expect(one.find(1)?.position == 5 && one.find(1)?.slot == 2)
    #expect(one.find(2)?.position == 8 && one.forgotten == 3)
    #expect(one.idle().find(1)?.slot == NewestStates.none)
  }
}
